"""Workers: what a pass returns or raises decides when the key comes back."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs
from tests.kube.world import TOYS, Toy, key, toy, until

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.controller import Controller, Wake, owners
from aim_engine.kube.errors import TooManyRequests
from aim_engine.kube.informer import Informer
from aim_engine.kube.metrics import Metrics
from aim_engine.kube.resource import PODS
from aim_engine.kube.store import Change
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key, ObjectMeta, OwnerReference

pytestmark = pytest.mark.looptime

Reconcile = Callable[[Key], Awaitable[float | None]]


def informer() -> Informer[Toy]:
    return Informer(Client(Connection(server="http://unused")), TOYS, Toy)


def raw(manifest: dict[str, object]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(manifest))


@asynccontextmanager
async def controlled(reconcile: Reconcile, metrics: Metrics | None = None) -> AsyncGenerator[Controller]:
    controller = Controller("toy", informer(), reconcile, timings=Timings(), metrics=metrics)
    async with asyncio.TaskGroup() as group:
        group.create_task(controller.run())
        yield controller
        controller.stop()


async def test_the_next_look_comes_exactly_when_the_pass_asked_for_it():
    times: list[float] = []

    async def reconcile(_: Key) -> float | None:
        times.append(asyncio.get_running_loop().time())
        return {1: 0.0, 2: 60.0}.get(len(times))

    async with controlled(reconcile) as controller:
        controller.queue.wake(key("a"))
        await until(lambda: len(times) == 3, 100, every=1)
    assert times[1] - times[0] == pytest.approx(0.0, abs=0.01)
    assert times[2] - times[1] == pytest.approx(60.0, abs=0.01)


async def test_a_failing_object_backs_off_and_never_stops_the_others():
    seen: list[str] = []

    async def reconcile(item: Key) -> None:
        seen.append(item.name)
        if item.name == "bad":
            raise ZeroDivisionError("by accident")

    with capture_logs() as logs:
        async with controlled(reconcile) as controller:
            controller.queue.wake(key("bad"))
            await until(lambda: seen.count("bad") == 5)
            controller.queue.wake(key("good"))
            await until(lambda: "good" in seen)
    assert {entry["error"] for entry in logs if entry["log_level"] == "error"} == {"ZeroDivisionError: by accident"}


async def test_a_busy_server_is_given_the_time_it_asks_for():
    times: list[float] = []

    async def reconcile(_: Key) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) == 1:
            raise TooManyRequests("busy", code=429, retry_after=17.0)

    async with controlled(reconcile) as controller:
        controller.queue.wake(key("a"))
        await until(lambda: len(times) == 2, 100, every=1)
    assert times[1] - times[0] == pytest.approx(17.0, abs=0.1)


async def test_a_pass_that_hangs_is_ended_and_tried_again():
    passes = 0

    async def reconcile(_: Key) -> None:
        nonlocal passes
        passes += 1
        if passes == 1:
            await asyncio.sleep(100_000)

    with capture_logs() as logs:
        async with controlled(reconcile) as controller:
            controller.queue.wake(key("a"))
            await until(lambda: passes == 2, 1000, every=10)
    assert "took longer than 300 s" in logs[0]["error"]


async def test_a_timeout_of_something_else_is_not_told_as_that_of_the_pass():
    tried: list[Key] = []

    async def reconcile(item: Key) -> None:
        tried.append(item)
        if len(tried) == 1:
            raise TimeoutError("the door stayed shut")

    with capture_logs() as logs:
        async with controlled(reconcile) as controller:
            controller.queue.wake(key("a"))
            await until(lambda: len(tried) == 2)
    assert logs[0]["error"] == "TimeoutError: the door stayed shut"


async def test_eight_objects_are_worked_on_at_once_but_never_one_twice():
    running: set[Key] = set()
    most = 0

    async def reconcile(item: Key) -> None:
        nonlocal most
        assert item not in running
        running.add(item)
        most = max(most, len(running))
        await asyncio.sleep(0.01)
        running.discard(item)

    async with controlled(reconcile) as controller:
        for round_ in range(3):
            for number in range(40):
                controller.queue.wake(key(f"{number}"))
            await asyncio.sleep(0.001 * round_)
        await until(lambda: controller.queue.idle)
    assert most == 8


async def test_log_lines_of_a_pass_say_whose_they_are():
    bound: list[dict[str, object]] = []

    async def reconcile(_: Key) -> None:
        bound.append(get_contextvars())

    async with controlled(reconcile) as controller:
        controller.queue.wake(key("a"))
        await until(lambda: bool(bound))
    assert bound[0].pop("reconcileID")
    assert bound == [{"controller": "toy", "controllerKind": "Toy", "namespace": "team", "name": "a"}]


async def test_every_object_is_looked_at_again_after_ten_hours():
    seen: list[Key] = []

    async def reconcile(item: Key) -> None:
        seen.append(item)

    source = informer()
    source.store.put(Toy(metadata=ObjectMeta(namespace="team", name="a", resource_version="1")))
    controller = Controller("toy", source, reconcile, timings=Timings())
    async with asyncio.TaskGroup() as group:
        group.create_task(controller.run())
        await asyncio.sleep(11 * 3600)
        controller.stop()
    assert seen == [key("a")]


async def test_a_change_wakes_what_the_map_says_and_owners_old_and_new():
    children = informer()
    controller = Controller("toy", informer(), lambda _: asyncio.sleep(0), wakes=[Wake(children, owners(TOYS))])

    def child(version: int, owner: str, kind: str = "Toy") -> Toy:
        reference = OwnerReference(api_version=TOYS.api_version, kind=kind, name=owner, uid="u")
        return Toy(
            metadata=ObjectMeta(
                namespace="team", name="c", resource_version=str(version), owner_references=(reference,)
            )
        )

    for change in (
        Change(key("c"), child(1, "before"), child(2, "after")),
        Change(key("c"), None, child(1, "pod", "Pod")),
    ):
        for listener in children._listeners:
            listener(change)
    assert [await controller.queue.take() for _ in range(len(controller.queue))] == [key("before"), key("after")]
    assert list(owners(PODS)(Change(key("c"), None, child(1, "pod", "Pod")))) == [], (
        "another group's Pod is another kind"
    )


async def test_a_change_nobody_can_read_wakes_everything_and_ends_nothing():
    primary, others = informer(), informer()

    def confused(_: Change[Toy]) -> list[Key]:
        raise KeyError("no such label")

    controller = Controller("toy", primary, lambda _: asyncio.sleep(0), wakes=[Wake(others, confused)])
    for name in ("a", "b"):
        primary.learn(raw(toy(name, 1)))
    while len(controller.queue):
        controller.queue.done(await controller.queue.take())
    with capture_logs() as logs:
        others.learn(raw(toy("odd", 2)))
    assert [await controller.queue.take() for _ in range(len(controller.queue))] == [key("a"), key("b")]
    assert [(entry["object"], entry["error"]) for entry in logs] == [("team/odd", "KeyError: 'no such label'")]


async def test_metrics_have_the_promised_names():
    answers = {"good": [None], "later": [60.0], "again": [0.0, None]}

    async def reconcile(item: Key) -> float | None:
        return answers[item.name].pop(0)

    metrics = Metrics("https://127.0.0.1:6443")
    async with controlled(reconcile, metrics) as controller:
        for name in ("good", "bad", "later", "again"):
            controller.queue.wake(key(name))
        await asyncio.sleep(0.002)
    value = metrics.registry.get_sample_value
    for result, number in {"success": 2, "error": 1, "requeue": 1, "requeue_after": 1}.items():
        labels = {"controller": "toy", "result": result}
        assert value("controller_runtime_reconcile_total", labels) == number, result
    assert value("controller_runtime_reconcile_errors_total", {"controller": "toy"}) == 1
    assert value("controller_runtime_reconcile_time_seconds_count", {"controller": "toy"}) == 5
    assert value("controller_runtime_max_concurrent_reconciles", {"controller": "toy"}) == 8
    assert value("controller_runtime_active_workers", {"controller": "toy"}) == 0
    queue = {"name": "toy", "controller": "toy"}
    assert value("workqueue_depth", queue) == 0
    assert value("workqueue_adds_total", queue) == 5
    assert value("workqueue_retries_total", queue) == 1
    assert value("workqueue_queue_duration_seconds_count", queue) == 5
    assert value("workqueue_work_duration_seconds_count", queue) == 5
    assert value("workqueue_unfinished_work_seconds", queue) == 0
    assert value("workqueue_longest_running_processor_seconds", queue) == 0
