"""A second API server on the data of the shared cluster, which a test may kill without harming the others."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.errors import KubeError
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.local.control_plane import Cluster
from aim_engine.local.control_plane.components import Ports, Setting, api_server, command
from aim_engine.local.processes import Child, Program


@dataclass
class ExtraServer:
    cluster: Cluster
    port: int
    child: Child | None = None

    @property
    def connection(self) -> Connection:
        address = self.cluster.server.rpartition(":")[0]
        return replace(from_kubeconfig([self.cluster.kubeconfig]), server=f"{address}:{self.port}")

    async def start(self) -> None:
        """Start it, and return when it is ready."""
        host = self.cluster.server.removeprefix("https://").rpartition(":")[0]
        setting = Setting(self.cluster.files, host, Ports(self.port, 0, 0), self.cluster.ephemeral)
        flags = api_server(setting)
        program = Program(
            name="kube-apiserver",
            arguments=command(Path(self.cluster.programs) / "kube-apiserver", flags),
            log=self.cluster.files.log(f"extra-{self.port}"),
            directory=self.cluster.files.directory,
        )
        self.child = await Child.start(program)
        async with asyncio.timeout(120), Client(self.connection) as client:
            while True:
                try:
                    await client.read("/readyz")
                    return
                except KubeError:
                    await asyncio.sleep(0.05)

    async def kill(self) -> None:
        """End it without a chance to say goodbye."""
        if self.child:
            child, self.child = self.child, None
            await child.stop(grace=0)

    @classmethod
    @asynccontextmanager
    async def running(cls, cluster: Cluster) -> AsyncGenerator["ExtraServer"]:
        host = cluster.server.removeprefix("https://").rpartition(":")[0]
        with socket.socket() as probe:
            probe.bind((host, 0))
            server = cls(cluster, probe.getsockname()[1])
        try:
            await server.start()
            yield server
        finally:
            await server.kill()
