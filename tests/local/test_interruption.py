"""A program that is interrupted again while it cleans up still cleans up."""

import asyncio
import signal
import sys

import pytest

PROGRAM = """
import asyncio, signal, sys
from aim_engine.local import interruption

async def work():
    number = int(sys.argv[1])
    try:
        signal.raise_signal(number)
        await asyncio.Event().wait()
    finally:
        signal.raise_signal(number)
        for _ in range(10):  # rounds of the loop, in which it hears of the signal
            await asyncio.sleep(0)
        print("is clean")

asyncio.run(interruption.until(work()))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_second_signal_does_not_end_the_cleaning_up(number: signal.Signals) -> None:
    words = (sys.executable, "-c", PROGRAM, str(int(number)))
    program = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    printed, _ = await program.communicate()
    assert (printed, program.returncode) == (b"is clean\n", 0)
