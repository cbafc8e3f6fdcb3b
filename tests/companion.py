"""Runs a program as long as another process lives: `python -m tests.companion PID -- program arguments`.

Tests start the operator and the node agent this way, so that they end with the test run, however that ends.
"""

import asyncio
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


async def accompany(owner: int, command: list[str]) -> int:
    """Run the command until it ends or its owner does; return its exit code."""
    process = await asyncio.create_subprocess_exec(*command, preexec_fn=die_with_parent)
    loop = asyncio.get_running_loop()
    descriptor, gone = os.pidfd_open(owner), asyncio.Event()
    loop.add_reader(descriptor, gone.set)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, gone.set)
    ended = asyncio.ensure_future(process.wait())
    waiting = asyncio.ensure_future(gone.wait())
    await asyncio.wait((ended, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not ended.done():
        process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(ended), 60)
        except TimeoutError:
            process.kill()
    return await ended


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(asyncio.run(accompany(int(sys.argv[1]), sys.argv[3:])))
