"""Registers nodes, and keeps their leases and Ready conditions while the agent lives."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Network

import msgspec
import structlog

from aim_engine.core.gpu_models import GpuModel
from aim_engine.kube.client import Client
from aim_engine.kube.errors import AlreadyExists, KubeError, NotFound
from aim_engine.kube.resource import LEASES, Resource
from aim_engine.local.node import addresses, node_objects
from aim_engine.local.node.api_server import MANAGER
from aim_engine.local.node.capacity import Machine
from aim_engine.local.node.node_objects import Listening
from aim_engine.local.node.timings import Timings
from aim_engine.objects import Key, Manifest, ObjectMeta, Wire

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
LEASE_NAMESPACE = "kube-node-lease"

log = structlog.get_logger("node")


class NodeSpec(Wire):
    """The addresses of a node's pods."""

    pod_cidr: str = msgspec.field(default="", name="podCIDR")


class RegisteredNode(Wire):
    """A node as the API server knows it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()


async def numbers(
    client: Client, cluster: IPv4Network, machines: Sequence[Machine], in_use: Mapping[str, int]
) -> dict[str, int]:
    """The number of each machine, from which its addresses follow: the one it had, or a free one."""
    listed = (await client.list(NODES, into=RegisteredNode)).items
    registered = {
        node.metadata.name: number for node in listed if (number := addresses.number_of(cluster, node.spec.pod_cidr))
    }
    known = {**in_use, **registered}
    for machine in machines:
        if machine.name not in known:
            known[machine.name] = addresses.free_number(known.values())
    return {machine.name: known[machine.name] for machine in machines}


class Registration:
    """One node at the API server."""

    def __init__(
        self, client: Client, machine: Machine, gpu: GpuModel | None, listening: Listening, version: str
    ) -> None:
        self.machine = machine
        self._client = client
        self._gpu = gpu
        self._listening = listening
        self._version = version
        self._since = datetime.now(UTC)
        self._uid = ""

    async def register(self, lease_seconds: float) -> None:
        """Make the node, or make the one that is there ours again, and report it ready."""
        manifest = node_objects.node(self.machine, self._gpu, self._listening.pod_range)
        key = Key("", self.machine.name)
        try:
            node = await self._client.create(NODES, manifest, RegisteredNode, manager=MANAGER)
        except AlreadyExists:
            node = await self._client.get(NODES, key, RegisteredNode)
            # The range of its pods can be given to a node once; one that somebody else made has none yet.
            missing = {} if node.spec.pod_cidr else {"spec": manifest["spec"]}
            labels = {"metadata": {"labels": manifest["metadata"]["labels"]}}
            await self._client.patch(NODES, key, {**labels, **missing})
        self._uid = node.metadata.uid
        await self.report()
        await self.renew(lease_seconds)

    async def report(self) -> None:
        """Write the whole status."""
        now = datetime.now(UTC)
        status = node_objects.status(self.machine, self._listening, self._version, now, self._since)
        await self._write(status)

    async def renew(self, lease_seconds: float) -> None:
        """Show that the node lives; NotFound if somebody deleted it."""
        spec: Manifest = {
            "holderIdentity": self.machine.name,
            "leaseDurationSeconds": max(1, round(lease_seconds)),
            "renewTime": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        }
        key = Key(LEASE_NAMESPACE, self.machine.name)
        try:
            await self._client.patch(LEASES, key, {"spec": spec})
        except NotFound:
            await self.report()  # the lease goes with its node, so the node may be gone too
            await self._client.create(LEASES, {"metadata": self._lease_metadata(), "spec": spec})

    def _lease_metadata(self) -> Manifest:
        owner = {"apiVersion": "v1", "kind": "Node", "name": self.machine.name, "uid": self._uid}
        return {"namespace": LEASE_NAMESPACE, "name": self.machine.name, "ownerReferences": [owner]}

    async def leave(self) -> None:
        """Say that the node is going away, so that nothing new is placed on it."""
        await self._write(node_objects.not_ready(datetime.now(UTC), "the node agent was stopped"))

    async def _write(self, status: Manifest) -> None:
        await self._client.patch(
            NODES, Key("", self.machine.name), {"status": status}, subresource="status", manager=MANAGER, strategic=True
        )


async def keep_alive(registrations: Sequence[Registration], timings: Timings) -> None:
    """Renew every lease in time and write every status now and then, until cancelled."""
    loop = asyncio.get_running_loop()
    written = loop.time()
    while True:
        await asyncio.sleep(timings.lease_renewal)
        due = loop.time() - written >= timings.node_status
        written = loop.time() if due else written
        for registration in registrations:
            try:
                await registration.renew(timings.lease_duration)
                if due:
                    await registration.report()
            except NotFound:
                await _register_again(registration, timings)
            except KubeError as error:
                log.warning("node not renewed", node=registration.machine.name, error=str(error))


async def _register_again(registration: Registration, timings: Timings) -> None:
    """Somebody deleted the node while its agent lives."""
    try:
        await registration.register(timings.lease_duration)
    except KubeError as error:
        log.warning("node not registered", node=registration.machine.name, error=str(error))
