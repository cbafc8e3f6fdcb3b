"""A node agent on the shared control plane, and the words tests need to play with it."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from aim_engine.kube.client import Client, Selection
from aim_engine.kube.errors import NotFound
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.resource import EVENTS, LEASES, PODS, Resource
from aim_engine.local.container.book import read_books
from aim_engine.local.control_plane import Cluster
from aim_engine.local.node.agent import Agent, nodes
from aim_engine.local.node.capacity import Machine
from aim_engine.local.node.timings import Timings
from aim_engine.objects import Key

DEADLINE = 300.0
QUICK = Timings().scaled(0.1)
"""A tenth of every duration, also of the seconds in probes and grace periods."""

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
JOBS = Resource("batch", "v1", "jobs", "Job")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)

Manifest = dict[str, Any]

STAGE = "tests.aim.eai.amd.com/stage"
"""The taint that keeps the pods of other tests away."""


class Stage:
    """One node, one namespace, and what happens there."""

    def __init__(self, cluster: Cluster, namespace: str, client: Client, machine: Machine) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.client = client
        self.machine = machine
        self.agent: Agent | None = None

    @property
    def directory(self) -> Path:
        """What the agent keeps of this node."""
        return Path(self.cluster.directory, "nodes", self.machine.name)

    def place(self, spec: Manifest) -> Manifest:
        """A pod's spec that can only go to this node: other tests of the run have nodes too."""
        tolerations = [{"key": STAGE, "operator": "Equal", "value": self.machine.name, "effect": "NoSchedule"}]
        return {"nodeSelector": {"kubernetes.io/hostname": self.machine.name}, "tolerations": tolerations, **spec}

    async def create(self, resource: Resource, name: str, **content: Any) -> Manifest:
        """Create an object in the test's namespace."""
        metadata = {"name": name, **({"namespace": self.namespace} if resource.namespaced else {})}
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        made: Manifest = await self.client.create(resource, {**kind, "metadata": metadata, **content})
        return made

    async def pod(
        self, name: str, *containers: Manifest, labels: dict[str, str] | None = None, **spec: Any
    ) -> Manifest:
        """Create a pod of these containers on this node."""
        whole = self.place({"containers": [{"name": "main", **each} for each in containers], **spec})
        manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace, "labels": labels or {}},
            "spec": whole,
        }
        made: Manifest = await self.client.create(PODS, manifest)
        return made

    async def get(self, resource: Resource, name: str) -> Manifest:
        key = Key(self.namespace if resource.namespaced else "", name)
        found: Manifest = await self.client.get(resource, key)
        return found

    async def until(
        self, resource: Resource, name: str, holds: Callable[[Manifest], bool], deadline: float = DEADLINE
    ) -> Manifest:
        """Wait until an object is as wanted; return it, or fail with how it was in the end."""
        last: Manifest = {}
        try:
            async with asyncio.timeout(deadline):
                while True:
                    try:
                        last = await self.get(resource, name)
                    except NotFound:
                        last = {}
                    if last and holds(last):
                        return last
                    await asyncio.sleep(0.05)
        except TimeoutError:
            happened = "\n".join(f"{reason}: {message}" for reason, message in await self.events(name))
            raise AssertionError(f"{name} never was as wanted:\n{yaml.safe_dump(last)}\n{happened}") from None

    async def until_phase(self, name: str, phase: str) -> Manifest:
        return await self.until(PODS, name, lambda pod: pod["status"].get("phase") == phase)

    async def until_ready(self, name: str, ready: str = "True") -> Manifest:
        return await self.until(PODS, name, lambda pod: condition(pod, "Ready") == ready)

    async def until_gone(self, resource: Resource, name: str) -> None:
        async def gone() -> bool:
            try:
                await self.get(resource, name)
            except NotFound:
                return True
            return False

        await until(gone)

    async def events(self, name: str) -> list[tuple[str, str]]:
        """Reason and message of every event of an object, oldest first."""
        selection = Selection(self.namespace, fields=f"involvedObject.name={name}")
        found = (await self.client.list(EVENTS, selection)).items
        found.sort(key=lambda event: event["metadata"]["name"])
        return [(event["reason"], event["message"]) for event in found]

    async def until_event(self, name: str, reason: str, part: str = "") -> str:
        """Wait for an event; return its message."""
        found: list[str] = []

        async def there() -> bool:
            found[:] = [text for why, text in await self.events(name) if why == reason and part in text]
            return bool(found)

        await until(there)
        return found[0]

    async def logs(self, name: str, container: str = "main", **options: Any) -> str:
        """What a container printed, through the API server."""
        return await self.client.logs(Key(self.namespace, name), container, **options)

    async def kubectl(self, *words: str) -> tuple[int, str]:
        """Run kubectl in the test's namespace; return exit code and output."""
        process = await asyncio.create_subprocess_exec(
            *(self.cluster.kubectl, f"--kubeconfig={self.cluster.kubeconfig}", f"--namespace={self.namespace}", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(), DEADLINE)
        return process.returncode or 0, output.decode()

    @asynccontextmanager
    async def following(self, name: str) -> AsyncGenerator[asyncio.StreamReader]:
        """What `kubectl logs -f` prints, as it comes; it has to end with success within the deadline."""
        words = (f"--kubeconfig={self.cluster.kubeconfig}", f"--namespace={self.namespace}", "logs", "-f", name)
        process = await asyncio.create_subprocess_exec(self.cluster.kubectl, *words, stdout=asyncio.subprocess.PIPE)
        assert process.stdout
        async with asyncio.timeout(DEADLINE):
            yield process.stdout
            assert await process.wait() == 0

    async def delete(self, name: str, grace: int | None = None) -> None:
        await self.client.delete(PODS, Key(self.namespace, name), grace=grace)

    async def clear(self) -> None:
        """Delete every pod of the namespace and whatever would make new ones, and wait until they are gone."""
        for resource in (DEPLOYMENTS, JOBS, PODS):
            for item in (await self.client.list(resource, Selection(self.namespace))).items:
                try:
                    await self.client.delete(resource, resource.key(item), grace=0)
                except NotFound:
                    continue

        async def empty() -> bool:
            return not (await self.client.list(PODS, Selection(self.namespace))).items

        await until(empty)


async def until(holds: Callable[[], Awaitable[bool]], deadline: float = DEADLINE) -> None:
    """Wait for a condition; fail at the deadline."""
    async with asyncio.timeout(deadline):
        while not await holds():
            await asyncio.sleep(0.05)


def condition(item: Manifest, kind: str) -> str:
    """The status of one condition of an object."""
    known = item.get("status", {}).get("conditions", [])
    return next((each["status"] for each in known if each["type"] == kind), "")


def container(pod: Manifest, name: str = "main") -> Manifest:
    """The status of one container of a pod."""
    status = pod["status"]
    known = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    return next((each for each in known if each["name"] == name), {"state": {}, "lastState": {}})


def waiting(pod: Manifest, name: str = "main") -> str:
    """The reason a container waits with, if it does."""
    return container(pod, name)["state"].get("waiting", {}).get("reason", "")


def sh(script: str, **more: Any) -> Manifest:
    """A container that runs a shell script."""
    return {"image": "busybox:1.36", "command": ["/bin/sh", "-c", script], **more}


@asynccontextmanager
async def stage(
    cluster: Cluster,
    namespace: str,
    *,
    books: Sequence[Path] = (),
    gpus: int = 8,
    timings: Timings = QUICK,
    started: bool = True,
) -> AsyncGenerator[Stage]:
    """A node of its own for one test, gone without a trace at the end."""
    machine = Machine(name=f"node-{uuid.uuid4().hex[:8]}", model="MI300X" if gpus else None, gpus=gpus)
    async with Client(from_kubeconfig([cluster.kubeconfig])) as client:
        made = Stage(cluster, namespace, client, machine)
        taint = {"key": STAGE, "value": machine.name, "effect": "NoSchedule"}
        await made.create(NODES, machine.name, spec={"taints": [taint]})
        try:
            if started:
                async with nodes(cluster, [machine], read_books(books), timings) as made.agent:
                    yield made
                    await made.clear()
            else:
                yield made
        finally:
            await _forget(client, machine)


async def _forget(client: Client, machine: Machine) -> None:
    for resource, key in ((NODES, Key("", machine.name)), (LEASES, Key("kube-node-lease", machine.name))):
        try:
            await client.delete(resource, key)
        except NotFound:
            continue
