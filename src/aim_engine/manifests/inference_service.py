"""KServe's InferenceService for a service: one container of the model's image, its GPUs, its weights."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from aim_engine.api import names
from aim_engine.api.environment import EnvVar
from aim_engine.api.placement import NodeAffinity
from aim_engine.api.service import AIMServiceSpec
from aim_engine.api.template import Template
from aim_engine.core import scaling
from aim_engine.core.derived_name import label_value
from aim_engine.core.service import Service
from aim_engine.objects import Manifest

SHARED_MEMORY = "dshm"
CONTAINER = "kserve-container"


class Volumes(msgspec.Struct, frozen=True):
    """Volumes of the pod, and where the container mounts them."""

    volumes: tuple[Manifest, ...] = ()
    mounts: tuple[Manifest, ...] = ()


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """What the inference pods are made of."""

    image: str
    env: Sequence[EnvVar]
    resources: Manifest
    affinity: NodeAffinity | None = None
    pull_secrets: Sequence[str] = ()
    service_account: str = ""
    cache: Volumes = Volumes()


def build(service: Service, name: str, template: Template, pod: Pod) -> Manifest:
    """The InferenceService under this name; lists are complete, because KServe's are replaced as a whole."""
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": name,
            "namespace": service.metadata.namespace,
            "labels": labels(service, template),
            "annotations": scaling.annotations(service.spec, name),
        },
        "spec": {"predictor": predictor(service.spec, pod)},
    }


def predictor(spec: AIMServiceSpec, pod: Pod) -> Manifest:
    """The pods, and how many of them."""
    fewest, most = scaling.bounds(spec)
    metrics = [metric(one) for one in spec.auto_scaling.metrics] if spec.auto_scaling else []
    optional: dict[str, Any] = {
        "autoScaling": {"metrics": metrics} if metrics else None,
        "imagePullSecrets": [{"name": secret} for secret in pod.pull_secrets],
        "serviceAccountName": pod.service_account,
        "affinity": {"nodeAffinity": msgspec.to_builtins(pod.affinity)} if pod.affinity else None,
    }
    return {
        "minReplicas": fewest,
        "maxReplicas": most,
        **{field: value for field, value in optional.items() if value},
        "containers": [container(pod)],
        "volumes": [
            {"name": SHARED_MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
            *pod.cache.volumes,
        ],
    }


def container(pod: Pod) -> Manifest:
    return {
        "name": CONTAINER,
        "image": pod.image,
        "env": msgspec.to_builtins(pod.env),
        "resources": pod.resources,
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "volumeMounts": [{"name": SHARED_MEMORY, "mountPath": "/dev/shm"}, *pod.cache.mounts],
    }


def metric(one: Any) -> Manifest:
    """A scaling metric as KServe reads it, which knows only `value`: an average is given there too."""
    plain: Manifest = msgspec.to_builtins(one)
    target = plain.get("podmetric", {}).get("target", {})
    if target.get("type") == "AverageValue" and not target.get("value") and target.get("averageValue"):
        target["value"] = target["averageValue"]
    return _without_empty(plain)


def _without_empty(value: Manifest) -> Manifest:
    kept = {
        name: _without_empty(cast("Manifest", one)) if isinstance(one, dict) else one for name, one in value.items()
    }
    return {name: one for name, one in kept.items() if one not in (None, "", [], {})}


def labels(service: Service, template: Template) -> dict[str, str]:
    """By what users find what serves a service, a template or a model."""
    profile = template.status.profile.metadata if template.status and template.status.profile else None
    told = {
        names.LABEL_SERVICE: label_value(service.metadata.name),
        names.LABEL_TEMPLATE: label_value(template.metadata.name),
        names.LABEL_MODEL: label_value(template.spec.model_name) if template.spec else None,
        names.LABEL_METRIC: str(profile.metric) if profile and profile.metric else None,
        names.LABEL_PRECISION: str(profile.precision) if profile and profile.precision else None,
    }
    return {
        names.LABEL_APP_COMPONENT: names.COMPONENT_INFERENCE,
        names.LABEL_MANAGED_BY: "aim-engine",
        **{key: value for key, value in told.items() if value},
    }
