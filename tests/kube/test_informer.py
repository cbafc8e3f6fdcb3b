"""The informer against a peer whose lists and watches fail in every way the real ones do."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs
from tests.durations import shortened
from tests.kube.peer import Answer, Peer, hangs_up, peer, refuses, says, streams, waits
from tests.kube.world import TOYS, Toy, bookmark, event, key, listing, toy, until

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.informer import Informer
from aim_engine.kube.selection import PartialObject, Selection
from aim_engine.kube.store import Change
from aim_engine.kube.timings import Timings

FAST = replace(shortened(0.01), call=3.0)
SILENT = streams(then="silent")


@asynccontextmanager
async def informed(
    *script: Answer, timings: Timings = FAST
) -> AsyncGenerator[tuple[Informer[Toy], Peer, list[Change[Toy]]]]:
    """An informer that runs against a script, the peer, and all changes it told."""
    async with peer(*script) as server, Client(server.connection, timings) as client, asyncio.TaskGroup() as group:
        informer = Informer(client, TOYS, Toy)
        changes: list[Change[Toy]] = []
        informer.listen(changes.append)
        running = group.create_task(informer.run())
        yield informer, server, changes
        running.cancel()


def sizes(informer: Informer[Toy]) -> dict[str, int]:
    return {item.metadata.name: item.spec.size for item in informer.store}


def skipped(logs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The objects that were left out of the store, with what is wrong, as the log tells it."""
    return {line["object"]: line["error"] for line in logs if line["event"] == "object skipped"}


async def test_a_list_and_then_every_event_reaches_the_store():
    events = (
        event("ADDED", toy("b", 6, 2)),
        event("MODIFIED", toy("a", 7, 3)),
        event("DELETED", toy("b", 8, 2)),
        bookmark(20),
    )
    async with informed(says(listing(5, toy("a", 4, 1))), streams(*events, then="silent")) as (
        informer,
        server,
        changes,
    ):
        await until(lambda: len(changes) == 4)
        assert sizes(informer) == {"a": 3}
        assert informer.synced and informer.installed and informer.problem is None
        assert [(c.key.name, c.old and c.old.spec.size, c.new and c.new.spec.size) for c in changes] == [
            ("a", None, 1),
            ("b", None, 2),
            ("a", 1, 3),
            ("b", 2, None),
        ]
        asked = server.seen[1].query
        assert (asked["resourceVersion"], asked["allowWatchBookmarks"]) == ("5", "true")


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(streams(bookmark(9)), id="the stream ends"),
        pytest.param(streams(bookmark(9), then="cut"), id="the stream is cut in the middle of an event"),
        pytest.param(streams(bookmark(9), then="half-closed"), id="the server's half of the connection is closed"),
        pytest.param(streams(bookmark(9), then="silent"), id="the stream falls silent"),
        pytest.param(streams(bookmark(9), b"}{ nonsense\n"), id="the stream turns into nonsense"),
    ],
)
async def test_a_watch_that_breaks_is_taken_up_where_it_was(first: Answer):
    script = (says(listing(5)), first, streams(event("ADDED", toy("a", 10, 1)), then="silent"))
    async with informed(*script) as (informer, server, _):
        await until(lambda: sizes(informer) == {"a": 1})
        assert [seen.query.get("resourceVersion") for seen in server.seen[:3]] == [None, "5", "9"]


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(refuses(500, "InternalError"), id="500"),
        pytest.param(refuses(503, "ServiceUnavailable"), id="503"),
        pytest.param(refuses(429, "TooManyRequests"), id="429"),
        pytest.param(refuses(401, "Unauthorized"), id="401 while a token is rotated"),
        pytest.param(hangs_up, id="a reset connection"),
        pytest.param(waits(60, says({})), id="no answer in time"),
    ],
)
async def test_bursts_of_failures_on_list_and_watch_are_outlived(failure: Answer):
    script = (failure, failure, says(listing(5)), failure, failure, streams(event("ADDED", toy("a", 6)), then="silent"))
    async with informed(*script) as (informer, server, _):
        await until(lambda: sizes(informer) == {"a": 0})
        assert server.seen[5].query["resourceVersion"] == "5", "a failed watch does not list again"


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(refuses(410, "Expired"), id="410 as an answer"),
        pytest.param(streams(event("ERROR", {"code": 410, "reason": "Expired"})), id="410 as an event"),
        pytest.param(refuses(504, "Timeout", "Too large resource version"), id="a version from before a restore"),
        pytest.param(refuses(400, "BadRequest"), id="a version the server can't read"),
    ],
)
async def test_a_lost_place_in_the_stream_means_a_new_list_that_tells_deletions(lost: Answer):
    first = says(listing(5, toy("kept", 1), toy("changed", 2, 1), toy("deleted", 3)))
    second = says(listing(50, toy("kept", 1), toy("changed", 40, 2), toy("born", 41)))
    async with informed(first, lost, second, SILENT) as (informer, _, changes):
        await until(lambda: "born" in sizes(informer))
        assert sizes(informer) == {"kept": 0, "changed": 2, "born": 0}
        told = {(change.key.name, change.old is None, change.new is None) for change in changes[3:]}
        assert told == {("deleted", False, True), ("changed", False, False), ("born", True, False)}


async def test_a_server_restored_from_a_backup_is_believed():
    first, second = listing(500, toy("a", 400, 4), toy("b", 450)), listing(100, toy("a", 90, 1))
    async with informed(says(first), refuses(410), says(second), SILENT) as (informer, _, __):
        await until(lambda: sizes(informer) == {"a": 1})


async def test_a_kind_that_is_installed_later_is_picked_up_and_one_that_vanishes_is_noticed():
    script = (
        refuses(404),
        refuses(404),
        says(listing(5, toy("a", 4))),
        streams(),
        refuses(404),
        refuses(404),
        says(listing(9, toy("b", 8))),
        SILENT,
    )
    states: list[tuple[bool | None, list[str]]] = []
    async with informed(*script) as (informer, _, changes):
        informer.listen_installed(lambda: states.append((informer.installed, [])))
        await informer.wait_synced()
        assert informer.installed is False and len(informer.store) == 0
        await until(lambda: sizes(informer) == {"b": 0})
    assert [state for state, _ in states] == [False, True, False, True]
    assert [(c.key.name, c.new is None) for c in changes] == [("a", False), ("a", True), ("b", False)]


async def test_one_missing_answer_does_not_empty_the_store():
    script = (says(listing(5, toy("a", 4))), refuses(404), says(listing(6, toy("a", 4))), SILENT)
    async with informed(*script) as (informer, server, changes):
        await until(lambda: len(server.seen) == 4)
        assert sizes(informer) == {"a": 0}
        assert len(changes) == 1


async def test_an_object_with_unparsable_content_is_reported_and_the_rest_goes_on():
    first = listing(5, toy("a", 1), toy("bad", 2, "huge"), toy("c", 3))
    events = (
        event("MODIFIED", toy("a", 6, ["?"])),
        event("MODIFIED", toy("c", 7, 7)),
        event("ADDED", toy("d", 8, None)),
    )
    with capture_logs() as logs:
        async with informed(says(first), streams(*events, then="silent")) as (informer, _, __):
            await until(lambda: skipped(logs).keys() == {"team/bad", "team/a", "team/d"})
            assert sizes(informer) == {"c": 7}
    assert "spec.size" in skipped(logs)["team/bad"]


async def test_an_object_that_was_mended_comes_back():
    mended = event("MODIFIED", toy("bad", 6, 1))
    async with informed(says(listing(5, toy("bad", 2, "huge"))), streams(mended, then="silent")) as (informer, _, __):
        await until(lambda: sizes(informer) == {"bad": 1})


async def test_an_answer_to_our_own_write_is_known_at_once_and_never_outlives_a_deletion():
    events = (event("ADDED", toy("b", 8)), event("DELETED", toy("b", 9)))
    async with informed(says(listing(5, toy("a", 4, 1))), streams(*events, then="silent")) as (informer, _, changes):
        await until(lambda: len(changes) == 3)
        informer.learn(raw(toy("a", 10, 2)))
        informer.learn(raw(toy("b", 8)))
        informer.learn(raw(toy("c", 11, 3)))
        assert sizes(informer) == {"a": 2, "c": 3}, "b was deleted before its answer was read"


@pytest.mark.parametrize(
    ("selection", "known"),
    [
        pytest.param(Selection(), True, id="all objects"),
        pytest.param(Selection("team"), True, id="its namespace"),
        pytest.param(Selection("other"), False, id="another namespace"),
        pytest.param(Selection(labels="colour=red"), True, id="its label"),
        pytest.param(Selection(labels="colour = red , size=big"), False, id="one label of two"),
        pytest.param(Selection(labels="colour in (red)"), False, id="labels too intricate to tell"),
        pytest.param(Selection(fields="metadata.name=a"), False, id="a field"),
    ],
)
def test_an_answer_to_our_own_write_is_learned_if_the_watch_will_surely_tell_of_it(selection: Selection, known: bool):
    informer = Informer(Client(Connection(server="http://unused")), TOYS, Toy, selection=selection)
    informer.learn(raw(toy("a", 10, labels={"colour": "red"})))
    assert (key("a") in informer.store) is known


async def test_what_a_write_taught_survives_older_news():
    released = asyncio.Event()

    async def late(request: object) -> object:
        await released.wait()
        old = (event("DELETED", toy("a", 6)), event("ADDED", toy("a", 7, 1)), event("MODIFIED", toy("a", 9, 2)))
        return await streams(*old, bookmark(30), then="silent")(request)  # pyright: ignore[reportArgumentType]

    async with informed(says(listing(5, toy("a", 4))), late) as (informer, _, changes):  # pyright: ignore[reportArgumentType]
        await informer.wait_synced()
        informer.learn(raw(toy("a", 9, 2)))
        released.set()
        await until(lambda: informer._since == "30")
        assert [change.new and change.new.spec.size for change in changes] == [0, 2]


async def test_a_hopeless_stream_is_not_hammered():
    """A peer that accepts every watch and ends it at once gets fewer and fewer of them."""
    async with informed(says(listing(5)), streams(), timings=Timings()) as (_, server, _):
        await until(lambda: len(server.seen) >= 2)
        await asyncio.sleep(1.0)
        assert 2 <= len(server.seen) <= 8


async def test_a_stream_that_is_silent_again_and_again_is_resumed_without_growing_pauses():
    async with informed(says(listing(5)), SILENT) as (informer, server, _):
        await informer.wait_synced()
        await until(lambda: len(server.seen) >= 6)
        await until(lambda: informer.problem is None)
        assert informer._backoff.failures <= 2


async def test_metadata_alone_can_be_watched():
    part = {"metadata": {"namespace": "team", "name": "s", "resourceVersion": "3"}}
    async with (
        peer(says(listing(5, part)), SILENT) as server,
        Client(server.connection, FAST) as client,
        asyncio.TaskGroup() as group,
    ):
        informer = Informer(client, TOYS, PartialObject, metadata_only=True, selection=Selection("team", labels="a=b"))
        running = group.create_task(informer.run())
        await until(lambda: len(server.seen) == 2)
        running.cancel()
    assert informer.store.get(key("s")) is not None
    assert "as=PartialObjectMetadataList" in server.seen[0].headers["Accept"]
    assert "as=PartialObjectMetadata;" in server.seen[1].headers["Accept"]
    assert server.seen[1].query["labelSelector"] == "a=b"
    assert server.seen[1].path.startswith("/apis/toys.example.com/v1/namespaces/team/")


def raw(item: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(item))
