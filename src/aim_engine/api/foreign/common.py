"""Shapes that several foreign kinds share."""

from datetime import datetime
from typing import Literal, TypeAlias

from aim_engine.objects import Wire

Quantities: TypeAlias = dict[str, int | str]
"""Amounts by resource name, as their owner wrote them; `aim_engine.api.quantity` gives the numbers."""

Truth: TypeAlias = Literal["True", "False", "Unknown"]
"""Status of a condition. A literal decodes into one shared text, however many conditions say it."""


class ForeignCondition(Wire):
    """A condition of a kind that does not insist on reason and message."""

    type: str
    status: Truth
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
