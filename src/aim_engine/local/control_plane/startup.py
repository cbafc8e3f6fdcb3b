"""From an order to a cluster that is ready, one program after the other."""

import shutil
import socket
from collections.abc import Coroutine, Mapping
from pathlib import Path

from aim_engine.local import readiness
from aim_engine.local.control_plane import certificates, components, crds, kubeconfig
from aim_engine.local.control_plane.certificates import Authority
from aim_engine.local.control_plane.cluster import Cluster, Files
from aim_engine.local.control_plane.components import Ports, Setting
from aim_engine.local.control_plane.connection import connect
from aim_engine.local.control_plane.network import Network
from aim_engine.local.control_plane.order import Order
from aim_engine.local.processes import Crew, Program

ADMINISTRATOR = "admin"
API_SERVER_NAMES = (
    "localhost",
    "127.0.0.1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.96.0.1",
)


async def bring_up(order: Order, network: Network, crew: Crew) -> Cluster:
    """Start every program of the control plane; return when the cluster is ready.

    Ready is: the API server says so, the controllers and the scheduler are healthy, and pods can be made because the
    namespace `default` has its service account.
    """
    start = _Start(order, network, crew)
    start.prepare()
    await start.until_ready("etcd", start.etcd())
    await start.until_ready("kube-apiserver", start.api_server())
    if order.crds:
        await crds.install(start.cluster, [Path(path) for path in order.crds])
    await start.launch("kube-scheduler", components.scheduler(start.setting))
    await start.until_ready("kube-controller-manager", start.controllers())
    await start.until_ready("kube-scheduler", start.scheduler())
    return start.cluster


class _Start:
    """One start; each step waits until what it started answers."""

    def __init__(self, order: Order, network: Network, crew: Crew) -> None:
        self._order, self._crew = order, crew
        self._files = Files(Path(order.directory))
        ports = Ports(
            api_server=network.free_port(order.port or 6443, exact=order.port is not None),
            controllers=network.free_port(10257),
            scheduler=network.free_port(10259),
        )
        self.setting = Setting(self._files, network.address, ports, order.ephemeral)
        self.cluster = Cluster(
            directory=order.directory,
            server=f"https://{network.address}:{ports.api_server}",
            network=str(network.block),
            programs=order.programs,
            version=order.version,
            ephemeral=order.ephemeral,
        )

    def prepare(self) -> None:
        """Write certificates, keys and kubeconfigs; the authority and the keys of tokens stay what they are."""
        keys = self._files.keys
        keys.mkdir(exist_ok=True)
        authority = Authority(keys)
        authority.server("api-server", (self.setting.address, *API_SERVER_NAMES))
        authority.client("kubelet-client", "kube-apiserver-kubelet-client", ["system:masters"])
        certificates.signing_key(keys, "service-account")
        authority.client(ADMINISTRATOR, "aim-engine:administrator", ["system:masters"])
        kubeconfig.write(self._files.kubeconfig, server=self.cluster.server, keys=keys, client=ADMINISTRATOR)
        for program in ("kube-controller-manager", "kube-scheduler"):
            authority.client(program, f"system:{program}")
            login = Path(self.setting.login(program))
            kubeconfig.write(login, server=self.cluster.server, keys=keys, client=program)
        self._files.log("any").parent.mkdir(exist_ok=True)
        if self._order.ephemeral:
            shutil.rmtree(self.setting.data, ignore_errors=True)

    async def etcd(self) -> None:
        await self.launch("etcd", components.etcd(self.setting))
        await readiness.until(self._etcd_listens)

    async def api_server(self) -> None:
        await self.launch("kube-apiserver", components.api_server(self.setting))
        await self._until_found("/readyz")

    async def controllers(self) -> None:
        await self.launch("kube-controller-manager", components.controllers(self.setting))
        await self._until_found(f"https://{self.setting.address}:{self.setting.ports.controllers}/healthz")
        await self._until_found("/api/v1/namespaces/default/serviceaccounts/default")

    async def scheduler(self) -> None:
        await self._until_found(f"https://{self.setting.address}:{self.setting.ports.scheduler}/readyz")

    async def until_ready(self, program: str, step: Coroutine[None, None, None]) -> None:
        """Do one step; if it takes too long, say what the program had to say."""
        async with readiness.in_time(program, self._files.log(program)):
            await step

    async def launch(self, name: str, flags: Mapping[str, str]) -> None:
        executable = Path(self._order.programs) / name
        await self._crew.start(
            Program(
                name=name,
                arguments=components.command(executable, flags),
                log=self._files.log(name),
                directory=self._files.directory,
            )
        )

    async def _etcd_listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(components.ETCD_SOCKET) == 0

    async def _until_found(self, address: str) -> None:
        async with connect(self.cluster) as session:
            await readiness.until_answer(session, address)
