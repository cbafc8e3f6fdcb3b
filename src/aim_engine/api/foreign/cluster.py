"""Nodes, namespaces, accounts, leases and events."""

from datetime import datetime

from aim_engine.api.environment import LocalObjectReference
from aim_engine.api.foreign.common import Quantities
from aim_engine.objects import ObjectMeta, Wire


class NodeStatus(Wire):
    capacity: Quantities = {}
    allocatable: Quantities = {}


class Node(Wire):
    metadata: ObjectMeta = ObjectMeta()
    status: NodeStatus = NodeStatus()


class NamespaceStatus(Wire):
    phase: str = ""


class Namespace(Wire):
    metadata: ObjectMeta = ObjectMeta()
    status: NamespaceStatus = NamespaceStatus()


class SecretMetadata(Wire):
    """A Secret without its data, listed as PartialObjectMetadata: credentials never enter a store."""

    metadata: ObjectMeta = ObjectMeta()


class ServiceAccount(Wire):
    metadata: ObjectMeta = ObjectMeta()
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()


class RoleRef(Wire):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class Subject(Wire):
    kind: str
    name: str
    namespace: str = ""


class RoleBinding(Wire):
    metadata: ObjectMeta = ObjectMeta()
    role_ref: RoleRef = RoleRef()
    subjects: tuple[Subject, ...] = ()


class LeaseSpec(Wire):
    holder_identity: str = ""
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class InvolvedObject(Wire):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(Wire):
    last_observed_time: datetime | None = None


class Event(Wire):
    """A core/v1 event; `seen_at` is when it last happened, whichever of the three time fields its writer used."""

    metadata: ObjectMeta = ObjectMeta()
    involved_object: InvolvedObject = InvolvedObject()
    type: str = ""
    reason: str = ""
    message: str = ""
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: EventSeries | None = None

    @property
    def seen_at(self) -> datetime | None:
        series = self.series.last_observed_time if self.series else None
        return (
            series or self.last_timestamp or self.event_time or self.first_timestamp or self.metadata.creation_timestamp
        )
