"""What an object that others depend on says is wrong with it, for the messages of those others."""

from collections.abc import Sequence
from typing import Final

from aim_engine.api import reasons
from aim_engine.core.transitions import PARENTS
from aim_engine.objects import Condition

SUMMARIES: Final = frozenset({reasons.READY, *PARENTS})
UNTOLD: Final = frozenset(
    {reasons.INFRASTRUCTURE_ERROR, reasons.AUTH_ERROR, reasons.INVALID_SPEC, reasons.REFERENCE_NOT_FOUND}
)
"""With these reasons `Ready` tells the sort of trouble only; a part of the object tells what it is."""


def first(conditions: Sequence[Condition]) -> str:
    """The words of `Ready`, or of the first part in trouble where those are more telling; empty if all is well."""
    ready = next((one for one in conditions if one.type == reasons.READY), None)
    if ready is None or ready.status == "True":
        return ""
    parts = unready(conditions) if ready.reason in UNTOLD else []
    return parts[0].message if parts else ready.message


def unready(conditions: Sequence[Condition]) -> list[Condition]:
    """The parts that are not as they should be and say why; parts stand in the order in which they depend."""
    return [one for one in conditions if one.status == "False" and one.type not in SUMMARIES and one.message]
