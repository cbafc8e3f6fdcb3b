"""One look at a template cache: what it takes, makes, promotes, says, and leaves behind."""

from typing import Any

import pytest
from tests.controllers.world import NAMESPACE, World

from aim_engine.controllers import template_cache
from aim_engine.controllers.template_cache import TEMPLATE_CACHES
from aim_engine.kube.store import Change
from aim_engine.objects import Key

URI = "hf://Qwen/Qwen2-0.5B"
GROUP = {"apiVersion": "aim.eai.amd.com/v1alpha1"}


def source(uri: str = URI, **more: Any) -> dict[str, Any]:
    return {"modelId": uri.partition("://")[2], "sourceUri": uri, **more}


def template(*sources: dict[str, Any], word: str = "Ready", kind: str = "AIMServiceTemplate") -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True" if word == "Ready" else "False", "reason": word, "message": "so it is"}
    status = {"status": word, "modelSources": sources or (source(),), "conditions": [ready]}
    return {**GROUP, "kind": kind, "metadata": {"name": "template"}, "spec": {"modelName": "m"}, "status": status}


def cache(name: str = "my-cache", *, mode: str = "Shared", **spec: Any) -> dict[str, Any]:
    wanted = {"templateName": "template", "mode": mode, **spec}
    return {**GROUP, "kind": "AIMTemplateCache", "metadata": {"name": name}, "spec": wanted}


def download(
    name: str, word: str | None = "Ready", *, kind: str = "AIMArtifact", owner: str = "", uri: str = URI, **more: Any
) -> dict[str, Any]:
    """A download object; `owner` names the template cache it belongs to."""
    reference = {**GROUP, "kind": "AIMTemplateCache", "name": owner, "uid": f"uid-of-aimtemplatecache-{owner}"}
    ready = {"type": "Ready", "status": "False", "reason": "BecauseOfThat", "message": "it is so"}
    status = {"status": word, "persistentVolumeClaim": f"{name}-claim", "conditions": [ready]}
    return {
        **GROUP,
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": more.pop("labels", {}),
            **({"ownerReferences": [reference]} if owner else {}),
            **more.pop("metadata", {}),
        },
        "spec": {"sourceUri": uri, **more},
        **({"status": status} if word else {}),
    }


def held(look: Any) -> list[str]:
    return sorted(look.status.get("artifacts", {}))


@pytest.mark.parametrize(
    ("objects", "spec", "taken"),
    [
        pytest.param((download("a", "Failed"), download("b")), {}, "b", id="the better state"),
        pytest.param((download("a", None), download("b", "Degraded")), {}, "a", id="no status counts as Pending"),
        pytest.param(
            (download("a", owner="other"), download("b")), {}, "b", id="what nobody owns before what is owned"
        ),
        pytest.param((download("a", kind="AIMModelCache"), download("b")), {}, "b", id="the newer kind of two equals"),
        pytest.param((download("b"), download("a")), {}, "a", id="the first by name of two equals"),
        pytest.param((download("a", kind="AIMModelCache"),), {}, "a", id="a model cache as well"),
        pytest.param((download("a", uri="hf://other/one"),), {}, None, id="never another source"),
        pytest.param((download("a", storageClassName="nfs"),), {}, "a", id="any class, if it asks for none"),
        pytest.param(
            (download("a", storageClassName="nfs"),), {"storageClassName": "ceph"}, None, id="not another class"
        ),
        pytest.param(
            (download("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),), {}, None, id="not what is going"
        ),
        pytest.param((download("a", "Failed"),), {}, "a", id="a failed one, rather than a second one"),
        pytest.param((download("a"),), {"mode": "Dedicated"}, None, id="Dedicated takes nothing of others"),
        pytest.param((download("a", owner="my-cache"),), {"mode": "Dedicated"}, "a", id="Dedicated takes its own"),
        pytest.param(
            (download("a", labels={"aim.eai.amd.com/template-cache.name": "my-cache"}),),
            {"mode": "Dedicated"},
            "a",
            id="Dedicated keeps what was promoted away from it",
        ),
    ],
)
async def test_a_source_is_taken_from_what_is_there(objects: Any, spec: Any, taken: str | None) -> None:
    look = await World(template(), cache(**spec), *objects).look(TEMPLATE_CACHES, "my-cache")
    assert held(look) == ([taken] if taken else [])
    assert bool(look.made) is (taken is None)


def config(name: str = "default", storage_class: str = "nfs") -> dict[str, Any]:
    spec = {"storage": {"defaultStorageClassName": storage_class}}
    return {**GROUP, "kind": "AIMRuntimeConfig", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("item", "spec", "is_taken"),
    [
        pytest.param(download("a"), {}, True, id="of the same config"),
        pytest.param(download("a", runtimeConfigName="default"), {}, True, id="of the same config, by its name"),
        pytest.param(download("a", kind="AIMModelCache"), {}, True, id="an AIMModelCache as well"),
        pytest.param(download("a", runtimeConfigName="other"), {}, False, id="of another config"),
        pytest.param(download("a", storageClassName="ceph"), {}, False, id="not if it says another class"),
        pytest.param(
            download("a", storageClassName="nfs", runtimeConfigName="other"), {}, True, id="by the class it says itself"
        ),
        pytest.param(download("a"), {"storageClassName": "ceph"}, False, id="not if the cache asks for another class"),
        pytest.param(download("a"), {"runtimeConfigName": "other"}, False, id="not if the cache has another config"),
    ],
)
async def test_a_download_that_names_no_class_has_that_of_its_config(item: Any, spec: Any, is_taken: bool) -> None:
    asks = cache(**{"storageClassName": "nfs", **spec})
    look = await World(template(), config(), config("other", "nfs"), asks, item).look(TEMPLATE_CACHES, "my-cache")
    assert held(look) == (["a"] if is_taken else [])


async def test_a_download_stays_with_its_cache_when_the_config_turns_to_another_class() -> None:
    world = World(template(), config(), cache(storageClassName="nfs"), download("a"))
    await world.settle(TEMPLATE_CACHES, "my-cache")
    world.put(config(storage_class="ceph"))
    look = await world.look(TEMPLATE_CACHES, "my-cache")
    assert (held(look), look.made) == (["a"], [])


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        pytest.param({}, "hf---qwen-qwen2-0-5b-f71e8faae6", id="a plain one"),
        pytest.param(
            {"env": [{"name": "HF_TOKEN", "value": "my-token"}]},
            "hf---qwen-qwen2-0-5b-3572228cf0",
            id="with a variable",
        ),
        pytest.param(
            {
                "env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}],
                "storageClassName": "nfs",
            },
            "hf---qwen-qwen2-0-5b-c66e628480",
            id="with a secret and a class",
        ),
        pytest.param({"mode": "Dedicated"}, "hf---qwen-qwen2-0-5b-eeaa90cdb8", id="of one cache alone"),
    ],
)
async def test_missing_artifacts_get_the_promised_names(spec: Any, name: str) -> None:
    look = await World(template(), cache(**spec)).look(TEMPLATE_CACHES, "my-cache")
    assert look.made == [f"AIMArtifact {name}"]
    [step] = look.steps
    assert bool(step.manifest["metadata"].get("ownerReferences")) is (spec.get("mode") == "Dedicated")


@pytest.mark.parametrize("written", [{}, {"templateScope": "Unknown"}], ids=["no scope", "an unknown scope"])
@pytest.mark.parametrize("kind", ["AIMServiceTemplate", "AIMClusterServiceTemplate"])
async def test_artifacts_tell_where_the_template_was_found(written: Any, kind: str) -> None:
    world = World(template(kind=kind), cache(**written))
    [step] = (await world.look(TEMPLATE_CACHES, "my-cache")).steps
    scope = "Cluster" if kind == "AIMClusterServiceTemplate" else "Namespace"
    assert step.manifest["metadata"]["labels"]["aim.eai.amd.com/template.scope"] == scope


async def test_a_missing_artifact_is_numbered_by_its_place_among_all_sources() -> None:
    second = "hf://acme/second"
    world = World(template(source(), source(second)), cache(), download("first"))
    [step] = (await world.look(TEMPLATE_CACHES, "my-cache")).steps
    assert step.manifest["metadata"]["labels"]["aim.eai.amd.com/template.index"] == "1"


async def test_names_that_are_long_make_labels_that_fit() -> None:
    name = "n" * 80
    long_template = template() | {"metadata": {"name": name}}
    world = World(long_template, cache(name, templateName=name))
    [step] = (await world.look(TEMPLATE_CACHES, name)).steps
    assert {len(value) for value in step.manifest["metadata"]["labels"].values()} <= set(range(1, 64))


@pytest.mark.parametrize(
    ("objects", "word", "ready", "artifacts"),
    [
        pytest.param((), "Failed", "ReferenceNotFound", "False/NoCaches", id="no template"),
        pytest.param(
            (template(kind="AIMClusterServiceTemplate"),),
            "Progressing",
            "Progressing",
            "False/CreatingCaches",
            id="a template of the cluster",
        ),
        pytest.param((template(word="Pending"),), "Pending", "Progressing", "False/CreatingCaches", id="a waiting one"),
        pytest.param((template(word="Failed"),), "Failed", "Failed", "False/CreatingCaches", id="template Failed"),
        pytest.param(
            (template(word="NotAvailable"), download("a")),
            "NotAvailable",
            "NotAvailable",
            "True/AllCachesReady",
            id="template NotAvailable",
        ),
        pytest.param((template(),), "Progressing", "Progressing", "False/CreatingCaches", id="being created"),
        pytest.param(
            (template(), download("a", "Progressing")), "Progressing", "Progressing", "False/BecauseOfThat", id="busy"
        ),
        pytest.param(
            (template(), download("a", "Pending")), "Pending", "Progressing", "False/BecauseOfThat", id="waiting"
        ),
        pytest.param(
            (template(), download("a", None)), "Pending", "Progressing", "False/CachesNotReady", id="nothing known yet"
        ),
        pytest.param(
            (template(), download("a", "Failed")), "Failed", "BecauseOfThat", "False/BecauseOfThat", id="one failed"
        ),
        pytest.param(
            (template(), download("a")), "Ready", "AllComponentsReady", "True/AllCachesReady", id="all are Ready"
        ),
    ],
)
async def test_the_state_follows_from_template_and_artifacts(
    objects: Any, word: str, ready: str, artifacts: str
) -> None:
    look = await World(cache(), *objects).look(TEMPLATE_CACHES, "my-cache")
    assert (look.word, look.condition("Ready").partition("/")[2], look.condition("ArtifactsReady")) == (
        word,
        ready,
        artifacts,
    )


async def test_both_maps_tell_of_what_is_held() -> None:
    entry = {
        "uid": "uid-of-aimartifact-a",
        "name": "a",
        "model": "Qwen/Qwen2-0.5B",
        "status": "Ready",
        "persistentVolumeClaim": "a-claim",
        "mountPoint": "/workspace/model-cache/Qwen/Qwen2-0.5B",
    }
    look = await World(template(), cache(), download("a")).look(TEMPLATE_CACHES, "my-cache")
    assert look.status["artifacts"] == {"a": entry}
    assert look.status["modelCaches"] == {"Qwen/Qwen2-0.5B": entry}
    assert look.status["resolvedTemplateKind"] == "AIMServiceTemplate"


async def test_two_kinds_that_hold_two_sources_under_one_name_are_both_told() -> None:
    other = "hf://acme/second"
    held_twice = (download("a"), download("a", kind="AIMModelCache", uri=other))
    look = await World(template(source(), source(other)), cache(), *held_twice).look(TEMPLATE_CACHES, "my-cache")
    told = {key: (entry["model"], entry["uid"]) for key, entry in look.status["artifacts"].items()}
    assert told == {
        "a": ("Qwen/Qwen2-0.5B", "uid-of-aimartifact-a"),
        "model-cache/a": ("acme/second", "uid-of-aimmodelcache-a"),
    }
    assert sorted(look.status["modelCaches"]) == ["Qwen/Qwen2-0.5B", "acme/second"]


async def test_two_models_in_one_source_are_both_told() -> None:
    twice = (source(), source() | {"modelId": "acme/same"})
    look = await World(template(*twice), cache(), download("a")).look(TEMPLATE_CACHES, "my-cache")
    assert held(look) == ["a"]
    assert sorted(look.status["modelCaches"]) == ["Qwen/Qwen2-0.5B", "acme/same"]


async def test_a_shared_cache_frees_what_another_owns() -> None:
    world = World(template(), cache(), cache("other", mode="Dedicated"), download("a", owner="other"))
    assert [patch.target.name for patch in (await world.settle(TEMPLATE_CACHES, "my-cache")).plan.patch] == ["a"]
    assert (await world.settle(TEMPLATE_CACHES, "my-cache")).plan.patch == ()


async def test_the_former_owner_keeps_what_was_promoted_and_leaves_it_behind() -> None:
    world = World(template(), cache("own", mode="Dedicated"), cache())
    [made] = (await world.settle(TEMPLATE_CACHES, "own")).made
    name = made.partition(" ")[2]
    await world.settle(TEMPLATE_CACHES, "my-cache")
    again = await world.settle(TEMPLATE_CACHES, "own")
    assert (held(again), again.made) == ([name], [])
    world.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    assert deleted(world, "own") == []


@pytest.mark.parametrize(
    ("mode", "objects", "gone"),
    [
        pytest.param("Shared", ("Ready", ""), [], id="Ready downloads stay"),
        pytest.param("Shared", ("Progressing", ""), ["a"], id="unfinished ones go"),
        pytest.param("Dedicated", ("Failed", "my-cache"), ["a"], id="those of its own go"),
        pytest.param("Dedicated", ("Failed", ""), [], id="those promoted away from it stay"),
    ],
)
def test_a_cache_cleans_up_what_it_began(mode: str, objects: tuple[str, str], gone: list[str]) -> None:
    word, owner = objects
    labels = {"aim.eai.amd.com/template-cache.name": "my-cache"}
    world = World(cache(mode=mode), download("a", word, owner=owner, labels=labels), download("foreign", "Failed"))
    assert deleted(world) == [], "a namespace that is gone is left alone"
    world.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    assert deleted(world) == gone


def deleted(world: World, name: str = "my-cache") -> list[str]:
    item = world.cluster.template_caches.store.get(Key(NAMESPACE, name))
    assert item is not None
    return [target.name for target in template_cache.cleanup(item, world.cluster).delete]


def test_a_download_wakes_every_cache_that_needs_its_source() -> None:
    world = World(
        template(),
        cache("one"),
        cache("two"),
        cache("third", modelSources=[source("hf://acme/other")]),
        download("a", "Progressing"),
    )
    wake = next(w for w in template_cache.wakes(world.cluster) if w.informer is world.cluster.artifacts)
    before = world.cluster.artifacts.store.get(Key(NAMESPACE, "a"))
    world.put(download("a", "Ready"))
    after = world.cluster.artifacts.store.get(Key(NAMESPACE, "a"))
    assert before is not None
    assert sorted(key.name for key in wake.keys(Change(Key(NAMESPACE, "a"), before, after))) == ["one", "two"]
