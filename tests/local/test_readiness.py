"""What is said of a program that does not become ready."""

import asyncio
from pathlib import Path

import pytest

from aim_engine.local import readiness
from aim_engine.local.errors import LocalError


async def test_a_program_that_takes_too_long_is_named_with_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    log.write_text("first\nlast\n")
    with pytest.raises(LocalError) as failure:
        async with readiness.in_time("etcd", log, seconds=0):
            await asyncio.Event().wait()
    assert str(failure.value) == f"etcd was not ready after 0 s; the last lines of {log}:\n  first\n  last"
