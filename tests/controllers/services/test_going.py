"""What a service that is deleted takes with it, and what wakes one that is there."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.controllers.services.cast import (
    OWNER,
    ROUTED,
    SERVED,
    STRANGER,
    cache,
    condition,
    config,
    download,
    model,
    pod,
    route,
    running,
    say,
    scaler,
    served,
    service,
    stage,
    template,
)
from tests.controllers.world import NAMESPACE, World

from aim_engine.controllers.service.concept import SERVICES
from aim_engine.controllers.service.deletion import cleanup
from aim_engine.kube.store import Change
from aim_engine.objects import Key, Manifest

CHAT = Key(NAMESPACE, "chat")
HERE: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
GOING: Manifest = {**HERE, "metadata": {"name": NAMESPACE, "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def made_by(item: Manifest, service: str = "chat") -> Manifest:
    return {**item, "metadata": {**item["metadata"], "labels": {"aim.eai.amd.com/service": service}}}


def taken_along(*objects: Manifest) -> list[str]:
    world = stage(service(status=running()), *objects)
    going = world.cluster.services.store.get(CHAT)
    assert going is not None
    return [target.name for target in cleanup(going, world.cluster).delete]


OTHER_USER = service(name="other", status=running())


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param((HERE, made_by(cache("Ready", "c"))), [], id="a cache that is ready stays"),
        pytest.param((HERE, made_by(cache("Failed", "c"))), ["c"], id="a failed one goes"),
        pytest.param((HERE, made_by(cache("Progressing", "c"))), ["c"], id="one that is not done goes"),
        pytest.param((HERE, made_by(cache(None, "c"))), ["c"], id="one without a status goes"),
        pytest.param((HERE, made_by(cache("Failed", "c"), "other")), [], id="another service's stays"),
        pytest.param((HERE, cache("Failed", "c")), [], id="one that somebody made stays"),
        pytest.param(
            (HERE, made_by(cache("Failed", "c")), OTHER_USER), [], id="a shared one that another service needs stays"
        ),
        pytest.param(
            (HERE, made_by(cache("Failed", "c", mode="Dedicated")), OTHER_USER), ["c"], id="its own goes in any case"
        ),
        pytest.param((GOING, made_by(cache("Failed", "c"))), [], id="nothing if the whole namespace goes"),
        pytest.param((made_by(cache("Failed", "c")),), [], id="nothing if the namespace is gone"),
    ],
)
def test_what_a_service_takes_along(objects: tuple[Manifest, ...], expected: list[str]) -> None:
    assert taken_along(*objects) == expected


BY_IMAGE = {"image": "registry.example/tiny:1.0"}
CUSTOM = {
    "baseImage": "registry.example/tiny:1.0",
    "modelSources": [{"modelId": "a", "sourceUri": "hf://a/b"}],
    "hardware": {"gpu": {"requests": 1}},
}
CUSTOM_MODEL = {"modelSources": CUSTOM["modelSources"], "custom": {"hardware": CUSTOM["hardware"]}}
REFUSED = {"conditions": [condition("HTTPRouteReady", "False", "RouteConflict")]}
NAMELESS = {"conditions": [condition("ModelReady", "False", "NameConflict")]}
FAILED = condition("DownloadJobReady", "False", "JobFailed")


def ours(item: Manifest) -> Manifest:
    return {**item, "metadata": {**item["metadata"], "ownerReferences": [OWNER]}}


@pytest.mark.parametrize(
    ("sleeper", "change", "wakes"),
    [
        pytest.param(service(), model(), True, id="its model"),
        pytest.param(service(), model(everywhere=True), True, id="its model in the cluster"),
        pytest.param(service(), model(name="other"), False, id="not another model"),
        pytest.param(service(model=BY_IMAGE), model(name="any"), True, id="a model of its image"),
        pytest.param(service(model=BY_IMAGE), model(name="any", everywhere=True), True, id="and in the cluster"),
        pytest.param(service(model={"custom": CUSTOM}), model(name="any", **CUSTOM_MODEL), True, id="its own weights"),
        pytest.param(service(model={"custom": CUSTOM}), model(name="any"), False, id="not other weights"),
        pytest.param(
            service(status=NAMELESS), model(name="other"), True, id="any model, if one holds the name it needs"
        ),
        pytest.param(service(), template(), True, id="a template of its model"),
        pytest.param(service(), template(everywhere=True), True, id="one of the cluster"),
        pytest.param(service(), template(modelName="other"), False, id="not one of another model"),
        pytest.param(service(template={"name": "fast"}), template(modelName="other"), True, id="the template it names"),
        pytest.param(service(status=running()), template(modelName="other"), True, id="the template it was given"),
        pytest.param(
            service(model=BY_IMAGE, status=running()), template(name="new"), True, id="one of the model it was given"
        ),
        pytest.param(service(), ours(template(modelName="other", name="derived")), True, id="one derived for it"),
        pytest.param(service(), config(), True, id="the default config"),
        pytest.param(service(), config(everywhere=True), True, id="the cluster's default config"),
        pytest.param(service(runtimeConfigName="mine"), config(), False, id="not a config it does not use"),
        pytest.param(service(runtimeConfigName="mine"), config("mine"), True, id="the config it names"),
        pytest.param(service(status=running()), cache(), True, id="a cache of its template"),
        pytest.param(service(status=running()), cache(templateName="other"), False, id="not another cache"),
        pytest.param(service(), cache(templateName="other", owner=OWNER), True, id="a cache of its own"),
        pytest.param(service(), served(), True, id="what serves it"),
        pytest.param(service(), served(owner=STRANGER), False, id="not what serves others"),
        pytest.param(service(), route(), True, id="its route"),
        pytest.param(service(status=REFUSED), route(owner=STRANGER, name="x"), True, id="a route it waits for"),
        pytest.param(service(routing=ROUTED), route(owner=STRANGER, name="x"), False, id="not the routes of others"),
        pytest.param(service(), scaler(), True, id="its autoscaler"),
    ],
)
def test_what_wakes_a_service(sleeper: Manifest, change: Manifest, wakes: bool) -> None:
    assert (CHAT in woken(stage(sleeper), lambda world: world.put(change))) == wakes


@pytest.mark.parametrize(
    ("change", "wakes"),
    [
        pytest.param(pod(), True, id="a pod changes"),
        pytest.param(download("Failed", conditions=[FAILED]), True, id="its download is given up"),
        pytest.param(download("Progressing"), False, id="not while it goes on"),
    ],
)
def test_what_becomes_of_its_parts_wakes_a_service(change: Manifest, wakes: bool) -> None:
    world = stage(service(status=running()), served(), cache())
    assert (CHAT in woken(world, lambda world: world.put(change))) == wakes


@pytest.mark.parametrize(
    ("about", "level", "wakes"),
    [
        pytest.param(("InferenceService", SERVED), "Warning", True, id="KServe warns"),
        pytest.param(("InferenceService", SERVED), "Normal", False, id="not when KServe just talks"),
        pytest.param(("ReplicaSet", f"{SERVED}-predictor-abc"), "Warning", True, id="its pods cannot be made"),
        pytest.param(("ReplicaSet", "another-predictor-abc"), "Warning", False, id="not when others' cannot"),
        pytest.param(("Pod", "pod"), "Warning", True, id="one of its pods is in trouble"),
    ],
)
def test_what_is_said_of_its_parts_wakes_a_service(about: tuple[str, str], level: str, wakes: bool) -> None:
    world = stage(service(status=running()), served(), pod())
    informer, change = say(world, *about, "Reason", "so it is", type=level)
    keys = [key for wake in SERVICES.wakes(world.cluster) if wake.informer is informer for key in wake.keys(change)]
    assert (CHAT in keys) == wakes


def test_an_autoscaler_that_does_not_scale_wakes_nobody() -> None:
    same = scaler()
    same["metadata"]["annotations"] = {"seen": "now"}
    assert woken(stage(service(), scaler()), lambda world: world.put(same)) == []


def test_a_route_that_is_nobodys_of_ours_disturbs_nobody() -> None:
    theirs = route(owner=None, name="theirs")
    del theirs["metadata"]["labels"]
    assert woken(stage(service()), lambda world: world.put(theirs)) == []


def woken(world: World, happens: Callable[[World], None]) -> list[Key]:
    """Whom a change wakes."""
    found: list[Key] = []

    def listen(keys: Callable[[Change[Any]], Any]) -> Callable[[Change[Any]], None]:
        return lambda change: found.extend(keys(change))

    for wake in SERVICES.wakes(world.cluster):
        wake.informer.listen(listen(wake.keys))
    happens(world)
    return found
