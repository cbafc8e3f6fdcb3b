"""Templates that wait for a place to run their discovery, in the order in which they came."""

import time
from collections.abc import Callable, Mapping

from aim_engine.core import discovery
from aim_engine.core.discovery import Waiting


class WaitingLine:
    """Who waits. Whoever does not come back for a while, being deleted, paused or served, has left."""

    def __init__(self, forgotten_after: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._forgotten_after = forgotten_after
        self._clock = clock
        self._last_seen: dict[Waiting, float] = {}

    def join(self, one: Waiting) -> None:
        """Take a place at the end, or keep the one there is."""
        self._last_seen[one] = self._clock()

    def leave(self, one: Waiting) -> None:
        self._last_seen.pop(one, None)

    def next(self, places: int, running: Mapping[str, int]) -> list[Waiting]:
        """Who may go, given so many free places and how many Jobs run for each namespace."""
        since = self._clock() - self._forgotten_after
        self._last_seen = {one: seen for one, seen in self._last_seen.items() if seen > since}
        return discovery.order(self._last_seen, running)[: max(places, 0)]
