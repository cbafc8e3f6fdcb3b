"""Starting, finding and stopping a control plane."""

import asyncio
import os
import platform
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from aim_engine.local import binaries, locks
from aim_engine.local.binaries import catalog
from aim_engine.local.control_plane.cluster import Cluster, Files
from aim_engine.local.control_plane.order import Answer, Order
from aim_engine.local.errors import LocalError
from aim_engine.local.processes import last_words

STOP_SECONDS = 60.0
POLL_SECONDS = 0.05


def find(directory: Path) -> Cluster | None:
    """The cluster that runs in `directory`, if one does."""
    files = Files(directory)
    if not locks.is_held(files.running):
        return None
    with suppress(FileNotFoundError):
        return msgspec.json.decode(files.facts.read_bytes(), type=Cluster)
    return None


def require(directory: Path) -> Cluster:
    """The cluster that runs in `directory`; if none does, raise LocalError that says why and what to do."""
    cluster = find(directory)
    if cluster:
        return cluster
    files = Files(directory)
    if locks.is_held(files.running):
        raise LocalError(f"The cluster in {directory} is just starting or ending; try again in some seconds.")
    if files.failure.exists():
        raise LocalError(f"The cluster in {directory} is not running any more: {files.failure.read_text()}")
    raise LocalError(f"No cluster is running in {directory}; `aim cluster start` starts one.")


async def start(
    directory: Path,
    *,
    ephemeral: bool = False,
    port: int | None = None,
    crds: Sequence[Path] = (),
    owner: int | None = None,
) -> Cluster:
    """Return the cluster that runs in `directory`, starting it first if none does.

    It runs until `stop`, or until the process `owner` ends. An ephemeral one starts empty, loses its state when it
    stops and is quicker; the state of a lasting one in the same directory is kept aside. `crds` are files and
    directories that are installed at the start.
    """
    if platform.system() != "Linux":
        raise LocalError(
            f"The local cluster runs on Linux, not on {platform.system()}; use a virtual machine with Linux."
        )
    programs = (await binaries.find("kube-apiserver")).parent
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    order = Order(
        directory=str(directory),
        programs=str(programs),
        version=catalog.CONTROL_PLANE.required("k8s.io/kubernetes"),
        ephemeral=ephemeral,
        port=port,
        crds=tuple(str(path.absolute()) for path in crds),
        owner=owner,
    )
    async with locks.awaited(Files(directory).starting):
        return find(directory) or await _supervised(order)


async def stop(directory: Path) -> bool:
    """End the cluster that runs in `directory`; say whether one did."""
    files = Files(directory)
    if not locks.is_held(files.running):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        told = False
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                while locks.is_held(files.running):
                    told = told or _tell(files, number)
                    await asyncio.sleep(POLL_SECONDS)
                return True
    raise LocalError(f"The cluster in {directory} does not end; look at process {files.running.read_text()}.")


def _tell(files: Files, number: signal.Signals) -> bool:
    """Send a signal to the supervisor, if it has said by now which process it is."""
    supervisor = files.running.read_text()
    if supervisor:
        with suppress(ProcessLookupError):
            os.kill(int(supervisor), number)
    return bool(supervisor)


@asynccontextmanager
async def running(
    directory: Path, *, ephemeral: bool = True, port: int | None = None, crds: Sequence[Path] = ()
) -> AsyncGenerator[Cluster]:
    """A cluster for the length of a block, or of this process if that ends before.

    A program of the cluster that ends before the block is reported when the block is left.
    """
    if find(directory):
        raise LocalError(f"A cluster is running in {directory} already; stop it, or name another directory.")
    cluster = await start(directory, ephemeral=ephemeral, port=port, crds=crds, owner=os.getpid())
    try:
        yield cluster
    finally:
        await stop(directory)
    if cluster.files.failure.exists():
        raise LocalError(cluster.files.failure.read_text())


async def _supervised(order: Order) -> Cluster:
    log = Files(Path(order.directory)).directory / "supervisor.log"
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "aim_engine.local.control_plane.supervisor"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            cwd=order.directory,
        )
    printed, _ = await process.communicate(msgspec.json.encode(order))
    if not printed:
        raise LocalError(f"The cluster in {order.directory} did not start; {last_words(log)}")
    answer = msgspec.json.decode(printed, type=Answer)
    if answer.cluster is None:
        raise LocalError(f"The cluster in {order.directory} did not start: {answer.failure}")
    return answer.cluster
