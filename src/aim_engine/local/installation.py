"""What `deploy/install.yaml` brings to a cluster besides the kinds and the pods: the operator's account and all roles.

A process on this machine becomes the operator with the same rights that its pods have on a real cluster:

    await installation.prepare(cluster, kubeconfig)
    aim operator --kubeconfig …
"""

import asyncio
import base64
from pathlib import Path

import yaml

from aim_engine.kube import kubeconfig as connections
from aim_engine.kube.client import Client
from aim_engine.kube.resource import Resource
from aim_engine.local import shipped
from aim_engine.local.control_plane import Cluster
from aim_engine.local.errors import LocalError
from aim_engine.local.private_files import write_private
from aim_engine.objects import Manifest

NAMESPACE, ACCOUNT = "aim-system", "aim-engine-controller-manager"

RBAC = ("rbac.authorization.k8s.io", "v1")
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
RESOURCES = (
    Resource("", "v1", "namespaces", "Namespace", namespaced=False),
    ACCOUNTS,
    Resource(*RBAC, "clusterroles", "ClusterRole", namespaced=False),
    Resource(*RBAC, "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    Resource(*RBAC, "roles", "Role"),
    Resource(*RBAC, "rolebindings", "RoleBinding"),
)
"""What is applied, in this order."""

SAMPLES = (
    {"verb": "watch", "group": "aim.eai.amd.com", "resource": "aimservices"},
    {"verb": "update", "group": "coordination.k8s.io", "resource": "leases", "namespace": NAMESPACE},
    {"verb": "create", "group": "authentication.k8s.io", "resource": "tokenreviews"},
)
"""A right of each role that the operator has; the API server takes a moment to know a role."""
KNOWN_SECONDS = 60.0
POLL_SECONDS = 0.02
TOKEN_SECONDS = 365 * 24 * 3600


def manifests() -> list[Manifest]:
    """All objects of an installation, in the order in which they can be applied."""
    text = (shipped.directory("deploy") / "install.yaml").read_text(encoding="utf-8")
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


async def prepare(cluster: Cluster, kubeconfig: Path) -> None:
    """Apply the operator's account and all roles; write a kubeconfig by which a process has that account's rights."""
    wanted = manifests()
    async with administrator(cluster) as client:
        for resource in RESOURCES:
            await _apply(client, resource, [manifest for manifest in wanted if manifest["kind"] == resource.kind])
    await log_in(cluster, kubeconfig)


async def log_in(cluster: Cluster, kubeconfig: Path) -> None:
    """Write a kubeconfig by which a process has the rights of the operator's account, once these hold."""
    async with administrator(cluster) as client:
        await _known(client)
        token = await _token(client)
    write_private(kubeconfig, yaml.safe_dump(_content(cluster, token), sort_keys=False).encode())


def administrator(cluster: Cluster) -> Client:
    return Client(connections.discover(str(cluster.kubeconfig)))


async def _apply(client: Client, resource: Resource, wanted: list[Manifest]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for manifest in wanted:
                group.create_task(client.apply(resource, manifest, manager="aim-engine", force=True))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _known(client: Client) -> None:
    """Wait until the API server grants what the roles say."""
    try:
        async with asyncio.timeout(KNOWN_SECONDS):
            for sample in SAMPLES:
                while not await _granted(client, sample):
                    await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise LocalError(f"The API server did not take the operator's roles in {KNOWN_SECONDS:.0f} s.") from None


async def _granted(client: Client, attributes: dict[str, str]) -> bool:
    account = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
    spec = {"user": account, "resourceAttributes": attributes}
    review: Manifest = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "metadata": {}, "spec": spec}
    answer: Manifest = await client.create(REVIEWS, review)
    return bool(answer["status"].get("allowed"))


async def _token(client: Client) -> str:
    request: Manifest = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": NAMESPACE, "name": ACCOUNT},
        "spec": {"expirationSeconds": TOKEN_SECONDS},
    }
    answer: Manifest = await client.create(ACCOUNTS, request, subresource="token")
    return str(answer["status"]["token"])


def _content(cluster: Cluster, token: str) -> Manifest:
    name, authority = "aim-engine-operator", base64.b64encode(cluster.ca_certificate.read_bytes()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": cluster.server, "certificate-authority-data": authority}}],
        "users": [{"name": ACCOUNT, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": ACCOUNT, "namespace": NAMESPACE}}],
        "current-context": name,
    }
