"""One source is fetched once: services, templates and caches of a namespace, in any order of passes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.controllers.world import NAMESPACE, World

from aim_engine.api.artifact import AIMArtifact
from aim_engine.controllers.service.concept import SERVICES
from aim_engine.controllers.template_cache import TEMPLATE_CACHES

GROUP = {"apiVersion": "aim.eai.amd.com/v1alpha1"}
SOURCES = ("hf://acme/base", "hf://acme/draft", "s3://weights/adapter")
TEMPLATES = {"small": SOURCES[:1], "pair": SOURCES[:2], "all": SOURCES[::-1]}
"""What each template needs; every one of them needs the first source."""
CLASSES = ("", "nfs", "ceph")


class Wish(NamedTuple):
    """Who wants weights: a cache or a service, of which template, on which class, with variables of its own or not."""

    kind: str
    template: str
    storage_class: str
    own_variables: bool


WISHES = st.builds(
    Wish,
    kind=st.sampled_from(["cache", "Shared", "Always"]),
    template=st.sampled_from([*TEMPLATES]),
    storage_class=st.sampled_from(CLASSES),
    own_variables=st.booleans(),
)


def model() -> dict[str, Any]:
    status = {"status": "Ready"}
    return {**GROUP, "kind": "AIMModel", "metadata": {"name": "model"}, "spec": {"image": "r/m:1"}, "status": status}


def template(name: str) -> dict[str, Any]:
    sources = [
        {"modelId": f"acme/{uri.rpartition('/')[2]}", "sourceUri": uri, "size": "1Gi"} for uri in TEMPLATES[name]
    ]
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    status = {"status": "Ready", "modelSources": sources, "conditions": [ready]}
    spec = {"modelName": "model", "type": "optimized", "hardware": {"cpu": {"requests": "1"}}}
    return {**GROUP, "kind": "AIMServiceTemplate", "metadata": {"name": name}, "spec": spec, "status": status}


def asker(name: str, wish: Wish) -> dict[str, Any]:
    """The cache or service that wants weights."""
    env = [{"name": "WHO", "value": name}] if wish.own_variables else []
    if wish.kind == "cache":
        spec: dict[str, Any] = {"templateName": wish.template, "storageClassName": wish.storage_class, "env": env}
        return {**GROUP, "kind": "AIMTemplateCache", "metadata": {"name": name}, "spec": spec}
    storage = {"storage": {"defaultStorageClassName": wish.storage_class}} if wish.storage_class else {}
    spec = {
        "model": {"name": "model"},
        "template": {"name": wish.template},
        "caching": {"mode": wish.kind},
        "env": env,
        **storage,
    }
    return {**GROUP, "kind": "AIMService", "metadata": {"name": name}, "spec": spec}


def world_of(wishes: Sequence[Wish]) -> World:
    world = World(model(), *(template(name) for name in TEMPLATES))
    for number, wish in enumerate(wishes):
        world.put(asker(f"asker-{number}", wish))
    return world


def made(world: World) -> Sequence[AIMArtifact]:
    return world.cluster.artifacts.store.in_namespace(NAMESPACE)


async def until_nothing_changes(world: World, services: Sequence[str]) -> None:
    """Passes over everything until no pass makes anything new."""
    for _ in range(10):
        before = [one.metadata.name for one in made(world)]
        for name in services:
            await world.settle(SERVICES, name)
        for cache in [*world.cluster.template_caches.store.in_namespace(NAMESPACE)]:
            await world.settle(TEMPLATE_CACHES, cache.metadata.name)
        if [one.metadata.name for one in made(world)] == before and before:
            return
    raise AssertionError("it never came to rest")


def asked(world: World) -> set[tuple[str, str]]:
    """The pairs of source and class that the caches of the namespace want."""
    return {
        (uri, cache.spec.storage_class_name or "")
        for cache in world.cluster.template_caches.store.in_namespace(NAMESPACE)
        if cache.spec
        for uri in TEMPLATES[cache.spec.template_name]
    }


@settings(max_examples=60, deadline=None)
@given(data=st.data())
async def test_one_source_is_fetched_once_however_services_and_caches_race(data: st.DataObject) -> None:
    wishes = data.draw(st.lists(WISHES, min_size=1, max_size=6), label="wishes")
    world = world_of(wishes)
    services = [f"asker-{number}" for number, wish in enumerate(wishes) if wish.kind != "cache"]
    for _ in range(data.draw(st.integers(0, 12), label="passes in disorder")):
        caches = [cache.metadata.name for cache in world.cluster.template_caches.store.in_namespace(NAMESPACE)]
        everyone = [*((SERVICES, name) for name in services), *((TEMPLATE_CACHES, name) for name in caches)]
        await world.settle(*everyone[data.draw(st.integers(0, len(everyone) - 1), label="next")])
    await until_nothing_changes(world, services)

    found = [(one.spec.source_uri, one.spec.storage_class_name or "") for one in made(world) if one.spec]
    wanted = asked(world)
    assert len(found) == len(set(found)), "a source was fetched twice onto one class"
    assert set(found) <= wanted, "something was fetched that nobody wants there"
    named = {(uri, storage) for uri, storage in wanted if storage}
    assert named <= set(found), "a class that somebody named lacks a source"
    assert {uri for uri, _ in wanted} == {uri for uri, _ in found}
    for cache in world.cluster.template_caches.store.in_namespace(NAMESPACE):
        assert cache.spec and cache.status
        assert len(cache.status.artifacts) == len(TEMPLATES[cache.spec.template_name])


@pytest.mark.parametrize("kinds", [("cache",) * 3, ("Shared",) * 3, ("cache", "Shared", "Always")], ids="+".join)
async def test_three_who_ask_for_no_class_share_one_download(kinds: tuple[str, ...]) -> None:
    world = world_of([Wish(kind, "small", "", own_variables=True) for kind in kinds])
    await until_nothing_changes(world, [f"asker-{number}" for number, kind in enumerate(kinds) if kind != "cache"])
    assert [one.spec.source_uri for one in made(world) if one.spec] == [SOURCES[0]]


async def test_a_class_that_only_the_config_names_parts_nobody() -> None:
    world = world_of([Wish("cache", "small", "", own_variables=False), Wish("Shared", "pair", "", own_variables=False)])
    storage = {"storage": {"defaultStorageClassName": "nfs"}}
    world.put({**GROUP, "kind": "AIMRuntimeConfig", "metadata": {"name": "default"}, "spec": storage})
    await world.settle(TEMPLATE_CACHES, "asker-0")
    await until_nothing_changes(world, ["asker-1"])
    assert sorted(one.spec.source_uri for one in made(world) if one.spec) == [*TEMPLATES["pair"]]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
async def test_caches_that_race_for_an_owned_download_promote_it_once_and_make_no_other(data: st.DataObject) -> None:
    world = World(model(), *(template(name) for name in TEMPLATES))
    mode = st.sampled_from(["Shared", "Dedicated"])
    modes = data.draw(st.lists(mode, min_size=1, max_size=4), label="caches")
    names = [f"cache-{number}" for number in range(len(modes))]
    world.put(cache_of("owner", "Dedicated"))
    await world.settle(TEMPLATE_CACHES, "owner")
    for name, each in zip(names, modes, strict=True):
        world.put(cache_of(name, each))
    promotions = 0
    for name in data.draw(st.permutations([*names, "owner"] * 2), label="passes"):
        promotions += len((await world.settle(TEMPLATE_CACHES, name)).plan.patch)
    assert promotions == (1 if "Shared" in modes else 0)
    assert len(made(world)) == 1 + modes.count("Dedicated"), "each Dedicated cache has its own, all others share one"
    assert sum(not one.metadata.owner_references for one in made(world)) == promotions


def cache_of(name: str, mode: str) -> dict[str, Any]:
    return {
        **GROUP,
        "kind": "AIMTemplateCache",
        "metadata": {"name": name},
        "spec": {"templateName": "small", "mode": mode},
    }
