"""Shapes that several foreign kinds share."""

from datetime import datetime
from typing import TypeAlias

from aim_engine.objects import Wire

Quantities: TypeAlias = dict[str, int | str]
"""Amounts by resource name, as their owner wrote them; `aim_engine.api.quantity` gives the numbers."""


class ForeignCondition(Wire):
    """A condition of a kind that does not insist on reason and message."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
