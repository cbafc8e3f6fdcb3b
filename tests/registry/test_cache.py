"""What is remembered, for how long, and by whom it is fetched."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.registry.cache import Expiring, Turns, Weighed


def test_the_least_recently_used_goes_first() -> None:
    cache: Weighed[str, int] = Weighed(3)
    for number, name in enumerate("abc"):
        cache.put(name, number)
    cache.get("a")
    cache.put("d", 3)
    assert [cache.get(name) for name in "abcd"] == [0, None, 2, 3]


def test_what_is_too_heavy_is_not_kept() -> None:
    cache: Weighed[str, int] = Weighed(10)
    cache.put("a", 1, weight=4)
    cache.put("b", 2, weight=11)
    assert (cache.get("a"), cache.get("b")) == (1, None)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=60))
def test_the_weight_stays_below_its_bound(puts: list[tuple[int, int]]) -> None:
    cache: Weighed[int, int] = Weighed(20)
    weights: dict[int, int] = {}
    for key, weight in puts:
        cache.put(key, weight, weight)
        weights[key] = weight
        assert sum(held for key in weights if (held := cache.get(key))) <= 20
        assert cache.get(key) == weight


@pytest.mark.looptime
async def test_a_value_ends_at_its_time() -> None:
    cache: Expiring[str, int] = Expiring(10)
    cache.put("a", 1, 5.0)
    cache.put("never", 1, 0.0)
    assert cache.get("never") is None
    await asyncio.sleep(4.9)
    assert cache.get("a") == 1
    assert round(cache.seconds_left("a"), 1) == 0.1
    await asyncio.sleep(0.2)
    assert (cache.get("a"), cache.seconds_left("a")) == (None, 0.0)


@pytest.mark.looptime
async def test_what_has_ended_does_not_pile_up() -> None:
    cache: Expiring[int, int] = Expiring(10)
    for number in range(5):
        cache.put(number, number, 5.0)
    await asyncio.sleep(6)
    cache.put(5, 5, 5.0)
    assert len(cache) == 1
    for number in range(20):
        cache.put(number, number, 5.0)
    assert (len(cache), cache.get(9), cache.get(10)) == (10, None, 10)


@pytest.mark.looptime
async def test_one_works_while_the_others_wait() -> None:
    turns: Turns[str] = Turns()
    found: dict[str, int] = {}
    calls = 0

    async def work() -> int:
        nonlocal calls
        calls += 1
        await asyncio.sleep(1)
        found["a"] = 7
        return 7

    results = await asyncio.gather(*(turns.once("a", lambda: found.get("a"), work) for _ in range(20)))
    assert (results, calls) == ([7] * 20, 1)


@pytest.mark.looptime
async def test_the_next_takes_over_from_one_who_is_cancelled() -> None:
    turns: Turns[str] = Turns()
    calls = 0

    async def work() -> int:
        nonlocal calls
        calls += 1
        await asyncio.sleep(10)
        return calls

    first, second = (asyncio.create_task(turns.once("a", lambda: None, work)) for _ in range(2))
    await asyncio.sleep(1)
    first.cancel()
    assert await second == 2
    assert first.cancelled()
