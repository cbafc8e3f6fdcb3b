"""The node agent as one value to be entered and left: nodes registered, pods run, nothing left behind.

async with nodes(cluster, machines, book) as agent:
    ...                       # the nodes are Ready; a part of the agent that breaks ends the block with its error
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import IPv4Network
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import structlog

from aim_engine.core.gpu_models import BY_NAME
from aim_engine.kube.client import Client
from aim_engine.kube.errors import KubeError
from aim_engine.kube.events import Recorder
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.local import locks
from aim_engine.local.container.book import Book
from aim_engine.local.container.sandbox import Sandbox
from aim_engine.local.control_plane.certificates import Authority
from aim_engine.local.control_plane.cluster import Cluster
from aim_engine.local.errors import LocalError
from aim_engine.local.node import addresses, logs_server, node_objects, registration
from aim_engine.local.node.addresses import PodAddresses
from aim_engine.local.node.api_server import PodApi
from aim_engine.local.node.capacity import Machine
from aim_engine.local.node.images import Images
from aim_engine.local.node.layout import Layout
from aim_engine.local.node.node_objects import Listening
from aim_engine.local.node.pods import Pods
from aim_engine.local.node.registration import Registration
from aim_engine.local.node.site import Host, Tools
from aim_engine.local.node.sources import Sources
from aim_engine.local.node.storage import Storage
from aim_engine.local.node.timings import Timings
from aim_engine.objects import Key

LAST_WORDS = 2.0
"""How long the API server is given for what the agent has to say at its end."""

log = structlog.get_logger("node")


class Agent:
    """All nodes of one process, and the parts they share."""

    def __init__(self, cluster: Cluster, machines: Sequence[Machine], book: Book, timings: Timings) -> None:
        self.cluster = cluster
        self.machines = machines
        self._book = book
        self._timings = timings
        self._layout = Layout(Path(cluster.directory))
        self._hosts: dict[str, Host] = {}
        self._registrations: list[Registration] = []
        self._stop = asyncio.Event()

    async def run(self, ready: Callable[[], None]) -> None:
        """Run the nodes until `stop` is called, telling when they are ready; all has ended when this returns."""
        async with AsyncExitStack() as stack:
            self._lock(stack)
            connection = from_kubeconfig([self.cluster.kubeconfig])
            client = await stack.enter_async_context(Client(connection, agent="aim-node"))
            recorder = Recorder(client)
            storage = Storage(client, recorder, self._layout.volumes, self._timings, forgetful=self.cluster.ephemeral)
            tools = Tools(
                api=PodApi(client),
                sandbox=await stack.enter_async_context(Sandbox()),
                recorder=recorder,
                session=await stack.enter_async_context(_probing()),
                find_claim=storage.find,
                timings=self._timings,
                environment=_environment(connection.server),
            )
            pods = Pods(client, self._hosts, tools)
            sources = Sources(client, pods.source_changed)
            await storage.install()  # before the nodes: a node makes the scheduler look at waiting pods again
            async with locks.awaited(self._layout.numbers):
                await self._take_places(client, pods, stack)
            await self._serve(recorder, storage, sources, pods, ready)

    def stop(self) -> None:
        """Have the nodes end."""
        self._stop.set()

    def _lock(self, stack: AsyncExitStack) -> None:
        self._layout.make()
        for machine in self.machines:
            try:
                stack.enter_context(locks.held(self._layout.node(machine.name).lock))
            except LocalError as error:
                raise LocalError(
                    f"Node {machine.name} is already run by another process; end that one first."
                ) from error

    async def _take_places(self, client: Client, pods: Pods, stack: AsyncExitStack) -> None:
        """Give every node its addresses, its kubelet port and its object."""
        network = IPv4Network(self.cluster.network)
        numbers = await registration.numbers(client, network, self.machines, self._layout.numbers_in_use())
        authority = Authority(self.cluster.keys)
        for machine in self.machines:
            number = numbers[machine.name]
            self._layout.node(machine.name).keep_number(number)
            address, pod_range = addresses.node_address(network, number), addresses.pod_range(network, number)
            host = self._hosts[machine.name] = Host(
                machine=machine,
                address=str(address),
                addresses=PodAddresses(pod_range),
                images=Images(self._book),
                layout=self._layout.node(machine.name),
                allocatable=node_objects.resources(machine),
            )
            port = await stack.enter_async_context(self._port(host, authority, pods))
            listening = Listening(address=host.address, port=port, pod_range=str(pod_range))
            gpu = BY_NAME[machine.model] if machine.model else None
            node = Registration(client, machine, gpu, listening, self.cluster.version)
            await node.register(self._timings.lease_duration)
            self._registrations.append(node)

    @asynccontextmanager
    async def _port(self, host: Host, authority: Authority, pods: Pods) -> AsyncGenerator[int]:
        name = f"node-{host.machine.name}"
        authority.server(name, (host.address, host.machine.name))
        certificate, key = authority.directory / f"{name}.crt", authority.directory / f"{name}.key"
        tls = logs_server.tls_context(authority.certificate_file, certificate, key)
        key.unlink()
        certificate.unlink()

        def find(namespace: str, pod: str) -> logs_server.PodRunner | None:
            runner = pods.find(Key(namespace, pod))
            return runner if runner is not None and runner.host is host else None

        async with logs_server.serving(host.address, tls, find) as port:
            yield port

    async def _serve(
        self, recorder: Recorder, storage: Storage, sources: Sources, pods: Pods, ready: Callable[[], None]
    ) -> None:
        async with asyncio.TaskGroup() as group:
            beside = [
                group.create_task(recorder.run(), name="events"),
                group.create_task(storage.run(), name="storage"),
                group.create_task(sources.run(), name="sources"),
            ]
            leases = group.create_task(registration.keep_alive(self._registrations, self._timings), name="leases")
            ready()
            await pods.run(self._stop)
            leases.cancel()
            await asyncio.wait([leases])  # else it might still report a node ready that has said it leaves
            await self._leave()
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS):
                    await recorder.drain()
            for task in beside:
                task.cancel()

    async def _leave(self) -> None:
        for node in self._registrations:
            with suppress(KubeError, TimeoutError):
                async with asyncio.timeout(LAST_WORDS):
                    await node.leave()


@asynccontextmanager
async def nodes(
    cluster: Cluster, machines: Sequence[Machine], book: Book, timings: Timings | None = None
) -> AsyncGenerator[Agent]:
    """Run nodes on a local cluster for as long as the context is open; they are registered when it opens."""
    agent = Agent(cluster, machines, book, timings or Timings())
    ready = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(agent.run(ready.set), name="node agent")
            opening = group.create_task(ready.wait())
            await asyncio.wait({running, opening}, return_when=asyncio.FIRST_COMPLETED)
            opening.cancel()
            try:
                if ready.is_set():
                    yield agent
            finally:
                agent.stop()
    except BaseExceptionGroup as failures:
        if len(failures.exceptions) == 1:  # the agent could not start, or the caller failed: say that, and only that
            raise failures.exceptions[0] from None
        raise


def _environment(server: str) -> dict[str, str]:
    """How programs inside containers find the API server."""
    address = urlsplit(server)
    port = str(address.port or 443)
    return {
        "KUBERNETES_SERVICE_HOST": address.hostname or "",
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }


def _probing() -> aiohttp.ClientSession:
    """For probes: every question on a connection of its own, as many at once as there are."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True))
