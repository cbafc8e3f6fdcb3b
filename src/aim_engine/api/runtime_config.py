"""Defaults for a namespace or a whole cluster: AIMRuntimeConfig and AIMClusterRuntimeConfig."""

from typing import Annotated, TypeAlias

from aim_engine.api.declare import INT32, default, doc
from aim_engine.api.runtime import ServiceRuntime
from aim_engine.api.status import Conditions, ObservedGeneration
from aim_engine.objects import ObjectMeta, Wire


class ModelDefaults(Wire):
    """Defaults for models."""

    auto_discovery: Annotated[
        bool | None,
        doc(
            "Whether models without a `discovery` block read their image's metadata and create templates from it;"
            " true if absent."
        ),
    ] = None


class LabelPropagation(Wire):
    """Copying of labels from an AIM object to the objects made for it."""

    enabled: Annotated[bool | None, doc("Whether to copy labels that `match` names."), default(False)] = None
    match: Annotated[
        tuple[str, ...],
        doc(
            "Label keys to copy. `*` stands for any characters but a slash, so `org.example/cost-*` fits"
            " `org.example/cost-centre`."
            " Labels under aim.eai.amd.com/ are copied in any case."
        ),
    ] = ()


class RuntimeConfigSpec(ServiceRuntime):
    """Defaults for services, models and templates; a namespace config is merged over the cluster config of its name."""

    model: Annotated[ModelDefaults | None, doc("Defaults for models.")] = None
    label_propagation: Annotated[
        LabelPropagation | None, doc("Which labels to copy from AIM objects to the objects made for them.")
    ] = None
    default_storage_class_name: Annotated[
        str | None, doc("Deprecated: use `storage.defaultStorageClassName`, which wins over this field.")
    ] = None
    pvc_headroom_percent: Annotated[
        int | None, INT32, doc("Deprecated: use `storage.pvcHeadroomPercent`, which wins over this field.")
    ] = None


class RuntimeConfigStatus(Wire):
    """What the operator has seen of the config."""

    observed_generation: ObservedGeneration | None = None
    conditions: Conditions = ()


class AIMRuntimeConfig(Wire):
    """Defaults for the AIM objects of a namespace that name it; one called `default` also for those that name none."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RuntimeConfigSpec | None = None
    status: RuntimeConfigStatus | None = None


class AIMClusterRuntimeConfig(Wire):
    """Defaults for the AIM objects of all namespaces; an AIMRuntimeConfig of the same name is merged over it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RuntimeConfigSpec | None = None
    status: RuntimeConfigStatus | None = None


RuntimeConfig: TypeAlias = AIMRuntimeConfig | AIMClusterRuntimeConfig
