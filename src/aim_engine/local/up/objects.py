"""What is in the cluster before anybody asks for anything: storage, a gateway and the default settings; and the sample.

The operator's account and the roles come out of the installation manifest, see `aim_engine.local.installation`.
"""

from typing import Final

from aim_engine.api import names
from aim_engine.kube.client import Client
from aim_engine.kube.errors import Conflict
from aim_engine.kube.resource import Resource
from aim_engine.local import installation
from aim_engine.local.demo.publish import IMAGES
from aim_engine.local.node import claims
from aim_engine.local.stand_ins.gateway.objects import CLASS, GATEWAYS
from aim_engine.objects import Key, Manifest

MANAGER: Final = "aim-up"
GATEWAY: Final = Key(installation.NAMESPACE, "aim-gateway")
SAMPLE: Final = Key("default", "demo")

NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
CLUSTER_CONFIGS = Resource(
    names.GROUP, names.VERSION, "aimclusterruntimeconfigs", "AIMClusterRuntimeConfig", namespaced=False
)
SERVICES = Resource(names.GROUP, names.VERSION, "aimservices", "AIMService")
ARTIFACTS = Resource(names.GROUP, names.VERSION, "aimartifacts", "AIMArtifact")


async def install(client: Client, *, gateway: bool) -> None:
    """Put a storage class there, and a gateway if there is somebody to serve it."""
    await client.apply(NAMESPACES, _named("v1", "Namespace", installation.NAMESPACE), manager=MANAGER, force=True)
    await client.apply(claims.CLASSES, claims.storage_class(), manager=MANAGER, force=True)
    if gateway:
        await client.apply(GATEWAYS, gateway_object(), manager=MANAGER, force=True)


async def configure(client: Client, *, gateway: bool, hub: str | None) -> bool:
    """Write the default settings; say whether they are ours: what somebody else changed in them stays."""
    try:
        await client.apply(CLUSTER_CONFIGS, default_config(gateway=gateway, hub=hub), manager=MANAGER)
    except Conflict:
        return False
    return True


def gateway_object() -> Manifest:
    return {
        "apiVersion": GATEWAYS.api_version,
        "kind": "Gateway",
        "metadata": {"name": GATEWAY.name, "namespace": GATEWAY.namespace},
        "spec": {
            "gatewayClassName": CLASS,
            "listeners": [
                {"name": "http", "protocol": "HTTP", "port": 80, "allowedRoutes": {"namespaces": {"from": "All"}}}
            ],
        },
    }


def default_config(*, gateway: bool, hub: str | None) -> Manifest:
    """The runtime config that objects have which name none: routes at the gateway, weights from the hub stand-in."""
    reference = {"name": GATEWAY.name, "namespace": GATEWAY.namespace}
    routing = {
        "enabled": True,
        "gatewayRef": reference,
        "pathTemplate": "/{.metadata.namespace}/{.metadata.name}",
    }
    spec: Manifest = {"storage": {"defaultStorageClassName": claims.CLASS}}
    spec |= {"routing": routing} if gateway else {}
    spec |= {"env": [{"name": "HF_ENDPOINT", "value": hub}]} if hub else {}
    return {**_named(names.API_VERSION, "AIMClusterRuntimeConfig", "default"), "spec": spec}


def sample() -> Manifest:
    """The service that a first start makes."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": "AIMService",
        "metadata": {"name": SAMPLE.name, "namespace": SAMPLE.namespace},
        "spec": {"model": {"image": IMAGES[0].name}, "caching": {"mode": "Shared"}},
    }


def _named(api_version: str, kind: str, name: str) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
