"""What is known of a pod's containers while it runs, and the notice that something changed."""

import asyncio
from collections.abc import Callable, Mapping

from aim_engine.local.node.pod_status import ContainerStatus


class Board:
    """One entry for each container; whoever reports the pod waits for a change."""

    def __init__(self, statuses: Mapping[str, ContainerStatus]) -> None:
        self._statuses = dict(statuses)
        self._changed = asyncio.Event()
        self._changed.set()
        self._waiters: list[asyncio.Event] = []

    def __getitem__(self, name: str) -> ContainerStatus:
        return self._statuses[name]

    @property
    def statuses(self) -> Mapping[str, ContainerStatus]:
        return self._statuses

    def put(self, status: ContainerStatus) -> None:
        """Take a new status of one container."""
        if self._statuses[status.name] != status:
            self._statuses[status.name] = status
            self.touch()

    def touch(self) -> None:
        """Have the pod reported, and those who wait look again, although no container changed."""
        self._changed.set()
        for waiter in self._waiters:
            waiter.set()
        self._waiters.clear()

    async def change(self) -> None:
        """Wait for a change since the last time."""
        await self._changed.wait()
        self._changed.clear()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that can only change together with the board."""
        while not holds():
            waiter = asyncio.Event()
            self._waiters.append(waiter)
            await waiter.wait()
