"""Environment variables, pull secrets and container resources: Kubernetes' own shapes, embedded as they are."""

from typing import Annotated, ClassVar, TypeAlias

from aim_engine.api.declare import ATOMIC_MAP, Keywords, default, doc, list_map
from aim_engine.api.quantity import Quantity
from aim_engine.objects import Wire


class KeySelector(Wire):
    """One key of a ConfigMap or Secret in the same namespace."""

    KEYWORDS: ClassVar[Keywords] = ATOMIC_MAP

    key: Annotated[str, doc("Key to read.")]
    name: Annotated[str, doc("Name of the ConfigMap or Secret."), default("")] = ""
    optional: Annotated[
        bool | None, doc("Leave the variable out, instead of failing, when the object or key is missing.")
    ] = None


class ObjectFieldSelector(Wire):
    """A field of the pod itself."""

    KEYWORDS: ClassVar[Keywords] = ATOMIC_MAP

    api_version: Annotated[str | None, doc("Version of the schema the path is written for; v1 if empty.")] = None
    field_path: Annotated[str, doc("Path of the field, for example metadata.name.")]


class ResourceFieldSelector(Wire):
    """A resource limit or request of a container."""

    KEYWORDS: ClassVar[Keywords] = ATOMIC_MAP

    container_name: Annotated[str | None, doc("Container to look at; the one that holds the variable if empty.")] = None
    divisor: Annotated[Quantity | None, doc("Unit in which the value is given; 1 if empty.")] = None
    resource: Annotated[str, doc("Resource to read, for example limits.memory.")]


class FileKeySelector(Wire):
    """One key of an environment file in a volume."""

    KEYWORDS: ClassVar[Keywords] = ATOMIC_MAP

    key: Annotated[str, doc("Key inside the file.")]
    path: Annotated[str, doc("Path of the file inside the volume, relative and without `..`.")]
    volume_name: Annotated[str, doc("Volume that holds the file.")]
    optional: Annotated[
        bool | None, doc("Leave the variable out, instead of failing, when the file or key is missing."), default(False)
    ] = None


class EnvVarSource(Wire):
    """Where the value of a variable comes from; give exactly one."""

    config_map_key_ref: Annotated[KeySelector | None, doc("A key of a ConfigMap in the namespace of the pod.")] = None
    secret_key_ref: Annotated[
        KeySelector | None, doc("A key of a Secret in the namespace of the pod; the place for tokens and passwords.")
    ] = None
    field_ref: Annotated[ObjectFieldSelector | None, doc("A field of the pod, such as metadata.namespace.")] = None
    resource_field_ref: Annotated[ResourceFieldSelector | None, doc("A resource limit or request of a container.")] = (
        None
    )
    file_key_ref: Annotated[FileKeySelector | None, doc("A key of an environment file in a volume of the pod.")] = None


class EnvVar(Wire):
    """One environment variable."""

    name: Annotated[str, doc("Name of the variable; once per list.")]
    value: Annotated[str | None, doc("Its value; `$(OTHER)` is replaced by the value of OTHER.")] = None
    value_from: Annotated[EnvVarSource | None, doc("Where its value comes from, instead of `value`.")] = None


EnvVars: TypeAlias = Annotated[tuple[EnvVar, ...], list_map("name")]
"""Variables, at most one per name."""


class LocalObjectReference(Wire):
    """An object of the same namespace by name."""

    KEYWORDS: ClassVar[Keywords] = ATOMIC_MAP

    name: Annotated[str, doc("Name of the object."), default("")] = ""


class ResourceClaim(Wire):
    """A device claim of the pod that a container uses."""

    name: Annotated[str, doc("Name of an entry in the pod's resourceClaims.")]
    request: Annotated[str | None, doc("One request of that claim; all of them if empty.")] = None


class ResourceRequirements(Wire):
    """Container resources, as in a pod."""

    limits: Annotated[dict[str, Quantity], doc("Upper bound per resource, for example memory or amd.com/gpu.")] = {}
    requests: Annotated[dict[str, Quantity], doc("Amount the scheduler sets aside per resource.")] = {}
    claims: Annotated[tuple[ResourceClaim, ...], list_map("name"), doc("Device claims the container uses.")] = ()
