"""The wish that something ends, and by when."""

import asyncio


class Stop:
    """Asked at most once; asking again can only bring the deadline nearer."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._nearer = asyncio.Event()
        self._deadline = 0.0

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self._deadline - asyncio.get_running_loop().time())

    def ask(self, grace: float) -> None:
        """End within `grace` seconds from now."""
        deadline = asyncio.get_running_loop().time() + grace
        if self.asked and deadline >= self._deadline:
            return
        self._deadline = deadline
        self._asked.set()
        self._nearer.set()

    async def wait(self) -> None:
        """Return when the end was asked for."""
        await self._asked.wait()

    async def within(self, seconds: float) -> bool:
        """Wait so long at most; say whether the end was asked for."""
        try:
            async with asyncio.timeout(seconds):
                await self._asked.wait()
        except TimeoutError:
            return False
        return True

    async def deadline(self) -> None:
        """Return when the end was asked for and its deadline has passed, also if that came nearer meanwhile."""
        await self._asked.wait()
        while self.remaining > 0:
            self._nearer.clear()
            try:
                async with asyncio.timeout(self.remaining):
                    await self._nearer.wait()
            except TimeoutError:
                return
