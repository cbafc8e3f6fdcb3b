"""What running a pod asks of the API server."""

import asyncio
import base64
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from aim_engine.kube.client import Client
from aim_engine.kube.errors import Conflict, NotFound
from aim_engine.kube.resource import PODS, Resource
from aim_engine.local.node.environment import Data, Kind, Reference
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.pod_status import PodStatus
from aim_engine.local.node.volume_spec import TokenSource
from aim_engine.objects import Key, Manifest, Wire

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
MANAGER = "aim-node"
CALLS_AT_ONCE = 16

_RESOURCES: dict[Kind, Resource] = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}


class Contents(Wire):
    """What a ConfigMap or Secret holds."""

    data: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    binary_data: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class TokenStatus(Wire):
    """A token, when it was asked for and when it ends."""

    token: str
    expiration_timestamp: datetime
    issued_at: datetime = datetime.min.replace(tzinfo=UTC)


class TokenAnswer(Wire):
    """The answer to a TokenRequest."""

    status: TokenStatus


class PodApi:
    """Reads what pods name, and writes what becomes of them; hundreds of pods at once take turns."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._turns = asyncio.Semaphore(CALLS_AT_ONCE)

    async def data(self, namespace: str, references: Iterable[Reference]) -> Data:
        """The contents of ConfigMaps and Secrets, each read once."""
        return {each: await self._contents(namespace, each) for each in sorted(set(references))}

    async def token(self, pod: Pod, source: TokenSource) -> TokenStatus:
        """A new token of the pod's service account that ends with the pod."""
        account = pod.spec.service_account_name or "default"
        spec: Manifest = {
            "expirationSeconds": source.expiration_seconds,
            "boundObjectRef": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.metadata.name,
                "uid": pod.metadata.uid,
            },
            **({"audiences": [source.audience]} if source.audience else {}),
        }
        request: Manifest = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"namespace": pod.metadata.namespace, "name": account},
            "spec": spec,
        }
        issued_at = datetime.now(UTC)
        async with self._turns:
            answer = await self._client.create(SERVICE_ACCOUNTS, request, TokenAnswer, subresource="token")
        return msgspec.structs.replace(answer.status, issued_at=issued_at)

    async def report(self, pod: Pod, status: PodStatus) -> bool:
        """Write the status; false if that very pod is no longer there."""
        change: Manifest = {"metadata": {"uid": pod.metadata.uid}, "status": _encoded(status)}
        key = pod.metadata.key
        try:
            async with self._turns:
                await self._client.patch(PODS, key, change, manager=MANAGER, subresource="status", strategic=True)
        except (NotFound, Conflict):
            return False
        return True

    async def forget(self, pod: Pod) -> None:
        """Tell the API server that nothing of the pod is left here, so that the object can go."""
        try:
            async with self._turns:
                await self._client.delete(PODS, pod.metadata.key, uid=pod.metadata.uid, grace=0)
        except (NotFound, Conflict):
            return

    async def _contents(self, namespace: str, reference: Reference) -> dict[str, bytes] | None:
        try:
            async with self._turns:
                found = await self._client.get(_RESOURCES[reference.kind], Key(namespace, reference.name), Contents)
        except NotFound:
            return None
        if reference.kind == "Secret":
            return {key: base64.b64decode(value) for key, value in found.data.items()}
        binary = {key: base64.b64decode(value) for key, value in found.binary_data.items()}
        return {key: value.encode() for key, value in found.data.items()} | binary


def _encoded(status: PodStatus) -> Manifest:
    """The status as a merge: what a condition no longer says is taken away by name."""
    plain: Manifest = msgspec.to_builtins(status)
    conditions: list[Manifest] = msgspec.to_builtins(status.conditions)
    spoken = [{"reason": None, "message": None, **each} for each in conditions]
    return plain | {"phase": status.phase, "conditions": spoken}
