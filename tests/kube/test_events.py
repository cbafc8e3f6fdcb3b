"""What becomes of events: counted, combined, cut off; and that writing them never hurts."""

import asyncio
import tracemalloc

import pytest
from aiohttp import web
from tests.durations import shortened
from tests.kube.peer import Answer, peer, refuses, says

from aim_engine.kube.client import Client
from aim_engine.kube.events import LONGEST, Correlator, Occurrence, Recorder, Reference, Source
from aim_engine.kube.timings import Timings

ABOUT = Reference("v1", "Toy", "team", "one", "uid")
FAST = shortened(0.01)


def broken(
    message: str, reason: str = "Broken", about: Reference = ABOUT, source: str = "toy-controller"
) -> Occurrence:
    return Occurrence(Source(source), about, "Warning", reason, message)


@pytest.fixture
def correlator() -> Correlator:
    return Correlator(Timings())


def test_the_same_event_is_counted_under_one_name(correlator: Correlator):
    first, second, third = (correlator.correlate(broken("x"), now) for now in (0, 1, 5000))
    assert first and second and third
    assert first.name == second.name == third.name
    assert [first.count, second.count, third.count] == [1, 2, 3]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(broken("y"), id="another message"),
        pytest.param(broken("x", reason="Other"), id="another reason"),
        pytest.param(broken("x", about=ABOUT._replace(name="two")), id="another object"),
        pytest.param(broken("x", source="other"), id="another source"),
        pytest.param(broken("x")._replace(level="Normal"), id="another level"),
    ],
)
def test_another_event_has_another_name(correlator: Correlator, other: Occurrence):
    first, second = correlator.correlate(broken("x"), 0), correlator.correlate(other, 0)
    assert first and second and first.name != second.name
    assert second.count == 1


def test_more_than_ten_that_differ_in_their_message_are_combined(correlator: Correlator):
    written = [correlator.correlate(broken(f"m{number}"), number) for number in range(14)]
    messages = [one.occurrence.message for one in written if one]
    assert messages[:10] == [f"m{number}" for number in range(10)]
    assert messages[10:] == [f"(combined from similar events): m{number}" for number in range(10, 14)]
    assert [one.count for one in written if one][10:] == [1, 2, 3, 4]
    assert len({one.name for one in written if one}) == 11


def test_a_known_message_is_still_counted_by_itself_while_others_are_combined(correlator: Correlator):
    for number in range(12):
        correlator.correlate(broken(f"m{number}"), 0)
    again = correlator.correlate(broken("m3"), 1)
    assert again and (again.occurrence.message, again.count) == ("m3", 2)


def test_after_ten_quiet_minutes_messages_are_their_own_again(correlator: Correlator):
    for number in range(12):
        correlator.correlate(broken(f"m{number}"), 0)
    later = correlator.correlate(broken("m12"), 601)
    assert later and later.occurrence.message == "m12"


def test_a_burst_of_25_and_then_one_per_five_minutes(correlator: Correlator):
    written = [correlator.correlate(broken("x"), 0) is not None for _ in range(40)]
    assert written == [True] * 25 + [False] * 15
    times = (299, 301, 302, 599, 601)
    assert [correlator.correlate(broken("x"), now) is not None for now in times] == [False, True, False, False, True]
    other = correlator.correlate(broken("x", about=ABOUT._replace(name="two")), 0)
    assert other, "another object has a burst of its own"


def test_what_was_cut_off_is_counted_all_the_same(correlator: Correlator):
    for _ in range(40):
        correlator.correlate(broken("x"), 0)
    later = correlator.correlate(broken("x"), 301)
    assert later and later.count == 41


def test_the_past_is_kept_for_a_limited_number_of_objects(correlator: Correlator):
    for number in range(10_000):
        correlator.correlate(broken("x", about=ABOUT._replace(name=f"o{number}")), 0)
    assert len(correlator._known) == len(correlator._buckets) == len(correlator._series) == 4096


def test_the_past_weighs_little_however_long_messages_are(correlator: Correlator):
    tracemalloc.start()
    try:
        for number in range(2_000):
            about = ABOUT._replace(name=f"o{number // 20}")
            correlator.correlate(broken(f"{number}" + "x" * (LONGEST - 10), about=about), 0)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100 * LONGEST


@pytest.mark.parametrize(
    ("script", "methods"),
    [
        pytest.param([says({})], ["POST", "PATCH"], id="written and counted"),
        pytest.param([refuses(503), says({})], ["POST", "POST", "PATCH"], id="a busy server is tried again"),
        pytest.param([refuses(403, "Forbidden")], ["POST", "POST"], id="refused: given up, and the next starts anew"),
        pytest.param(
            [says({}), refuses(404), says({})], ["POST", "PATCH", "POST"], id="expired on the server: made anew"
        ),
    ],
)
async def test_failures_stay_here(script: list[Answer], methods: list[str]):
    async with peer(*script) as server, Client(server.connection, FAST) as client, asyncio.TaskGroup() as group:
        recorder = Recorder(client)
        running = group.create_task(recorder.run())
        for _ in range(2):
            recorder.record("toy-controller", ABOUT, "Warning", "Broken", "x")
        await recorder.drain()
        running.cancel()
    assert [seen.method for seen in server.seen] == methods


@pytest.mark.parametrize(("work_waits", "at_once"), [(True, 1), (False, 4)])
async def test_while_work_waits_one_event_is_written_at_a_time(work_waits: bool, at_once: int):
    under_way, most, all_there = 0, 0, asyncio.Event()

    async def answer(_: web.Request) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == at_once:
            all_there.set()
        await all_there.wait()
        under_way -= 1
        return web.json_response({})

    async with peer(answer) as server, Client(server.connection, FAST) as client, asyncio.TaskGroup() as group:
        recorder = Recorder(client)
        recorder.give_way(lambda: work_waits)
        running = group.create_task(recorder.run())
        for number in range(40):
            recorder.record("toy-controller", ABOUT._replace(name=str(number)), "Normal", "Fine", "x")
        await recorder.drain()
        running.cancel()
    assert (len(server.seen), most) == (40, at_once)


async def test_too_many_waiting_events_are_dropped_not_waited_for():
    async with peer(says({})) as server, Client(server.connection, FAST) as client:
        recorder = Recorder(client, most_waiting=3)
        for number in range(10):
            recorder.record("toy-controller", ABOUT, "Normal", "Fine", str(number))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(recorder.run())
            await recorder.drain()
            running.cancel()
    assert len(server.seen) == 3
