"""The runtime on the real API server: late kinds, restarts, applies that change nothing, events."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.api_server import ApiServer
from tests.durations import shortened
from tests.kube import manifests
from tests.kube.extra_server import ExtraServer
from tests.kube.world import MAPS, ConfigMap, following, maps_of, until

from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.controller import Controller, Wake, owners
from aim_engine.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from aim_engine.kube.events import Recorder, Reference
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import EVENTS, Resource
from aim_engine.kube.selection import PartialObject, Selection
from aim_engine.local.control_plane import Cluster
from aim_engine.objects import Key, ObjectMeta, Wire

QUICK = shortened(0.1)


async def test_every_verb_does_what_it_says(client: Client, namespace: str):
    key = Key(namespace, "one")
    made = await client.create(MAPS, manifests.config_map(namespace, "one", a="1"), ConfigMap, manager="me")
    with pytest.raises(AlreadyExists):
        await client.create(MAPS, manifests.config_map(namespace, "one"))
    assert (await client.get(MAPS, key, ConfigMap)).data == {"a": "1"}
    assert (await client.patch(MAPS, key, {"data": {"b": "2"}}, ConfigMap)).data == {"a": "1", "b": "2"}
    operations = [{"op": "remove", "path": "/data/a"}]
    assert (await client.patch(MAPS, key, operations, ConfigMap)).data == {"b": "2"}
    stale = manifests.config_map(namespace, "one")
    stale["metadata"]["resourceVersion"] = made.metadata.resource_version
    with pytest.raises(Conflict):
        await client.replace(MAPS, stale)
    with pytest.raises(Conflict, match="conflict"):
        await client.apply(MAPS, manifests.config_map(namespace, "one", b="3"), manager="other")
    forced = await client.apply(
        MAPS, manifests.config_map(namespace, "one", b="3"), ConfigMap, manager="other", force=True
    )
    assert forced.data == {"b": "3"}
    with pytest.raises(Invalid):
        await client.create(MAPS, manifests.config_map(namespace, "NOT A NAME"))
    with pytest.raises(Conflict):
        await client.delete(MAPS, key, uid="another")
    await client.delete(MAPS, key, uid=made.metadata.uid)
    with pytest.raises(NotFound):
        await client.get(MAPS, key)
    assert await client.read("/readyz") == b"ok"


async def test_a_review_is_answered(client: Client):
    reviews = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
    review = {"apiVersion": reviews.api_version, "kind": reviews.kind, "spec": {"token": "nonsense"}}
    assert not (await client.create(reviews, review))["status"].get("authenticated")


async def test_the_store_follows_the_server(client: Client, namespace: str):
    await client.create(MAPS, manifests.config_map(namespace, "before", a="1"))
    informer = maps_of(client, namespace)
    async with following(informer):
        assert informer.store.get(Key(namespace, "before"))
        await client.create(MAPS, manifests.config_map(namespace, "later", a="1"))
        await client.patch(MAPS, Key(namespace, "before"), {"data": {"a": "2"}})
        # Every namespace is given the map kube-root-ca.crt, sooner or later.
        mine = Key(namespace, "before"), Key(namespace, "later")
        await until(lambda: [one and one.data for one in map(informer.store.get, mine)] == [{"a": "2"}, {"a": "1"}])
        await client.delete(MAPS, Key(namespace, "later"))
        await until(lambda: Key(namespace, "later") not in informer.store)


async def test_secrets_are_followed_by_their_metadata_only(client: Client, namespace: str):
    secrets = Resource("", "v1", "secrets", "Secret")
    informer = Informer(client, secrets, PartialObject, selection=Selection(namespace), metadata_only=True)
    async with following(informer):
        metadata = {"namespace": namespace, "name": "token", "labels": {"a": "b"}}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": "hidden"}}
        await client.create(secrets, secret)
        await until(lambda: Key(namespace, "token") in informer.store)
        assert [one.metadata.name for one in informer.store.labelled("a", "b")] == ["token"]
        await client.delete(secrets, Key(namespace, "token"))
        await until(lambda: len(informer.store) == 0)


def crd(group: str) -> dict[str, Any]:
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": loose}}
    names = {"plural": "toys", "singular": "toy", "kind": "Toy"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"toys.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


class Toy(Wire):
    metadata: ObjectMeta
    size: int = 0


async def test_a_kind_can_appear_vanish_and_appear_again(connection: Connection, api_server: ApiServer, namespace: str):
    group = f"{namespace}.example.com"
    toys = Resource(group, "v1", "toys", "Toy")
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    woken: list[Key] = []

    async def reconcile(key: Key) -> None:
        woken.append(key)

    async with Client(connection, QUICK) as client:
        informer = Informer(client, toys, Toy)
        maps = maps_of(client, namespace)
        controller = Controller("maps", maps, reconcile, wakes=[Wake(informer, owners(MAPS))], timings=QUICK)
        await client.create(MAPS, manifests.config_map(namespace, "map"))
        async with following(informer, maps), asyncio.TaskGroup() as group_:
            group_.create_task(controller.run())
            assert informer.installed is False
            for _ in range(2):
                woken.clear()
                api_server.call("POST", definitions, crd(group))
                await until(lambda: informer.installed is True)
                await until(lambda: Key(namespace, "map") in woken)
                manifest = {
                    "apiVersion": toys.api_version,
                    "kind": "Toy",
                    "metadata": {"namespace": namespace, "name": "t"},
                    "size": 3,
                }
                await client.create(toys, manifest)
                await until(lambda: len(informer.store) == 1)
                manifest["metadata"]["name"], manifest["size"] = "bad", "huge"
                with capture_logs() as logs:
                    await client.create(toys, manifest)
                    await until(lambda: f"{namespace}/bad" in [line.get("object") for line in logs])
                assert [toy.size for toy in informer.store] == [3]
                woken.clear()
                api_server.call("DELETE", f"{definitions}/toys.{group}")
                await until(lambda: informer.installed is False)
                assert len(informer.store) == 0
                await until(lambda: Key(namespace, "map") in woken)
            controller.stop()


async def test_an_object_is_sent_only_when_it_differs(client: Client, namespace: str):
    informer = maps_of(client, namespace, ("me",))
    applier = Applier(client)
    planned = manifests.config_map(namespace, "one", a="1", b="2")
    async with following(informer):
        assert await applier.apply(informer, planned, manager="me")
        assert not await applier.apply(informer, planned, manager="me"), "known before the watch tells"
        await client.patch(MAPS, Key(namespace, "one"), {"data": {"theirs": "x"}})
        await until(lambda: "theirs" in _data(informer, namespace))
        assert not await applier.apply(informer, planned, manager="me")
        del planned["data"]["b"]
        assert await applier.apply(informer, planned, manager="me")
        assert _data(informer, namespace) == {"a": "1", "theirs": "x"}
        await client.patch(MAPS, Key(namespace, "one"), {"data": {"a": "9"}})
        await until(lambda: _data(informer, namespace)["a"] == "9")
        with pytest.raises(Conflict):
            await applier.apply(informer, planned, manager="me")
        assert await applier.apply(informer, planned, manager="me", force=True)
    again = maps_of(client, namespace, ("me",))
    async with following(again):
        assert not await Applier(client).apply(again, planned, manager="me"), "a new process sends nothing either"


def _data(informer: Informer[ConfigMap], namespace: str) -> dict[str, str]:
    found = informer.store.get(Key(namespace, "one"))
    return found.data if found else {}


async def test_events_are_counted_combined_and_cut_off(client: Client, namespace: str):
    recorder = Recorder(client)
    about = Reference("v1", "ConfigMap", namespace, "one", "00000000-0000-0000-0000-000000000001")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(recorder.run())
        for _ in range(3):
            recorder.record("toy-controller", about, "Normal", "Ready", "all is well")
        for number in range(14):
            recorder.record("toy-controller", about, "Warning", "Broken", f"broken {number}")
        recorder.record("toy-controller", Reference("v1", "Node", "", namespace), "Normal", "Up", "x" * 50_000)
        await recorder.drain()
        running.cancel()
    events = (await client.list(EVENTS, Selection(namespace))).items
    told = sorted((event["reason"], event["message"], event["count"]) for event in events)
    assert told == sorted(
        [
            ("Ready", "all is well", 3),
            *(("Broken", f"broken {number}", 1) for number in range(10)),
            ("Broken", "(combined from similar events): broken 13", 4),
        ]
    )
    assert events[0]["source"] == {"component": "toy-controller"}
    assert events[0]["involvedObject"]["uid"] == about.uid
    of_nodes = await client.list(EVENTS, Selection("default", fields=f"involvedObject.name={namespace}"))
    assert [event["message"] for event in of_nodes.items] == ["x" * 32 * 1024], "long ones are cut, not refused"


async def test_an_api_server_that_is_killed_under_load_is_followed_again(
    cluster: Cluster, namespace: str, api_server: ApiServer
):
    """Two children per object, while the API server dies twice; in the end everything is there, once."""
    async with ExtraServer.running(cluster) as server, Client(server.connection, QUICK) as client:
        parents = Informer(client, MAPS, ConfigMap, selection=Selection(namespace, labels="role=parent"))
        children = Informer(
            client, MAPS, ConfigMap, selection=Selection(namespace, labels="role=child"), managers=("toy",)
        )
        applier = Applier(client)

        async def reconcile(key: Key) -> None:
            parent = parents.store.get(key)
            for number in range(2) if parent else ():
                child = manifests.config_map(namespace, f"{key.name}-{number}", of=key.name)
                child["metadata"]["labels"] = {"role": "child"}
                await applier.apply(children, child, manager="toy")

        controller = Controller("toy", parents, reconcile, timings=QUICK)
        async with following(parents, children), asyncio.TaskGroup() as group:
            group.create_task(controller.run())
            for number in range(60):
                if number in (20, 40):
                    await server.kill()
                    group.create_task(server.start())
                parent = manifests.config_map(namespace, f"parent-{number}")
                parent["metadata"]["labels"] = {"role": "parent"}
                await asyncio.to_thread(api_server.call, "POST", f"/api/v1/namespaces/{namespace}/configmaps", parent)
            await until(lambda: len(children.store) == 120 and controller.queue.idle, 600)
            await asyncio.to_thread(api_server.call, "DELETE", f"/api/v1/namespaces/{namespace}/configmaps/parent-0")
            await until(lambda: len(parents.store) == 59)
            controller.stop()
    listed = api_server.call("GET", f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=role%3Dchild")
    assert len(listed["items"]) == 120
    assert {len(item["metadata"]["managedFields"]) for item in listed["items"]} == {1}
