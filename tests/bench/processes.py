"""The operator and a node as processes of a benchmark, so that memory and CPU are their own."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.conftest import answers, free_port

from aim_engine.local.control_plane import Cluster

AIM = Path(sys.executable).with_name("aim")


@dataclass(frozen=True)
class Process:
    """A process that is watched."""

    pid: int

    @property
    def memory(self) -> float:
        """Resident memory in MB."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        user, system = fields[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def operator(cluster: Cluster, *flags: str) -> AsyncGenerator[Process]:
    """The operator, ready, while a block runs."""
    port = free_port()
    command = (str(AIM), "operator", f"--health-probe-bind-address=127.0.0.1:{port}", "--metrics-bind-address=0")
    async with _running(cluster, "operator", *command, *flags) as process:
        async with asyncio.timeout(120):
            while not await asyncio.to_thread(answers, f"http://127.0.0.1:{port}/readyz"):
                await asyncio.sleep(0.05)
        yield process


@asynccontextmanager
async def node(cluster: Cluster, gpus: str) -> AsyncGenerator[Process]:
    """Nodes that run the images of the built-in book, while a block runs."""
    async with _running(cluster, "node", str(AIM), "node", "--gpus", gpus) as process:
        yield process


@asynccontextmanager
async def _running(cluster: Cluster, name: str, *command: str) -> AsyncGenerator[Process]:
    with cluster.files.log(f"bench-{name}").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, "--kubeconfig", str(cluster.kubeconfig), stdout=log, stderr=log
        )
    try:
        yield Process(process.pid)
    finally:
        process.terminate()
        await process.wait()
