"""Who appears in tests of services: small manifests, with all that does not matter filled in."""

from typing import Any

import msgspec
from tests.controllers.world import NAMESPACE, Look, World

from aim_engine.api.foreign import Event
from aim_engine.controllers.service.concept import SERVICES
from aim_engine.core import naming
from aim_engine.kube.informer import Informer
from aim_engine.kube.store import Change
from aim_engine.objects import Manifest

GROUP = {"apiVersion": "aim.eai.amd.com/v1alpha1"}
UID = "uid-of-aimservice-chat"
SERVED = str(naming.inference_service("chat", NAMESPACE))
ROUTE = naming.http_route("chat", NAMESPACE)
SHARED = naming.shared_template_cache("fast", NAMESPACE)
OWN = naming.dedicated_template_cache("fast", "chat", UID)
SCALER = naming.autoscaler(SERVED)
OWNER = {**GROUP, "kind": "AIMService", "name": "chat", "uid": UID, "controller": True}
STRANGER = {**OWNER, "name": "other", "uid": "uid-of-another"}
SOURCE = {"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny"}
GATEWAY = {"name": "gateway", "namespace": "gateways"}
ROUTED = {"enabled": True, "gatewayRef": GATEWAY}

MODEL_REF = {"name": "tiny", "namespace": NAMESPACE, "scope": "Namespace", "kind": "AIMModel", "uid": "u-m"}
TEMPLATE_REF = {
    "name": "fast",
    "namespace": NAMESPACE,
    "scope": "Namespace",
    "kind": "AIMServiceTemplate",
    "uid": "u-t",
}


def service(
    *, labels: Any = None, annotations: Any = None, status: Any = None, name: str = "chat", **spec: Any
) -> Manifest:
    """A service by the name `chat` that serves the model `tiny`, if nothing else is said."""
    wanted = {"model": {"name": "tiny"}, "replicas": 1, **spec}
    metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {**GROUP, "kind": "AIMService", "metadata": metadata, "spec": wanted, "status": status or {}}


def running(**status: Any) -> Manifest:
    """The status of a service that found its model and template before."""
    return {"resolvedModel": MODEL_REF, "resolvedTemplate": TEMPLATE_REF, **status}


def model(word: str | None = "Ready", name: str = "tiny", *, everywhere: bool = False, **spec: Any) -> Manifest:
    content = {"image": "registry.example/tiny:1.0", **spec}
    return {
        **GROUP,
        "kind": "AIMClusterModel" if everywhere else "AIMModel",
        "metadata": {"name": name},
        "spec": content,
        "status": {"status": word} if word else {},
    }


def template(
    word: str | None = "Ready",
    name: str = "fast",
    *,
    everywhere: bool = False,
    profile: Any = None,
    status: Any = None,
    labels: Any = None,
    sources: Any = (SOURCE,),
    **spec: Any,
) -> Manifest:
    """A template for one MI300X by the name `fast`, optimised for latency."""
    traits = {"metric": "latency", "precision": "fp8", "type": "optimized", **(profile or {})}
    told = {"status": word} if word else {}
    return {
        **GROUP,
        "kind": "AIMClusterServiceTemplate" if everywhere else "AIMServiceTemplate",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"modelName": "tiny", **spec},
        "status": {**told, "modelSources": sources, "profile": {"metadata": traits}, **(status or {})},
    }


def cache(
    word: str | None = "Ready", name: str = SHARED, *, mode: str = "Shared", owner: Any = None, **spec: Any
) -> Manifest:
    """A template cache with one download, `weights`."""
    entry = {
        "uid": "uid-of-aimartifact-weights",
        "name": "weights",
        "model": "acme/tiny",
        "status": word or "Pending",
        "persistentVolumeClaim": "weights-claim",
    }
    references = {"ownerReferences": [owner]} if owner else {}
    wanted = {"templateName": "fast", "templateScope": "Namespace", "mode": mode, **spec}
    status = {"status": word, "artifacts": {"weights": entry}} if word else {}
    return {
        **GROUP,
        "kind": "AIMTemplateCache",
        "metadata": {"name": name, "uid": f"uid-of-{name}", **references},
        "spec": wanted,
        "status": status,
    }


def own_cache(word: str | None = "Ready") -> Manifest:
    return cache(word, OWN, mode="Dedicated", owner=OWNER)


def download(word: str = "Ready", *, made: bool = True, name: str = "weights", conditions: Any = ()) -> Manifest:
    labels = {"template-created": "true"} if made else {}
    return {
        **GROUP,
        "kind": "AIMArtifact",
        "metadata": {"name": name, "labels": labels},
        "spec": {"sourceUri": "hf://acme/tiny"},
        "status": {"status": word, "persistentVolumeClaim": "weights-claim", "conditions": conditions},
    }


def condition(kind: str, status: str, reason: str = "BecauseOfThat", message: str = "") -> Manifest:
    since = "2026-01-01T11:00:00Z"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def served(
    ready: str | None = "True",
    *,
    owner: Any = OWNER,
    claims: tuple[str, ...] = ("weights-claim",),
    template: str = "fast",
) -> Manifest:
    """What KServe runs for `chat`."""
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    mounts = [{"name": claim, "mountPath": f"/mnt/{claim}"} for claim in claims]
    shared_memory = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    container = {
        "name": "kserve-container",
        "image": "registry.example/tiny:1.0",
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}, *mounts],
    }
    metadata = {
        "name": SERVED,
        "labels": {"aim.eai.amd.com/template": template},
        "creationTimestamp": "2026-01-01T10:00:00Z",
        **({"ownerReferences": [owner]} if owner else {}),
    }
    conditions = [condition("Ready", ready)] if ready else []
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": metadata,
        "spec": {"predictor": {"containers": [container], "volumes": [shared_memory, *volumes]}},
        "status": {"conditions": conditions},
    }


def pod(phase: str = "Running", *, ready: bool = True, status: Any = None, gpus: int = 0, node: str = "") -> Manifest:
    """A pod of `chat`."""
    requests = {"amd.com/gpu": str(gpus)} if gpus else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "labels": {"serving.kserve.io/inferenceservice": SERVED}},
        "spec": {"nodeName": node, "containers": [{"resources": {"requests": requests}}]},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            **(status or {}),
        },
    }


def route(*verdicts: Manifest, owner: Any = OWNER, name: str = ROUTE, path: str = "/chat", **metadata: Any) -> Manifest:
    references = {"ownerReferences": [owner]} if owner else {}
    whose = owner["name"] if owner else "chat"
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": name, "labels": {"aim.eai.amd.com/service": whose}, **references, **metadata},
        "spec": {"parentRefs": [GATEWAY], "rules": [{"matches": [{"path": {"value": path}}]}]},
        "status": {"parents": [{"parentRef": GATEWAY, "conditions": list(verdicts)}] if verdicts else []},
    }


def scaler(*conditions: Manifest) -> Manifest:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": SCALER, "labels": {"aim.eai.amd.com/service": "chat"}},
        "spec": {"minReplicas": 1, "maxReplicas": 3},
        "status": {"currentReplicas": 1, "desiredReplicas": 2, "conditions": list(conditions)},
    }


def config(name: str = "default", *, everywhere: bool = False, **spec: Any) -> Manifest:
    kind = "AIMClusterRuntimeConfig" if everywhere else "AIMRuntimeConfig"
    return {**GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}


def node(name: str = "gpu-node", gpus: int = 8, device: str = "74a1") -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"amd.com/gpu.device-id": device}},
        "status": {"allocatable": {"amd.com/gpu": str(gpus)}},
    }


def stage(*objects: Manifest, kserve: bool = True, gateway: bool = True, logs: Any = None) -> World:
    """A cluster with KServe and the Gateway API, and these objects on it."""
    world = World(*objects, logs=logs)
    world.cluster.inference_services.installed = kserve
    world.cluster.routes.installed = gateway
    return world


def say(
    world: World, kind: str, name: str, reason: str, message: str, **more: Any
) -> tuple[Informer[Event], Change[Event]]:
    """Have somebody tell an Event about an object; where it is stored, and the change that makes."""
    informers = {
        "Pod": world.cluster.pod_events,
        "InferenceService": world.cluster.inference_service_events,
        "ReplicaSet": world.cluster.replica_set_events,
    }
    about = {"kind": kind, "namespace": NAMESPACE, "name": name, "uid": f"uid-of-{kind.lower()}-{name}"}
    event = {
        "metadata": {"name": f"{name}.{reason}", "namespace": NAMESPACE, "resourceVersion": "1"},
        "involvedObject": about,
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-01-01T11:30:00Z",
        **more,
    }
    change = informers[kind].store.put(msgspec.convert(event, Event))
    assert change is not None
    return informers[kind], change


async def look(*objects: Manifest, **more: Any) -> Look:
    """One look at `chat` in a world of these objects."""
    return await stage(*objects, **more).look(SERVICES, "chat")


WHOLE = (model(), template(), cache())
"""All that a service needs."""
UP = (*WHOLE, served(), pod())
"""The same, and the service runs."""
