"""The walk over what is missing: what one thread does when another one fails."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.downloader.stage import DEADLINE

from aim_engine.downloader.failures import NotFound
from aim_engine.downloader.fetch import SMALL, Fetch
from aim_engine.downloader.files import Manifest, RemoteFile
from aim_engine.downloader.gauge import Gauge
from aim_engine.downloader.volume import BucketKeeper, HubKeeper, Keeper, Volume

CONTENT = bytes(range(200))


class OneFailsMeanwhile:
    """Two files at once: `gone` fails for good when the other one is in the middle, which goes on afterwards."""

    part_bytes, workers, tries = 1 << 62, 2, 1

    def __init__(self) -> None:
        self._asked, self._in_the_middle = threading.Event(), threading.Event()

    def blocks(self, file: RemoteFile, first: int, end: int) -> Iterator[memoryview]:
        if file.path == "gone":
            self._failing = threading.current_thread()
            self._asked.set()
            assert self._in_the_middle.wait(DEADLINE)
            raise NotFound("gone for good")
        assert self._asked.wait(DEADLINE)
        yield memoryview(CONTENT)[first:100]
        self._in_the_middle.set()
        self._failing.join(DEADLINE)
        yield memoryview(CONTENT)[100:150]
        yield memoryview(CONTENT)[150:end]


@pytest.mark.parametrize(
    "keeper", [lambda target: HubKeeper(target, "revision"), BucketKeeper], ids=["of a hub", "of a bucket"]
)
def test_a_small_file_that_was_left_in_the_middle_is_neither_there_nor_remembered(
    tmp_path: Path, keeper: Callable[[Path], Keeper]
) -> None:
    volume = Volume(tmp_path, keeper(tmp_path))
    manifest = Manifest("revision", (RemoteFile("gone", SMALL + 1, "a"), RemoteFile("small.json", len(CONTENT), "b")))
    with pytest.raises(NotFound):
        Fetch(OneFailsMeanwhile(), volume, Gauge(), longest_wait=1).run(manifest)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.endswith(".incomplete")] == []
    assert list(keeper(tmp_path).remembered()) == []
