"""Logs of containers: what is written, and what `kubectl logs` gets of it."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.local.container import logs
from aim_engine.local.container.journal import LINE_LIMIT, Journal, parse, stamp
from aim_engine.local.container.logs import Selection, termination_message


@contextmanager
def journal(path: Path, file_limit: int = 1 << 20) -> Iterator[Journal]:
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        with closing(Journal(directory, path.name, file_limit=file_limit)) as opened:
            yield opened
    finally:
        os.close(directory)


async def collected(path: Path, selection: Selection, ended: Callable[[], bool] = lambda: True) -> bytes:
    return b"".join([piece async for piece in logs.read(path, selection, ended)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "0.log"


def numbered(log: Path, count: int, file_limit: int = 1 << 20) -> None:
    with journal(log, file_limit) as writing:
        for number in range(count):
            writing.write("stdout", b"line %d\n" % number)


def test_the_file_has_the_format_of_container_runtimes(log: Path) -> None:
    with journal(log) as writing:
        writing.write("stdout", b"hello\nwor")
        writing.write("stderr", b"oops\n")
        writing.write("stdout", b"ld\nno line end")
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z"
    lines = log.read_text().splitlines()
    assert [re.sub(time, "TIME", line) for line in lines] == [
        "TIME stdout F hello",
        "TIME stderr F oops",
        "TIME stdout F world",
        "TIME stdout F no line end",
    ]


async def test_a_very_long_line_is_written_in_parts_and_read_as_one(log: Path) -> None:
    text = b"x" * (3 * LINE_LIMIT + 5)
    with journal(log) as writing:
        for start in range(0, len(text), 1000):
            writing.write("stdout", text[start : start + 1000])
        writing.write("stdout", b"\nnext\n")
    tags = [record.whole for line in log.read_bytes().splitlines() if (record := parse(line))]
    assert tags == [False, False, False, True, True]
    assert await collected(log, Selection()) == text + b"\nnext\n"
    stamped = await collected(log, Selection(timestamps=True))
    assert len(re.findall(rb"\d{9}Z ", stamped)) == 2


@given(chunks=st.lists(st.binary(max_size=40), max_size=30))
def test_reading_gives_back_what_was_written_however_it_was_cut(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]
) -> None:
    log = tmp_path_factory.mktemp("log") / "0.log"
    with journal(log) as writing:
        for chunk in chunks:
            writing.write("stdout", chunk)
    written = b"".join(chunks)
    with logs.Tailing(log, tail=None) as file:
        seen = b"".join(logs.Renderer(Selection())(records) for records in iter(file.records, []))
    assert seen == written + (b"" if written.endswith(b"\n") or not written else b"\n")


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param(Selection(), b"".join(b"line %d\n" % n for n in range(10)), id="everything"),
        pytest.param(Selection(tail=2), b"line 8\nline 9\n", id="the last two lines"),
        pytest.param(Selection(tail=0), b"", id="no lines at all"),
        pytest.param(Selection(tail=99), b"".join(b"line %d\n" % n for n in range(10)), id="more lines than there are"),
        pytest.param(Selection(limit_bytes=9), b"line 0\nli", id="nine bytes"),
        pytest.param(Selection(tail=3, limit_bytes=7), b"line 7\n", id="the first bytes of the last lines"),
    ],
)
async def test_a_selection_of_a_finished_log(log: Path, selection: Selection, expected: bytes) -> None:
    numbered(log, 10)
    assert await collected(log, selection) == expected


async def test_since_leaves_out_older_lines(log: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    lines = [f"{stamp(int((start + timedelta(seconds=n)).timestamp()) * 10**9)} stdout F line {n}\n" for n in range(5)]
    log.write_text("".join(lines))
    assert await collected(log, Selection(since=start + timedelta(seconds=3))) == b"line 3\nline 4\n"
    assert await collected(log, Selection(since=start + timedelta(seconds=3), tail=1)) == b"line 4\n"
    assert await collected(log, Selection(since=start + timedelta(seconds=9))) == b""


async def test_timestamps_stand_before_each_line(log: Path) -> None:
    numbered(log, 2)
    text = (await collected(log, Selection(timestamps=True))).decode()
    assert re.fullmatch(r"(\S+\.\d{9}Z line \d\n){2}", text)


async def test_a_log_that_is_not_there_is_empty(log: Path) -> None:
    assert await collected(log, Selection(follow=True)) == b""


async def test_the_previous_instance_is_another_file(log: Path) -> None:
    numbered(log, 1)
    later = log.with_name("1.log")
    numbered(later, 3)
    assert await collected(log, Selection()) == b"line 0\n"
    assert await collected(later, Selection(tail=1)) == b"line 2\n"


@pytest.mark.parametrize("tail", [1, 7, 150, 300])
async def test_the_size_is_bounded_and_the_newest_lines_are_kept(log: Path, tail: int) -> None:
    numbered(log, 2000, file_limit=10_000)
    files = sorted(path.name for path in log.parent.iterdir())
    assert files == ["0.log", "0.log.1"]
    assert all(path.stat().st_size <= 10_000 for path in log.parent.iterdir())
    newest = (await collected(log, Selection(tail=tail))).splitlines()
    assert newest == [b"line %d" % number for number in range(2000 - tail, 2000)]
    everything = (await collected(log, Selection())).splitlines()
    assert everything == [b"line %d" % number for number in range(2000 - len(everything), 2000)]


async def test_a_follower_gets_lines_as_they_come_and_finishes_with_the_container(log: Path) -> None:
    ended = False
    numbered(log, 3)
    following = logs.read(log, Selection(follow=True, tail=1), lambda: ended)
    async with asyncio.timeout(120):
        assert await anext(following) == b"line 2\n"
        with journal(log) as writing:
            for number in range(3, 6):
                writing.write("stdout", b"line %d\n" % number)
                assert await anext(following) == b"line %d\n" % number
            writing.write("stderr", b"the end")
        ended = True
        assert [piece async for piece in following] == [b"the end\n"]


async def test_a_follower_stops_at_its_limit(log: Path) -> None:
    numbered(log, 3)
    async with asyncio.timeout(120):
        assert await collected(log, Selection(follow=True, limit_bytes=8), lambda: False) == b"line 0\nl"


async def test_a_follower_that_came_first_gets_the_first_line(log: Path) -> None:
    ended = False
    following = logs.read(log, Selection(follow=True), lambda: ended)
    async with asyncio.timeout(120):
        waiting = asyncio.ensure_future(anext(following))
        await asyncio.sleep(0)
        numbered(log, 1)
        assert await waiting == b"line 0\n"
        ended = True
        assert [piece async for piece in following] == []


async def test_a_follower_survives_rotation_without_loss(log: Path) -> None:
    finished = False
    following = logs.read(log, Selection(follow=True), lambda: finished)
    seen = b""
    async with asyncio.timeout(120):
        with journal(log, file_limit=2000) as writing:
            for number in range(600):
                writing.write("stdout", b"line %d\n" % number)
                while number % 40 == 0 and seen.count(b"\n") <= number:
                    seen += await anext(following)
        finished = True
        seen += b"".join([piece async for piece in following])
    assert seen == b"".join(b"line %d\n" % number for number in range(600))


@pytest.mark.parametrize(
    ("written", "fall_back", "expected"),
    [
        pytest.param("it is full", True, "it is full", id="what the container wrote"),
        pytest.param("", False, "", id="nothing, and no fallback asked for"),
        pytest.param("", True, "line 0\nline 1\nline 2\n", id="the end of the log"),
        pytest.param("x" * 5000, False, "x" * 4096, id="at most 4096 bytes"),
        pytest.param(None, False, "", id="no file at all"),
    ],
)
def test_termination_messages(log: Path, written: str | None, fall_back: bool, expected: str) -> None:
    numbered(log, 3)
    file = log.with_name("message")
    if written is not None:
        file.write_text(written)
    assert termination_message(file, fall_back_to=log if fall_back else None) == expected


def test_a_termination_message_from_the_log_keeps_the_newest_2048_bytes(log: Path) -> None:
    numbered(log, 1000)
    message = termination_message(log.with_name("message"), fall_back_to=log)
    assert message.splitlines() == [f"line {number}" for number in range(920, 1000)]
    with journal(log) as writing:
        writing.write("stdout", b"y" * 5000 + b"\n")
    assert termination_message(log.with_name("message"), fall_back_to=log) == "y" * 2047 + "\n"
