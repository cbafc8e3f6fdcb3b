"""How an HTTPRoute is doing: what the gateway says of it."""

from aim_engine.api.foreign import ForeignCondition, HTTPRoute
from aim_engine.api.status import AIMStatus
from aim_engine.core.health import Component
from aim_engine.core.problems import Category, Dependency, Problem, invalid_spec

_ACCEPTED = ("Accepted", "True")
_REJECTED = ("Accepted", "False")
_UNRESOLVED = ("ResolvedRefs", "False")


def inspect(name: str, route: HTTPRoute | None, *, blocks: bool = True) -> Component:
    """One component for a route that the operator made or is about to make; the gateway's first verdict counts."""
    if route is None:
        missing = Problem(Category.MISSING_DOWNSTREAM, "HTTPRouteNotFound", "HTTPRoute not found")
        return Component(name=name, problems=(missing,), dependency=Dependency.DOWNSTREAM, blocks=blocks)
    verdict = _verdict(route)
    if verdict is None:
        return Component(
            name=name,
            state=AIMStatus.PROGRESSING,
            reason="HTTPRoutePending",
            message="HTTPRoute is waiting for gateway acceptance",
            dependency=Dependency.DOWNSTREAM,
            blocks=blocks,
        )
    if _kind(verdict) == _ACCEPTED:
        return Component(
            name=name,
            state=AIMStatus.READY,
            reason="HTTPRouteAccepted",
            message="HTTPRoute is accepted by gateway",
            dependency=Dependency.DOWNSTREAM,
            blocks=blocks,
        )
    return Component(name=name, problems=(_problem(verdict),), dependency=Dependency.DOWNSTREAM, blocks=blocks)


def _verdict(route: HTTPRoute) -> ForeignCondition | None:
    """The first word that counts; one gateway that accepts is enough, whatever others say."""
    said = [condition for parent in route.status.parents for condition in parent.conditions]
    accepted = any(_kind(condition) == _ACCEPTED for condition in said)
    final = (_ACCEPTED if accepted else _REJECTED, _UNRESOLVED)
    return next((condition for condition in said if _kind(condition) in final), None)


def _kind(condition: ForeignCondition) -> tuple[str, str]:
    return condition.type, condition.status


def _problem(verdict: ForeignCondition) -> Problem:
    if _kind(verdict) == _REJECTED:
        return invalid_spec(verdict.reason or "Rejected", f"HTTPRoute rejected: {verdict.message}")
    return Problem(
        Category.MISSING_DOWNSTREAM,
        verdict.reason or "BackendNotResolved",
        f"HTTPRoute backend not resolved: {verdict.message}",
    )
