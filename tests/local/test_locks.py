"""Locks on files: who asks for a moment whether one is held is not taken for its holder."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from aim_engine.local import locks
from aim_engine.local.errors import LocalError


def test_a_file_that_somebody_asks_about_at_this_moment_can_be_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "ASKING_SECONDS", 60.0)
    file = tmp_path / "lock"
    asking = os.open(file, os.O_CREAT | os.O_RDWR)
    fcntl.flock(asking, fcntl.LOCK_SH)
    answered = threading.Timer(0.1, os.close, [asking])
    answered.start()
    with locks.held(file):
        assert locks.is_held(file)
    answered.join()
    assert not locks.is_held(file)


def test_a_file_has_one_holder(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    refused = pytest.raises(LocalError, match=f"Another process holds {file}; end that one first")
    with locks.held(file), refused, locks.held(file):
        pytest.fail("it has two")
