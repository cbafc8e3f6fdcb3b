"""How parts of the world are: each part an object depends on reports one component, and nothing else."""

from typing import Final

import msgspec

from aim_engine.api.status import AIMStatus
from aim_engine.core.problems import Category, Dependency, Failure, Problem, of_fetch

WORST_FIRST: Final = (
    AIMStatus.FAILED,
    AIMStatus.NOT_AVAILABLE,
    AIMStatus.DEGRADED,
    AIMStatus.PENDING,
    AIMStatus.STARTING,
    AIMStatus.PROGRESSING,
    AIMStatus.READY,
    AIMStatus.RUNNING,
)
BAD: Final = frozenset({AIMStatus.FAILED, AIMStatus.NOT_AVAILABLE, AIMStatus.DEGRADED})

_RANK: Final = {status: rank for rank, status in enumerate(WORST_FIRST)}
_MAKES_FAILED: Final = frozenset({Category.AUTH, Category.RESOURCE_EXHAUSTION, Category.INVALID_SPEC})
_MAKES_DEGRADED: Final = frozenset({Category.MISSING_UPSTREAM, Category.INFRASTRUCTURE})


def rank(status: AIMStatus | None) -> int:
    """0 for the worst status, 7 for the best; none counts as the worst."""
    return _RANK[status] if status else 0


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the world as it is now; what is not given follows from its problems."""

    name: str
    state: AIMStatus | None = None
    reason: str = ""
    message: str = ""
    problems: tuple[Problem, ...] = ()
    dependency: Dependency = Dependency.UNSPECIFIED
    blocks: bool = True
    """Whether its problems keep the plan from being carried out."""

    @property
    def condition(self) -> str:
        """Type of the condition that tells of it."""
        return f"{self.name}Ready"

    @property
    def effective_state(self) -> AIMStatus:
        if self.state is not None:
            return self.state
        categories = {problem.category for problem in self.problems}
        if categories & _MAKES_FAILED:
            return AIMStatus.FAILED
        if categories & _MAKES_DEGRADED:
            return AIMStatus.DEGRADED
        return AIMStatus.PROGRESSING if categories else AIMStatus.READY

    @property
    def effective_reason(self) -> str:
        return self.reason or next((problem.reason for problem in self.problems), "Ready")

    @property
    def effective_message(self) -> str:
        return self.message or next((problem.message for problem in self.problems), "")

    @property
    def word(self) -> AIMStatus:
        """What it contributes to the overall status: being on the way counts as waiting if others have to act."""
        state = self.effective_state
        if state in BAD or state in (AIMStatus.PENDING, AIMStatus.READY):
            return state
        return AIMStatus.PENDING if self.dependency is Dependency.UPSTREAM else AIMStatus.PROGRESSING

    def has(self, *categories: Category) -> bool:
        return any(problem.category in categories for problem in self.problems)


def of_failed_fetch(name: str, failure: Failure, dependency: Dependency = Dependency.UNSPECIFIED) -> Component:
    """The component of an object that could not be read."""
    return Component(name=name, problems=(of_fetch(failure, dependency),), dependency=dependency)
