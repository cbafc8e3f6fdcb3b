"""What one kind brings to the pipeline: four functions, its clean-up, and what wakes it."""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from aim_engine.api import names
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.status import AIMStatus
from aim_engine.controllers import kinds
from aim_engine.controllers.cluster import Cluster
from aim_engine.core.conditions import Judgement
from aim_engine.core.health import Component
from aim_engine.core.plan import Plan, Target
from aim_engine.core.transitions import Note, Occurrence
from aim_engine.kube.controller import Wake
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import Resource
from aim_engine.objects import Condition, ObjectMeta


class Status(Protocol):
    """What the statuses of all our kinds have."""

    @property
    def conditions(self) -> tuple[Condition, ...]: ...


class AimObject(Protocol):
    """An object of one of our kinds."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def spec(self) -> Any: ...
    @property
    def status(self) -> Any: ...


class View(Protocol):
    """What a pass makes of the world; plan and status both come from it, so they agree."""

    @property
    def components(self) -> tuple[Component, ...]: ...
    @property
    def notes(self) -> tuple[Note, ...]:
        """Conditions of the kind that are no component's."""
        ...

    @property
    def config(self) -> RuntimeConfigSpec:
        """The merged runtime config, which says which labels go on to children."""
        ...


T = TypeVar("T", bound=AimObject)
Seen = TypeVar("Seen")
V = TypeVar("V", bound=View)


def no_wakes(_: Cluster) -> Sequence[Wake[Any]]:
    """Nothing but the object itself."""
    return ()


@dataclass(frozen=True, kw_only=True)
class Concept(Generic[T, Seen, V]):
    """One kind, and how it is reconciled."""

    kind: type[T]
    controller: str
    """Its name in logs, metrics, labels and as field manager."""
    fetch: Callable[[T, Cluster], Awaitable[Seen]]
    observe: Callable[[T, Seen, datetime], V]
    plan: Callable[[T, V], Plan]
    status: Callable[[T, V, Judgement], Status]
    """Everything of the status but conditions and observedGeneration, which the pipeline sets."""
    counts: Callable[[Any, tuple[Target, ...]], Any] = lambda status, _: status
    """The same status, knowing what was deleted in this pass."""
    blank: Callable[[], Any] | None = None
    """An empty status, for kinds that need a spec: an object without one is told so, and nothing else happens."""
    wakes: Callable[[Cluster], Sequence[Wake[Any]]] = no_wakes
    finalizers: tuple[str, ...] = ()
    """The first is put on every object; all of them leave when the clean-up is done."""
    cleanup: Callable[[T, Cluster], Plan] | None = None
    """What to delete before an object may go."""
    words: Mapping[AIMStatus, AIMStatus] = field(default_factory=dict[AIMStatus, AIMStatus])
    """The kind's own words for overall states."""
    force: bool = False
    """Whether its children are taken over from other field managers."""
    apart: Callable[[T], Hashable] | None = None
    """Passes over objects of the same value run one after the other, so that each sees what the last one made."""
    exclusive: Callable[[Plan], bool] | None = None
    """Which plans are carried out by one process of the cluster at a time, and made anew when it is its turn."""
    announces: Callable[[V], tuple[Occurrence, ...]] = lambda _: ()
    """What users should hear though no condition tells it; told in passes that change something."""
    tells: bool = True
    """Whether changed conditions become Events."""

    @property
    def resource(self) -> Resource:
        return kinds.resource(self.kind)

    @property
    def owner(self) -> str:
        """Field manager, event source and value of the managed-by label."""
        return names.field_owner(self.controller)

    def informer(self, cluster: Cluster) -> Informer[T]:
        return cluster.informer(self.resource.api_version, self.resource.kind)
