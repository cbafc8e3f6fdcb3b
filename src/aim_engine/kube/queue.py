"""The keys a controller has to look at: each waits once, none is with two workers, those that fail come back later."""

import asyncio
import time
from typing import Final

from aim_engine.kube.backoff import pause
from aim_engine.kube.metrics import Metrics
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key


class Closed(Exception):
    """There is nothing more to take."""


class Queue:
    """First come, first served.

    A key that is woken while a worker has it waits again when the worker is done. A wake in the future is for the next
    pass only: a pass that comes earlier, whatever woke it, decides anew when to look again.
    """

    def __init__(self, name: str, timings: Timings, metrics: Metrics) -> None:
        self.name: Final = name
        self._timings = timings
        self._metrics = metrics.queue(name)
        self._order: asyncio.Queue[Key | None] = asyncio.Queue()
        self._waiting: dict[Key, float] = {}
        self._running: dict[Key, float] = {}
        self._again: set[Key] = set()
        self._later: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._retry_at: dict[Key, float] = {}
        self._closed = False
        self._metrics.running(lambda: list(self._running.values()))

    def __len__(self) -> int:
        """How many keys wait for a worker."""
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """No key waits and none is worked on; keys that wait for a time don't count."""
        return not self._waiting and not self._running

    def wake(self, key: Key) -> None:
        """Have the key looked at as soon as a worker is free."""
        if self._closed or key in self._waiting or key in self._again:
            return
        self._metrics.adds.inc()
        if key in self._running:
            self._again.add(key)
            return
        self._waiting[key] = time.perf_counter()
        self._order.put_nowait(key)
        self._metrics.depth.set(len(self._waiting))

    def wake_after(self, key: Key, seconds: float) -> None:
        """Have the key looked at after exactly this long; of several times the earliest counts."""
        loop = asyncio.get_running_loop()
        earlier = self._later.get(key)
        if self._closed or (earlier and earlier.when() <= loop.time() + seconds):
            return
        self._cancel(key)
        self._later[key] = loop.call_later(seconds, self._due, key)

    def retry(self, key: Key, at_least: float = 0.0) -> float:
        """Have the key looked at again after a failure; tells after how long.

        A pass that something woke before its time and that failed again neither counts nor moves that time: the wait
        grows with failures, not with how much happens around an object.
        """
        now = asyncio.get_running_loop().time()
        left = self._retry_at.get(key, now) - now
        if left <= 0:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            left = pause(failures, self._timings.retry, self._timings.retry_most)
        wait = max(at_least, left)
        self._retry_at[key] = now + wait
        self._metrics.retries.inc()
        self.wake_after(key, wait)
        return wait

    def settle(self, key: Key) -> None:
        """The pass went well: forget earlier failures."""
        self._failures.pop(key, None)
        self._retry_at.pop(key, None)

    async def take(self) -> Key:
        """The next key, which is the caller's alone until `done`; raises `Closed` at the end."""
        key = None if self._closed else await self._order.get()
        if key is None or self._closed:
            # The word for the end is passed on, so that every worker hears it.
            self._order.put_nowait(None)
            raise Closed
        now = time.perf_counter()
        self._metrics.waited.observe(now - self._waiting.pop(key))
        self._metrics.depth.set(len(self._waiting))
        self._running[key] = now
        self._cancel(key)
        return key

    def done(self, key: Key) -> None:
        """The worker is finished with the key."""
        self._metrics.worked.observe(time.perf_counter() - self._running.pop(key))
        if key in self._again:
            self._again.discard(key)
            self._waiting[key] = time.perf_counter()
            self._order.put_nowait(key)
            self._metrics.depth.set(len(self._waiting))

    def close(self) -> None:
        """Give out nothing more; what waits is left to the next process."""
        self._closed = True
        for key in list(self._later):
            self._cancel(key)
        self._order.put_nowait(None)

    def _due(self, key: Key) -> None:
        self._later.pop(key, None)
        self.wake(key)

    def _cancel(self, key: Key) -> None:
        timer = self._later.pop(key, None)
        if timer:
            timer.cancel()
