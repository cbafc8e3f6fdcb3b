"""How a program that starts is seen to be ready, and what is said of one that takes too long."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from aim_engine.local.errors import LocalError
from aim_engine.local.processes import last_words

START_SECONDS = 300.0
"""How long one program may take; some seconds on a machine with nothing else to do."""
POLL_SECONDS = 0.05


@asynccontextmanager
async def in_time(program: str, log: Path, seconds: float = START_SECONDS) -> AsyncGenerator[None]:
    """Leave the block when a program takes too long to become ready, with what it had to say."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise LocalError(f"{program} was not ready after {seconds:.0f} s; {last_words(log)}") from None


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that nobody tells."""
    while not await is_so():
        await asyncio.sleep(POLL_SECONDS)


async def until_answer(session: aiohttp.ClientSession, address: str) -> None:
    """Wait until somebody answers at an address, and with success."""

    async def answers() -> bool:
        try:
            async with session.get(address) as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    await until(answers)
