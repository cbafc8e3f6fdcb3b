"""The four ways to get a program, in order."""

import shutil
from pathlib import Path

from aim_engine.local.binaries import build, catalog, progress, release, shelf
from aim_engine.local.binaries.catalog import Module
from aim_engine.local.binaries.errors import Unavailable
from aim_engine.local.binaries.sources import Sources
from aim_engine.local.errors import LocalError

FILLS = (release.download, build.build)
"""What fills a place of the cache, the quickest first."""


async def find(program: str, sources: Sources | None = None) -> Path:
    """The path of `program`; its neighbours of the same module lie beside it. The first call may take minutes."""
    module, sources = catalog.module_of(program), sources or Sources.from_environment()
    if sources.given and not _missing(module, sources.given):
        return sources.given / program
    place = sources.cache / "binaries" / module.key
    if sources.given and not place.is_dir():
        progress.say(f"{_given(module, sources)}; looking elsewhere")

    async def fill(scratch: Path) -> None:
        await _fill(module, scratch, sources)

    return await shelf.filled(place, fill) / program


async def _fill(module: Module, scratch: Path, sources: Sources) -> None:
    lacks: list[str] = []
    for fill in FILLS:
        try:
            await fill(module, scratch, sources)
        except Unavailable as reason:
            lacks.append(str(reason))
            shutil.rmtree(scratch)
            scratch.mkdir()
        else:
            return
    raise LocalError(_explain(module, sources, *lacks))


def _missing(module: Module, directory: Path) -> list[str]:
    return [program for program in module.programs if not shutil.which(directory / program)]


def _given(module: Module, sources: Sources) -> str:
    if sources.given is None:
        return "AIM_KUBERNETES_BIN is not set"
    return f"AIM_KUBERNETES_BIN={sources.given} has no {', '.join(_missing(module, sources.given))}"


def _explain(module: Module, sources: Sources, no_release: str, no_build: str) -> str:
    return (
        f"{', '.join(module.programs)} cannot be had on this machine, and any one of four ways would do: "
        f"1. set AIM_KUBERNETES_BIN to a directory that holds them ({_given(module, sources)}); "
        f"2. copy {sources.cache / 'binaries' / module.key} from a machine that has it (it is not here); "
        f"3. let this machine download the releases ({no_release}); "
        f"4. let it build them with Go {module.go} or newer ({no_build})."
    )
