"""What the statuses of all kinds share: the overall state, conditions, and references that have been resolved."""

from enum import StrEnum
from typing import Annotated, TypeAlias

from aim_engine.api.declare import INT64, doc, list_map
from aim_engine.objects import Condition, Wire


class AIMStatus(StrEnum):
    """The overall state of an object; each kind uses a part of this vocabulary."""

    PENDING = "Pending"
    STARTING = "Starting"
    PROGRESSING = "Progressing"
    READY = "Ready"
    RUNNING = "Running"
    DEGRADED = "Degraded"
    NOT_AVAILABLE = "NotAvailable"
    FAILED = "Failed"


RESOURCE_STATES = (
    AIMStatus.PENDING,
    AIMStatus.PROGRESSING,
    AIMStatus.READY,
    AIMStatus.DEGRADED,
    AIMStatus.FAILED,
    AIMStatus.NOT_AVAILABLE,
)
"""States of models, templates, template caches and download objects."""

SERVICE_STATES = (
    AIMStatus.PENDING,
    AIMStatus.STARTING,
    AIMStatus.RUNNING,
    AIMStatus.DEGRADED,
    AIMStatus.FAILED,
)
"""States of an AIMService; the API server refuses any other."""


class ResolutionScope(StrEnum):
    """Where the object behind a reference was found."""

    NAMESPACE = "Namespace"
    CLUSTER = "Cluster"
    MERGED = "Merged"
    UNKNOWN = "Unknown"


ObservedGeneration: TypeAlias = Annotated[
    int,
    INT64,
    doc(
        "Generation of the spec that this status describes; a smaller number than metadata.generation means"
        " work is due."
    ),
]

Conditions: TypeAlias = Annotated[
    tuple[Condition, ...],
    list_map("type"),
    doc(
        "What the operator observed, one entry per aspect; True is healthy, and the message of a False one"
        " says what to do."
    ),
]


class ResolvedReference(Wire):
    """The object that satisfied a reference."""

    name: Annotated[str | None, doc("Name of the object.")] = None
    namespace: Annotated[str | None, doc("Namespace of the object; empty for a cluster-scoped one.")] = None
    scope: Annotated[
        ResolutionScope | None,
        doc(
            "Namespace or Cluster, Merged when two runtime configs of one name were merged, Unknown before"
            " anything was found."
        ),
    ] = None
    kind: Annotated[str | None, doc("Kind of the object, for example AIMClusterModel.")] = None
    uid: Annotated[str | None, doc("UID of the object; tells a recreated object from the one seen before.")] = None


ResolvedRuntimeConfig: TypeAlias = Annotated[
    ResolvedReference,
    doc(
        "Runtime config in effect; scope Merged means a namespace config merged over the cluster config of"
        " the same name."
    ),
]
