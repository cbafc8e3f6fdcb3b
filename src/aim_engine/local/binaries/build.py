"""Builds a module of `kubernetes/` with Go."""

import asyncio
import shutil
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from aim_engine.local.binaries import progress, toolchain
from aim_engine.local.binaries.catalog import Module
from aim_engine.local.binaries.errors import Unavailable
from aim_engine.local.binaries.sources import Sources

TICK_SECONDS = 5.0


async def build(module: Module, into: Path, sources: Sources) -> None:
    """Put the executable of `module` into `into`, under the name of each of its programs."""
    go = await toolchain.find(module.go, sources)
    environment = toolchain.environment(sources)
    source = copied(module, into)
    with progress.step(f"fetching the Go modules of {module.directory.name}", "up to some minutes, once") as step:
        packages = await run([go, "list", "-deps", module.package], source, environment, step)
    executable = into / module.directory.name
    command = [go, "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", _link_flags(module)]
    expectation = f"about {module.minutes} minutes on two cores, once"
    with progress.step(f"building {', '.join(module.programs)} with Go", expectation) as step:
        step.advance(0, total=len(packages))
        await run([*command, "-o", str(executable), module.package], source, environment, step)
    shutil.rmtree(source)
    for program in module.programs:
        if program != executable.name:
            (into / program).symlink_to(executable.name)


def copied(module: Module, into: Path) -> Path:
    """A copy of the folder of `module`, so that an edit or a checkout during the minutes of a build does no harm."""
    return shutil.copytree(module.directory, into / "source")


def _link_flags(module: Module) -> str:
    flags = ["-s", "-w"]
    if module.stamped:
        version = module.required("k8s.io/kubernetes")
        major, minor, _ = version.removeprefix("v").split(".", 2)
        for package in module.stamped:
            stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
            flags += [f"-X {package}.{name}={value}" for name, value in stamps.items()]
    return " ".join(flags)


async def run(command: list[str], source: Path, environment: Mapping[str, str], step: progress.Step) -> list[str]:
    """Run `command` in `source` and return its lines; each line it prints is a step forward."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=source,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout and process.stderr
    last = deque[str](maxlen=5)
    try:
        async with asyncio.TaskGroup() as group:
            printed = group.create_task(process.stdout.read())
            group.create_task(_follow(process.stderr, last, step))
    except asyncio.CancelledError:
        process.terminate()
        raise
    finally:
        code = await process.wait()
    if code:
        raise Unavailable(f"`go {command[1]}` failed: {' '.join(last)}")
    return printed.result().decode().splitlines()


async def _follow(stream: asyncio.StreamReader, last: deque[str], step: progress.Step) -> None:
    while True:
        try:
            async with asyncio.timeout(TICK_SECONDS):
                line = await stream.readline()
        except TimeoutError:
            step.advance(0)
            continue
        if not line:
            return
        last.append(line.decode(errors="replace").strip())
        step.advance()
