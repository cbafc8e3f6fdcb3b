"""What a model source tells of its last scan."""

from collections.abc import Sequence
from typing import Final

from aim_engine.api import reasons
from aim_engine.api.status import AIMStatus
from aim_engine.core.health import Component
from aim_engine.core.model_sources import Scan
from aim_engine.core.transitions import Level, Note
from aim_engine.objects import Condition

_FILTERS = "Filters"

_STATES: Final = {"SomeFiltersFailed": AIMStatus.DEGRADED, "AllFiltersFailed": AIMStatus.FAILED}


def existing(count: int) -> Component:
    return Component(
        name="ExistingModels", state=AIMStatus.READY, reason="Listed", message=f"Found {count} existing models"
    )


def filters(scan: Scan | None, stored: Sequence[Condition]) -> Component:
    """How the filters did in the last scan, which may have been another process's."""
    if scan is None:
        return _remembered(next((one for one in stored if one.type == f"{_FILTERS}Ready"), None))
    total, failed = len(scan.outcomes), scan.failed
    causes = [f'"{outcome.filter}": {outcome.failure}' for outcome in failed]
    left_out = [cause for outcome in scan.outcomes for cause in outcome.skipped]
    if not total:
        return _component(AIMStatus.PROGRESSING, "NoFilters", "The source has no filters")
    if not failed:
        return _component(
            AIMStatus.READY, "AllFiltersSucceeded", _sentence(f"All {total} filters succeeded", (), left_out)
        )
    if len(failed) < total:
        said = f"{len(failed)} of {total} filters had errors"
        return _component(AIMStatus.DEGRADED, "SomeFiltersFailed", _sentence(said, causes, left_out))
    return _component(AIMStatus.FAILED, "AllFiltersFailed", _sentence(f"All {total} filters failed", causes, left_out))


def _remembered(before: Condition | None) -> Component:
    if before is None:
        return _component(AIMStatus.PROGRESSING, "SyncInProgress", "The registries have not been queried yet")
    state = AIMStatus.READY if before.status == "True" else _STATES.get(before.reason, AIMStatus.PROGRESSING)
    return _component(state, before.reason, before.message)


def _component(state: AIMStatus, reason: str, message: str) -> Component:
    return Component(name=_FILTERS, state=state, reason=reason, message=message)


def _sentence(said: str, causes: Sequence[str], left_out: Sequence[str]) -> str:
    skipped = [f"skipped repositories: {'; '.join(sorted(left_out))}"] if left_out else []
    more = [*causes, *skipped]
    return f"{said}: {'; '.join(more)}" if more else said


def syncing(in_progress: bool) -> Note:
    """Whether registries are being queried; that it goes on and off is nothing to tell."""
    return Note(
        type=reasons.SYNCING,
        status="True" if in_progress else "False",
        reason="SyncInProgress" if in_progress else "SyncComplete",
        message="Registries are being queried" if in_progress else "The last sync is complete",
        level=Level.SILENT,
    )


def is_syncing(stored: Sequence[Condition]) -> bool:
    """Whether it has been told that registries are being queried."""
    return any(one.type == reasons.SYNCING and one.status == "True" for one in stored)


def reachable(scan: Scan) -> Note:
    """Whether all registries could be queried."""
    hosts = sorted({host for outcome in scan.outcomes for host in outcome.unreachable})
    if not hosts:
        return Note(
            type=reasons.REGISTRY_REACHABLE, status="True", reason="Reachable", message="All registries answered"
        )
    return Note(
        type=reasons.REGISTRY_REACHABLE,
        status="False",
        reason="RegistryUnreachable",
        message=f"Could not query: {', '.join(hosts)}",
        level=Level.WARNING,
    )


def limit(reached: bool, discovered: int, available: int) -> Note:
    """Whether there are as many models as there may be."""
    return Note(
        type=reasons.MAX_MODELS_LIMIT_REACHED,
        status="True" if reached else "False",
        reason="LimitReached" if reached else "WithinLimit",
        message=f"Limit reached: {discovered} created, {available} available"
        if reached
        else f"Created {discovered} models, within limit",
    )
