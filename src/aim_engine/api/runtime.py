"""Storage, routing and environment: settings of a service that runtime configs provide defaults for."""

from typing import Annotated, TypeAlias

from aim_engine.api.declare import INT32, default, doc, length, maximum, minimum, pattern
from aim_engine.api.environment import EnvVars
from aim_engine.api.names import DEFAULT_HEADROOM_PERCENT
from aim_engine.objects import Wire

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


RuntimeConfigName: TypeAlias = Annotated[
    str,
    doc(
        "Runtime config to use; `default` if empty. A namespace config and a cluster config of this name are merged,"
        " the namespace winning field by field. A named config that is missing is an error, a missing `default` is not."
    ),
]


class Storage(Wire):
    """Volumes for model weights."""

    default_storage_class_name: Annotated[
        str | None,
        doc(
            "Storage class for volumes whose own object names none; the cluster's default class if empty. It must"
            " support ReadWriteMany."
        ),
    ] = None
    pvc_headroom_percent: Annotated[
        int | None,
        INT32,
        doc("Space to add to the size of the weights, in percent; 0 adds none."),
        default(DEFAULT_HEADROOM_PERCENT),
        minimum(0),
    ] = None


class ParentReference(Wire):
    """The Gateway a route attaches to, as in the Gateway API."""

    group: Annotated[
        str | None,
        doc("API group of the parent."),
        default("gateway.networking.k8s.io"),
        length(at_most=253),
        pattern(rf"^$|^{_SUBDOMAIN}$"),
    ] = None
    kind: Annotated[
        str | None,
        doc("Kind of the parent."),
        default("Gateway"),
        length(1, 63),
        pattern(r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"),
    ] = None
    name: Annotated[str, doc("Name of the parent."), length(1, 253)]
    namespace: Annotated[
        str | None,
        doc("Namespace of the parent; the namespace of the route if absent."),
        length(1, 63),
        pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
    ] = None
    section_name: Annotated[
        str | None,
        doc("One listener of the Gateway; all of them if absent."),
        length(1, 253),
        pattern(rf"^{_SUBDOMAIN}$"),
    ] = None
    port: Annotated[
        int | None, INT32, doc("One port of the parent; all of them if absent."), minimum(1), maximum(65535)
    ] = None


class Routing(Wire):
    """How a service is reached from outside, through a Gateway API HTTPRoute."""

    enabled: Annotated[
        bool | None,
        doc(
            "Whether to create an HTTPRoute. The value of the service wins over the namespace config, that over"
            " the cluster config,"
            " an explicit false too; nowhere set means no route."
        ),
    ] = None
    gateway_ref: Annotated[
        ParentReference | None, doc("Gateway to attach to, in any namespace; needed wherever routing is enabled.")
    ] = None
    path_template: Annotated[
        str | None,
        doc(
            "Path of the route, with JSONPath placeholders in braces that are read from the AIMService, for example"
            " `/{.metadata.namespace}/{.metadata.labels['team']}`. At most 200 characters once rendered;"
            " `/<namespace>/<uid of the service>` if empty."
        ),
    ] = None
    request_timeout: Annotated[
        str | None, doc("Time limit of a whole request, for example 30s or 5m; the gateway's own limit if absent.")
    ] = None
    annotations: Annotated[
        dict[str, str], doc("Annotations for the HTTPRoute; keys of the service win over those of a config.")
    ] = {}


class ServiceRuntime(Wire):
    """Settings a service and a runtime config have in common: service over namespace config over cluster config."""

    storage: Annotated[Storage | None, doc("Volumes for the model weights.")] = None
    routing: Annotated[Routing | None, doc("How the service is reached from outside.")] = None
    env: Annotated[
        EnvVars,
        doc(
            "Environment variables. On a service they reach the inference containers and win over all others;"
            " on a runtime config they reach inference containers, downloads and discovery, and are the place for"
            " credentials."
        ),
    ] = ()
