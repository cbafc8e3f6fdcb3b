"""How a PersistentVolumeClaim is doing."""

from collections.abc import Sequence

from aim_engine.api.foreign import Event, PersistentVolumeClaim
from aim_engine.api.status import AIMStatus
from aim_engine.core import events
from aim_engine.core.health import Component, of_failed_fetch
from aim_engine.core.problems import Dependency, Failure, Problem, infrastructure

_PROVISIONING_FAILED = "ProvisioningFailed"


def inspect(name: str, claim: PersistentVolumeClaim | None, said: Sequence[Event] = ()) -> Component:
    """One component for a claim that the operator made or is about to make; `said` may tell why it is pending."""
    if claim is None:
        return of_failed_fetch(name, Failure(text="", status=404), Dependency.DOWNSTREAM)
    if claim.status.phase == "Bound":
        return Component(name=name, state=AIMStatus.READY, dependency=Dependency.DOWNSTREAM)
    if problem := _problem(claim):
        return Component(name=name, problems=(problem,), dependency=Dependency.DOWNSTREAM)
    cause = _provisioning_failure(claim, said)
    return Component(
        name=name,
        state=AIMStatus.PROGRESSING,
        reason="PvcPending",
        message="PVC is pending" + (f": {cause}" if cause else ""),
        dependency=Dependency.DOWNSTREAM,
    )


def _problem(claim: PersistentVolumeClaim) -> Problem | None:
    if claim.status.phase == "Lost":
        return infrastructure("PvcLost", f"The volume behind PVC {claim.metadata.name} is gone")
    for condition in claim.status.conditions:
        if (condition.type, condition.status, condition.reason) == ("Resizing", "False", _PROVISIONING_FAILED):
            return infrastructure("PvcProvisioningFailed", condition.message or "The volume could not be provisioned")
    return None


def _provisioning_failure(claim: PersistentVolumeClaim, said: Sequence[Event]) -> str:
    """The newest word of the provisioner, such as that it has no volume for many pods at once."""
    failed = events.newest(
        event for event in events.about(claim.metadata, said) if event.reason == _PROVISIONING_FAILED
    )
    return failed.message if failed else ""
