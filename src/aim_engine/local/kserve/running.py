"""Runs the controller: everything it finds in a cluster where it is installed, its process, and its webhooks."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

import aiohttp

from aim_engine.kube.client import Client
from aim_engine.kube.errors import KubeError
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.resource import Resource
from aim_engine.local import binaries, control_plane, foreign_crds, locks, processes, readiness
from aim_engine.local.control_plane import Cluster
from aim_engine.local.control_plane.certificates import Authority
from aim_engine.local.control_plane.connection import connect
from aim_engine.local.kserve import configuration, webhooks
from aim_engine.local.kserve.webhooks import Endpoint
from aim_engine.local.processes import Program

STOP_SECONDS: Final = 10.0
LAST_WORDS_SECONDS: Final = 5.0
MANAGER: Final = "aim-kserve"

NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")

TRIALS: Final = "/apis/serving.kserve.io/v1beta1/namespaces/default/inferenceservices?dryRun=All"
TRIAL: Final = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {"name": "trial"},
    "spec": {"predictor": {"containers": [{"name": "kserve-container", "image": "trial"}]}},
}
"""Passes through the webhooks and is never stored."""


async def run(cluster: Cluster, ready: Callable[[], None]) -> None:
    """Run KServe until this task is cancelled, telling when it reconciles and its webhooks answer.

    What it made of InferenceServices stays when it ends; what would keep others from writing them does not.
    """
    directory = Path(cluster.directory) / "kserve"
    directory.mkdir(exist_ok=True)
    with locks.held(directory / "running.lock"):
        program = await binaries.find("kserve")
        await control_plane.install(cluster, await foreign_crds.paths(groups=foreign_crds.KSERVE_GROUPS))
        async with Client(from_kubeconfig([cluster.kubeconfig]), agent=MANAGER) as client:
            await client.apply(NAMESPACES, configuration.namespace(), manager=MANAGER, force=True)
            await client.apply(CONFIG_MAPS, configuration.config_map(), manager=MANAGER, force=True)
            await _controlled(cluster, client, _Controller(cluster, directory, program), ready)


async def _controlled(cluster: Cluster, client: Client, controller: "_Controller", ready: Callable[[], None]) -> None:
    async with processes.crew(grace=STOP_SECONDS) as crew, aiohttp.ClientSession() as session:
        await crew.start(controller.program)
        async with readiness.in_time("KServe", controller.program.log):
            await readiness.until_answer(session, f"http://{controller.probes}/readyz")
        async with _asked(client, controller.endpoint):
            async with readiness.in_time("KServe", controller.program.log):
                await readiness.until(lambda: accepts(cluster))
            ready()
            await asyncio.Event().wait()


async def accepts(cluster: Cluster) -> bool:
    """Whether the API server takes an InferenceService, which it does only if the webhooks answer."""
    try:
        async with connect(cluster) as server, server.post(TRIALS, json=TRIAL) as answer:
            return answer.status == 201
    except aiohttp.ClientError:
        return False


class _Controller:
    """One start of the controller: its certificate, its ports and its command line."""

    def __init__(self, cluster: Cluster, directory: Path, program: Path) -> None:
        # Where the controller looks for its certificate once TMPDIR is `directory`; there is no flag.
        keys = directory / "k8s-webhook-server" / "serving-certs"
        keys.mkdir(parents=True, exist_ok=True)
        address = str(IPv4Network(cluster.network)[1])
        authority = Authority(keys)
        authority.server("tls", [address])
        webhook_port, probe_port = _free_ports(2)
        self.endpoint = Endpoint(f"https://{address}:{webhook_port}", authority.certificate_file.read_bytes())
        self.probes = f"{address}:{probe_port}"
        flags = {
            "--kubeconfig": str(cluster.kubeconfig),
            "--webhook-port": str(webhook_port),
            "--health-probe-addr": self.probes,
            "--metrics-addr": "0",
            "--leader-elect": "false",  # the lock on the directory keeps it alone
        }
        self.program = Program(
            name="kserve",
            arguments=[str(program), *(f"{name}={value}" for name, value in flags.items())],
            log=cluster.files.log("kserve"),
            directory=directory,
            environment={"HOME": str(directory), "TMPDIR": str(directory), "POD_NAMESPACE": configuration.NAMESPACE},
        )


@asynccontextmanager
async def _asked(client: Client, endpoint: Endpoint) -> AsyncGenerator[None]:
    """Have the API server ask the webhooks for the length of a block."""
    configured = webhooks.configurations(endpoint)
    try:
        for resource, manifest in configured:
            await client.apply(resource, manifest, manager=MANAGER, force=True)
        yield
    finally:
        with suppress(KubeError, TimeoutError):  # the cluster may have ended before
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                for resource, manifest in configured:
                    await client.delete(resource, resource.key(manifest))


def _free_ports(count: int) -> list[int]:
    """Ports that are free on every address: the webhooks listen on all of them, and no flag says otherwise."""
    probes = [socket.create_server(("", 0)) for _ in range(count)]
    try:
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()
