"""Programs that run until somebody ends them: SIGINT and SIGTERM are how, and no failure."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


async def until(work: Coroutine[Any, Any, None]) -> None:
    """Do the work until it ends, or is cancelled by a signal and has cleaned up."""
    task = asyncio.ensure_future(work)
    listen(task)
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


def listen(task: asyncio.Task[Any]) -> None:
    """Have the first signal cancel a task, and no other one disturb its end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, cancel_once, task)


def cancel_once(task: asyncio.Task[Any]) -> None:
    """Cancel a task; told again, let it finish what it has to clean up."""
    if not task.cancelling():
        task.cancel()
