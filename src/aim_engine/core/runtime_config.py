"""Which runtime config an object works with: a namespace config merged over the cluster config of the same name."""

from typing import Final

import msgspec

from aim_engine.api import names, reasons
from aim_engine.api.runtime import Routing, ServiceRuntime, Storage
from aim_engine.api.runtime_config import AIMClusterRuntimeConfig, AIMRuntimeConfig, LabelPropagation, RuntimeConfigSpec
from aim_engine.api.status import AIMStatus, ResolutionScope, ResolvedReference
from aim_engine.core import merge, references
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency, missing_upstream
from aim_engine.objects import Key, ObjectMeta

CONFIG_FOUND: Final = "ConfigFound"

_COMPONENT = "RuntimeConfig"


class Wanted(msgspec.Struct, frozen=True):
    """Where to look for the runtime config of an object."""

    namespaced: Key
    cluster: Key


class Resolution(msgspec.Struct, frozen=True):
    """The config in effect, where it came from, and how that went."""

    spec: RuntimeConfigSpec
    reference: ResolvedReference | None
    component: Component


def wanted(consumer: ObjectMeta, name: str | None, operator_namespace: str) -> Wanted:
    """Cluster-scoped objects read the namespace config of the operator's own namespace."""
    config = name or names.DEFAULT_RUNTIME_CONFIG
    return Wanted(Key(consumer.namespace or operator_namespace, config), Key("", config))


def resolve(
    sought: Wanted,
    namespaced: AIMRuntimeConfig | None,
    cluster: AIMClusterRuntimeConfig | None,
    *,
    found: str = CONFIG_FOUND,
) -> Resolution:
    """The config in effect; `found` is the reason a kind gives when there is one."""
    specs = [_migrated(config.spec) for config in (cluster, namespaced) if config is not None]
    spec = merged(*specs) if specs else RuntimeConfigSpec()
    component = _component(sought.cluster.name, bool(specs), found)
    return Resolution(spec, _reference(namespaced, cluster), component)


def merged(lower: RuntimeConfigSpec, higher: RuntimeConfigSpec | None = None) -> RuntimeConfigSpec:
    """Two configs in one, the higher winning field by field and variable by variable."""
    if higher is None:
        return lower
    together = merge.structs(lower, higher) or lower
    return msgspec.structs.replace(together, env=merge.variables_and_arguments(lower.env, higher.env))


def storage(service: ServiceRuntime, config: RuntimeConfigSpec) -> Storage:
    """Storage settings of a service: its own fields over those of the config."""
    own = _without_empty_class(service.storage)
    return merge.structs(config.storage, own) or Storage()


def routing(service: ServiceRuntime, config: RuntimeConfigSpec) -> Routing:
    """Routing of a service: its own fields over those of the config, a gateway as a whole, annotations by key."""
    together = merge.structs(config.routing, service.routing) or Routing()
    gateway = service.routing.gateway_ref if service.routing else None
    return msgspec.structs.replace(together, gateway_ref=gateway) if gateway else together


def _migrated(spec: RuntimeConfigSpec | None) -> RuntimeConfigSpec:
    """The config with deprecated fields where they belong now, and with what the schema would have filled in."""
    spec = spec or RuntimeConfigSpec()
    deprecated = Storage(
        default_storage_class_name=spec.default_storage_class_name or None,
        pvc_headroom_percent=_percent(spec.pvc_headroom_percent),
    )
    propagation = spec.label_propagation
    if propagation is not None and propagation.enabled is None:
        propagation = LabelPropagation(enabled=False, match=propagation.match)
    return msgspec.structs.replace(
        spec,
        storage=_unless_empty(merge.structs(deprecated, _without_empty_class(spec.storage))),
        label_propagation=propagation,
        default_storage_class_name=None,
        pvc_headroom_percent=None,
    )


def _percent(value: int | None) -> int | None:
    """The deprecated field has no lower bound; less than no headroom would be a volume too small for its weights."""
    return value if value is not None and value >= 0 else None


def _without_empty_class(storage: Storage | None) -> Storage | None:
    if storage is None or storage.default_storage_class_name != "":
        return storage
    return msgspec.structs.replace(storage, default_storage_class_name=None)


def _unless_empty(storage: Storage | None) -> Storage | None:
    return None if storage == Storage() else storage


def _component(name: str, exists: bool, found: str) -> Component:
    if exists:
        return Component(name=_COMPONENT, state=AIMStatus.READY, reason=found, dependency=Dependency.UPSTREAM)
    if name == names.DEFAULT_RUNTIME_CONFIG:
        return Component(
            name=_COMPONENT,
            state=AIMStatus.READY,
            reason=reasons.DEFAULT_CONFIG_NOT_FOUND,
            message="Default config was not found",
            dependency=Dependency.UPSTREAM,
        )
    problem = missing_upstream(reasons.CONFIG_NOT_FOUND, f"RuntimeConfig {name} not found")
    return Component(name=_COMPONENT, problems=(problem,), dependency=Dependency.UPSTREAM)


def _reference(
    namespaced: AIMRuntimeConfig | None, cluster: AIMClusterRuntimeConfig | None
) -> ResolvedReference | None:
    config = namespaced or cluster
    if config is None:
        return None
    both = namespaced is not None and cluster is not None
    return references.resolved(config, ResolutionScope.MERGED if both else None)
