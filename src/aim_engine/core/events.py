"""Events of other programs about the objects we watch."""

from collections.abc import Iterable
from datetime import UTC, datetime

from aim_engine.api.foreign import Event
from aim_engine.objects import ObjectMeta

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def about(subject: ObjectMeta, events: Iterable[Event]) -> list[Event]:
    """Those about exactly this object, not about an earlier one of its name."""
    same = (subject.name, subject.uid)
    return [event for event in events if (event.involved_object.name, event.involved_object.uid) == same]


def newest(events: Iterable[Event]) -> Event | None:
    return max(events, key=lambda event: event.seen_at or _LONG_AGO, default=None)
