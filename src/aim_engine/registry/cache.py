"""What is remembered: bounded, some of it for a time only, and asked for once however many want it."""

import asyncio
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Weighed(Generic[K, V]):
    """Values up to a total weight; the least recently used go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        held = self._values.get(key)
        if held is None:
            return None
        self._values.move_to_end(key)
        return held[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        self.drop(key)
        if weight > self._most:
            return
        self._values[key] = (value, weight)
        self._weight += weight
        while self._weight > self._most:
            _, (_, dropped) = self._values.popitem(last=False)
            self._weight -= dropped

    def drop(self, key: K) -> None:
        held = self._values.pop(key, None)
        if held is not None:
            self._weight -= held[1]

    def __len__(self) -> int:
        return len(self._values)


class Expiring(Generic[K, V]):
    """Values with an end each, by the clock of the running loop; at most so many, the oldest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, tuple[V, float]] = {}

    def get(self, key: K) -> V | None:
        held = self._values.get(key)
        return held[0] if held and held[1] > _now() else None

    def seconds_left(self, key: K) -> float:
        held = self._values.get(key)
        return max(held[1] - _now(), 0.0) if held else 0.0

    def put(self, key: K, value: V, lifetime: float) -> None:
        self.drop(key)
        if lifetime <= 0:
            return
        self._values[key] = (value, _now() + lifetime)
        while (oldest := next(iter(self._values))) != key and (len(self) > self._most or self.get(oldest) is None):
            self.drop(oldest)

    def drop(self, key: K) -> None:
        self._values.pop(key, None)

    def __len__(self) -> int:
        return len(self._values)


class Turns(Generic[K]):
    """One at a time per key: who comes while another works waits, and then finds what that one has left behind."""

    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[K, asyncio.Lock] = weakref.WeakValueDictionary()

    async def once(self, key: K, look: Callable[[], V | None], work: Callable[[], Awaitable[V]]) -> V:
        """What `look` finds, else what `work` returns.

        `work` runs in the task of the caller whose turn it is; if that one is cancelled, the next does it.
        """
        found = look()
        if found is not None:
            return found
        lock = self._locks.get(key)
        if lock is None:
            self._locks[key] = lock = asyncio.Lock()
        async with lock:
            found = look()
            return await work() if found is None else found


def _now() -> float:
    return asyncio.get_running_loop().time()
