"""What each model source found when it last looked, kept in memory: a new process looks for itself."""

from datetime import datetime, timedelta

from aim_engine.api.model_source import AIMClusterModelSource
from aim_engine.core import model_sources
from aim_engine.core.model_sources import Scan


class Scans:
    """The last scan of each source, and which sources have to look again."""

    def __init__(self) -> None:
        self._last: dict[str, Scan] = {}
        self._demanded: set[str] = set()

    def last(self, source: AIMClusterModelSource) -> Scan | None:
        return self._last.get(source.metadata.uid)

    def demand(self, source: AIMClusterModelSource) -> None:
        """Have it look again, however long the next time is away."""
        self._demanded.add(source.metadata.uid)

    def is_due(self, source: AIMClusterModelSource, now: datetime) -> bool:
        uid, last = source.metadata.uid, self._last.get(source.metadata.uid)
        if last is None or uid in self._demanded or last.generation != source.metadata.generation:
            return True
        return self.time_left(source, now) <= timedelta(0)

    def time_left(self, source: AIMClusterModelSource, now: datetime) -> timedelta:
        """Until the next scan."""
        assert source.spec is not None
        last = self._last.get(source.metadata.uid)
        return last.at + (last.pause or model_sources.interval(source.spec)) - now if last else timedelta(0)

    def begin(self, source: AIMClusterModelSource) -> None:
        """A scan begins: what is demanded from now on is for the next one."""
        self._demanded.discard(source.metadata.uid)

    def keep(self, source: AIMClusterModelSource, scan: Scan) -> None:
        self._last[source.metadata.uid] = scan

    def forget(self, uid: str) -> None:
        """The source is gone."""
        self._last.pop(uid, None)
        self._demanded.discard(uid)
