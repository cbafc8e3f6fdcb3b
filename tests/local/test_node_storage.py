"""Directories that a cluster without a memory finds when it starts."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.local.containers import until

from aim_engine.local.node import storage
from aim_engine.local.node.storage import Storage
from aim_engine.local.node.timings import Timings


async def test_a_directory_that_another_agent_makes_meanwhile_is_not_removed_as_a_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [tmp_path / f"pvc-{number}" for number in range(10)]

    class Informer:
        """Has seen no claim and no volume; those of the other agent come while it hears that."""

        name, store = "empty", ()

        def __init__(self, *_: object) -> None: ...

        def listen(self, _: object) -> None: ...

        async def run(self) -> None:
            await asyncio.Event().wait()

        async def wait_synced(self) -> None:
            for directory in made:
                directory.mkdir(exist_ok=True)

    monkeypatch.setattr(storage, "Informer", Informer)
    stranger = tmp_path / "pvc-stranger"
    stranger.mkdir()
    nothing: Any = None
    running = asyncio.create_task(Storage(nothing, nothing, tmp_path, Timings(), forgetful=True).run())
    await until(lambda: not stranger.exists(), "the end of what an earlier cluster left")
    running.cancel()
    await asyncio.wait([running])
    assert all(directory.exists() for directory in made)
