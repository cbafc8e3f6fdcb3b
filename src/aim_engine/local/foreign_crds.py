"""The CRDs of other projects that the operator works with, unchanged, out of their own Go modules."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from aim_engine.local.binaries import build, progress, shelf, toolchain
from aim_engine.local.binaries.catalog import KSERVE
from aim_engine.local.binaries.errors import Unavailable
from aim_engine.local.binaries.sources import Sources
from aim_engine.local.errors import LocalError

FILES = {
    "github.com/kserve/kserve": ("config/crd/full/*.io_*.yaml", "config/crd/full/clusterstoragecontainer/*.io_*.yaml"),
    "sigs.k8s.io/gateway-api": ("config/crd/standard/*.io_*.yaml",),
    "github.com/kedacore/keda/v2": ("config/crd/bases/*.yaml",),
}
"""Module -> its files of CRDs. The versions are those of kubernetes/kserve/go.mod."""

KSERVE_GROUPS = ("serving.kserve.io",)
GATEWAY_GROUPS = ("gateway.networking.k8s.io",)
AUTOSCALER_GROUPS = ("keda.sh", "eventing.keda.sh")


async def paths(sources: Sources | None = None, *, groups: Sequence[str] = ()) -> list[Path]:
    """The files, each with one CRD: all, or those of some API groups.

    The first call fetches the modules with Go; later ones need no network.
    """
    sources = sources or Sources.from_environment()

    async def fill(scratch: Path) -> None:
        await _fetch(scratch, sources)

    place = await shelf.filled(sources.cache / "crds" / KSERVE.key, fill)
    files = sorted(place.glob("*.yaml"))
    return [file for file in files if not groups or file.name.partition("_")[0] in groups]


async def _fetch(into: Path, sources: Sources) -> None:
    try:
        go = await toolchain.find(KSERVE.go, sources)
        with progress.step("fetching the CRDs of KServe, the Gateway API and KEDA", "about a minute, once") as step:
            source, environment = build.copied(KSERVE, into), toolchain.environment(sources)
            await build.run([go, "mod", "download", *FILES], source, environment, step)
            directories = await build.run([go, "list", "-m", "-f", "{{.Dir}}", *FILES], source, environment, step)
            shutil.rmtree(source)
    except Unavailable as reason:
        raise LocalError(f"The CRDs of KServe, the Gateway API and KEDA cannot be had with Go: {reason}.") from reason
    for directory, patterns in zip(directories, FILES.values(), strict=True):
        for pattern in patterns:
            for file in Path(directory).glob(pattern):
                shutil.copyfile(file, into / file.name)
