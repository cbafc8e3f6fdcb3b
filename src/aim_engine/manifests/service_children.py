"""What a service makes beside its pods and its route: a model for an image, a derived template, a template cache."""

from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.api.artifact import CacheMode
from aim_engine.api.environment import EnvVar, ResourceRequirements
from aim_engine.api.hardware import HardwareRequirements, RuntimeParameters
from aim_engine.api.service import AIMServiceSpec, InlineModel
from aim_engine.api.template import AIMServiceTemplate, AIMServiceTemplateSpec, Template, TemplateSpec
from aim_engine.core import container_resources, hardware, merge
from aim_engine.core.derived_name import label_value
from aim_engine.core.service import Service
from aim_engine.objects import Manifest


def _object(kind: str, name: str, service: Service, labels: dict[str, str], spec: dict[str, Any]) -> Manifest:
    return {
        "apiVersion": names.API_VERSION,
        "kind": kind,
        "metadata": {"name": name, "namespace": service.metadata.namespace, "labels": labels},
        "spec": {field: value for field, value in spec.items() if value not in (None, "", (), [], {})},
    }


def _annotated(made: Manifest, annotations: dict[str, str]) -> Manifest:
    return {**made, "metadata": {**made["metadata"], "annotations": annotations}} if annotations else made


def _headroom(spec: AIMServiceSpec) -> dict[str, str]:
    """The annotation for the headroom that a service asks for; nothing if it leaves that to the runtime config."""
    percent = spec.storage.pvc_headroom_percent if spec.storage else None
    return {} if percent is None else {names.ANNOTATION_HEADROOM: str(percent)}


def _storage(spec: AIMServiceSpec) -> dict[str, str]:
    """The annotations for all that a service asks of the storage of a cache which its template makes."""
    storage_class = spec.storage.default_storage_class_name if spec.storage else None
    return {**({names.ANNOTATION_STORAGE_CLASS: storage_class} if storage_class else {}), **_headroom(spec)}


def _shared(spec: AIMServiceSpec) -> dict[str, Any]:
    """What a model takes over from the service that makes it."""
    return {
        "runtimeConfigName": spec.runtime_config_name,
        "imagePullSecrets": msgspec.to_builtins(spec.image_pull_secrets),
        "serviceAccountName": spec.service_account_name,
    }


def model_of_image(service: Service, name: str, image: str) -> Manifest:
    """The catalogue entry of an image nobody has entered yet."""
    labels = {names.LABEL_ORIGIN: names.ORIGIN_AUTO_GENERATED}
    return _object("AIMModel", name, service, labels, {"image": image, **_shared(service.spec)})


def custom_model(service: Service, name: str, custom: InlineModel) -> Manifest:
    """The catalogue entry of a service's own weights."""
    labels = {
        names.LABEL_ORIGIN: names.ORIGIN_AUTO_GENERATED,
        names.LABEL_CUSTOM_MODEL: "true",
        names.LABEL_SERVICE: label_value(service.metadata.name) or "unnamed",
    }
    wanted = {
        "image": custom.base_image,
        "modelSources": msgspec.to_builtins(custom.model_sources),
        "custom": {"hardware": msgspec.to_builtins(custom.hardware)},
        "env": msgspec.to_builtins(service.spec.env),
        **_shared(service.spec),
    }
    return _object("AIMModel", name, service, labels, wanted)


def derived_template(service: Service, name: str, base: TemplateSpec, *, cached: bool) -> Manifest:
    """A copy of a template in which the service's overrides hold."""
    spec, overrides = service.spec, service.spec.overrides or RuntimeParameters()
    together = hardware.merged(hardware.effective(base), hardware.effective(overrides))
    changed = msgspec.structs.replace(
        base,
        metric=overrides.metric or base.metric,
        precision=overrides.precision or base.precision,
        hardware=together,
        gpu=together.gpu if together else None,
        runtime_config_name=spec.runtime_config_name or base.runtime_config_name or names.DEFAULT_RUNTIME_CONFIG,
        image_pull_secrets=spec.image_pull_secrets or base.image_pull_secrets,
        resources=spec.resources or _with_cores(base.resources, overrides, together),
    )
    wanted: dict[str, Any] = msgspec.to_builtins(changed)
    if cached:
        # The template will have a cache made before the service can: with what the service's own downloads would get.
        env = msgspec.to_builtins(download_env(service, base)) if spec.env else wanted.get("caching", {}).get("env")
        wanted["caching"] = {"enabled": True, **({"env": env} if env else {})}
    labels = {names.LABEL_MANAGED_BY: "aim-engine", names.LABEL_ORIGIN: names.ORIGIN_DERIVED}
    return _annotated(_object("AIMServiceTemplate", name, service, labels, wanted), _storage(spec) if cached else {})


def _with_cores(
    resources: ResourceRequirements | None, overrides: RuntimeParameters, together: HardwareRequirements | None
) -> ResourceRequirements | None:
    """Resources that say what the hardware says, where a service asks for other cores than its template."""
    if not (overrides.hardware and overrides.hardware.cpu and together):
        return resources
    cores, before = container_resources.of_cpu(together.cpu), resources or ResourceRequirements()
    limits = {name: amount for name, amount in before.limits.items() if name != "cpu"}
    return msgspec.structs.replace(
        before, requests={**before.requests, **cores.requests}, limits={**limits, **cores.limits}
    )


def download_env(service: Service, template: TemplateSpec | None) -> tuple[EnvVar, ...]:
    """The variables of downloads that a service starts: its own over those of the template."""
    own = template.env if template else ()
    caching = template.caching if isinstance(template, AIMServiceTemplateSpec) else None
    return merge.variables(own, caching.env if caching else (), service.spec.env)


def template_cache(service: Service, name: str, template: Template, mode: CacheMode, storage_class: str) -> Manifest:
    """The cache of a template's weights that this service starts."""
    spec = service.spec
    namespaced = isinstance(template, AIMServiceTemplate)
    wanted: dict[str, Any] = {
        "templateName": template.metadata.name,
        "templateScope": "Namespace" if namespaced else "Cluster",
        "mode": str(mode),
        "storageClassName": storage_class,
        "runtimeConfigName": spec.runtime_config_name,
        "env": msgspec.to_builtins(download_env(service, template.spec)),
    }
    labels = {names.LABEL_SERVICE: label_value(service.metadata.name) or "unnamed"}
    return _annotated(_object("AIMTemplateCache", name, service, labels, wanted), _headroom(spec))
