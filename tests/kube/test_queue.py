"""The queue and the workers, with loop time instead of waiting."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aim_engine.kube.backoff import pause
from aim_engine.kube.metrics import Metrics
from aim_engine.kube.queue import Closed, Queue
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key

A, B, C = Key("team", "a"), Key("team", "b"), Key("team", "c")

pytestmark = pytest.mark.looptime


@pytest.fixture
def queue() -> Queue:
    return Queue("toy", Timings(), Metrics())


async def test_a_key_waits_once_however_often_it_is_woken(queue: Queue):
    for key in (A, B, A, A, B):
        queue.wake(key)
    assert [await queue.take(), await queue.take()] == [A, B]
    assert len(queue) == 0


async def test_a_key_woken_while_a_worker_has_it_comes_after_those_who_wait(queue: Queue):
    queue.wake(A)
    assert await queue.take() == A
    queue.wake(B)
    queue.wake(A)
    queue.wake(A)
    assert await queue.take() == B, "no second worker gets a"
    queue.done(A)
    assert await queue.take() == A
    queue.done(A)
    assert len(queue) == 0


async def test_a_wake_in_the_future_comes_exactly_then(queue: Queue):
    loop = asyncio.get_running_loop()
    started = loop.time()
    queue.wake_after(A, 2.5)
    queue.wake_after(B, 1.5)
    assert await queue.take() == B
    assert loop.time() - started == pytest.approx(1.5)
    assert await queue.take() == A
    assert loop.time() - started == pytest.approx(2.5)


@pytest.mark.parametrize(("first", "second"), [(10.0, 3.0), (3.0, 10.0)], ids=["earlier later", "later earlier"])
async def test_of_two_wakes_in_the_future_the_earlier_counts(queue: Queue, first: float, second: float):
    started = asyncio.get_running_loop().time()
    queue.wake_after(A, first)
    queue.wake_after(A, second)
    await queue.take()
    assert asyncio.get_running_loop().time() - started == pytest.approx(3.0)
    queue.done(A)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(100):
            await queue.take()


async def test_a_pass_that_comes_earlier_replaces_a_wake_in_the_future(queue: Queue):
    queue.wake_after(A, 10.0)
    queue.wake(A)
    await queue.take()
    queue.done(A)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(100):
            await queue.take()


async def test_failures_double_the_wait_up_to_the_limit_and_success_forgets_them(queue: Queue):
    waits: list[float] = []
    for _ in range(25):
        waits.append(queue.retry(A))
        await queue.take()
        queue.done(A)
    for number, wait in enumerate(waits):
        whole = min(1000.0, 0.005 * 2**number)
        assert whole / 2 <= wait <= whole
    queue.settle(A)
    assert queue.retry(A) <= 0.005


async def test_a_pass_before_its_time_that_fails_again_does_not_make_the_wait_grow(queue: Queue):
    for _ in range(10):
        queue.retry(A)
        await queue.take()
        queue.done(A)
    loop = asyncio.get_running_loop()
    due = loop.time() + queue.retry(A)
    for _ in range(5):
        queue.wake(A)
        await queue.take()
        queue.retry(A)
        queue.done(A)
    assert await queue.take() == A
    assert loop.time() == pytest.approx(due)
    assert queue.retry(A) <= 0.005 * 2**11, "only the eleven that came in their time count"


async def test_failures_of_one_key_do_not_slow_another(queue: Queue):
    for _ in range(20):
        queue.retry(A)
    assert queue.retry(B) <= 0.005


async def test_a_wait_the_server_asked_for_is_kept(queue: Queue):
    assert queue.retry(A, at_least=30.0) == 30.0


async def test_the_end_reaches_every_worker_and_nothing_more_is_given_out(queue: Queue):
    waiting = [asyncio.ensure_future(queue.take()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, Closed) for result in results)
    queue.wake(A)
    queue.wake_after(B, 1)
    with pytest.raises(Closed):
        await queue.take()


def test_jitter_spreads_those_who_failed_together():
    assert len({pause(5, 1.0, 1000.0) for _ in range(100)}) > 90


STEPS = st.lists(
    st.tuples(st.sampled_from(["wake", "later", "retry", "settle", "take", "done"]), st.sampled_from([A, B, C])),
    max_size=60,
)


@given(STEPS)
@settings(max_examples=200, deadline=None)
def test_in_any_order_of_calls_no_key_is_lost_doubled_or_with_two_workers(steps: list[tuple[str, Key]]):
    async def play() -> None:
        queue = Queue("toy", Timings(), Metrics())
        owed: set[Key] = set()
        held: set[Key] = set()
        for step, key in steps:
            if step == "wake":
                queue.wake(key)
                owed.add(key)
            elif step == "later":
                queue.wake_after(key, 0.0)
                owed.add(key)
            elif step == "retry":
                queue.retry(key)
                owed.add(key)
            elif step == "settle":
                queue.settle(key)
            elif step == "take" and len(queue):
                taken = await queue.take()
                assert taken not in held
                held.add(taken)
                owed.discard(taken)
            elif step == "done" and key in held:
                held.discard(key)
                queue.done(key)
        for key in held:
            queue.done(key)
        seen: Counter[Key] = Counter()
        async with asyncio.timeout(120):
            while owed - set(seen):
                taken = await queue.take()
                seen[taken] += 1
                queue.done(taken)

    asyncio.run(play())
