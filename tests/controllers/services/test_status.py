"""The status of a service as a whole, and what of it becomes an Event."""

import pytest
from tests.controllers.services.cast import (
    SERVED,
    UP,
    WHOLE,
    cache,
    config,
    look,
    model,
    pod,
    running,
    served,
    service,
    stage,
    template,
)

from aim_engine.controllers.service.concept import SERVICES
from aim_engine.objects import Manifest

RUNS = service(status=running())


@pytest.mark.parametrize(
    ("name", "configs", "told", "overall", "reference"),
    [
        pytest.param(None, [], "True/DefaultConfigNotFound", "Running", None, id="no default config"),
        pytest.param("default", [], "True/DefaultConfigNotFound", "Running", None, id="default by its name"),
        pytest.param("named", [], "False/ConfigNotFound", "Failed", None, id="a named config is missing"),
        pytest.param("named", ["namespace"], "True/RuntimeConfigResolved", "Running", "Namespace", id="its own"),
        pytest.param("named", ["cluster"], "True/RuntimeConfigResolved", "Running", "Cluster", id="the cluster's"),
        pytest.param(
            "named", ["namespace", "cluster"], "True/RuntimeConfigResolved", "Running", "Merged", id="both, merged"
        ),
    ],
)
async def test_which_runtime_config_counts(
    name: str | None, configs: list[str], told: str, overall: str, reference: str | None
) -> None:
    there = [config("named", everywhere=one == "cluster") for one in configs]
    seen = await look(service(status=running(), runtimeConfigName=name), *UP, *there)
    assert (seen.condition("RuntimeConfigReady"), seen.word) == (told, overall)
    assert (seen.status.get("resolvedRuntimeConfig") or {}).get("scope") == reference
    if told.startswith("False"):
        assert seen.message("RuntimeConfigReady") == "RuntimeConfig named not found"
        assert (seen.made, seen.condition("ConfigValid")) == ([], "False/ReferenceNotFound")


async def test_a_status_is_whole() -> None:
    seen = await look(service(status=running()), *UP)
    status = {key: value for key, value in seen.status.items() if key != "conditions"}
    assert status == {
        "observedGeneration": 1,
        "resolvedModel": {
            "name": "tiny",
            "namespace": "team",
            "scope": "Namespace",
            "kind": "AIMModel",
            "uid": "uid-of-aimmodel-tiny",
        },
        "resolvedTemplate": {
            "name": "fast",
            "namespace": "team",
            "scope": "Namespace",
            "kind": "AIMServiceTemplate",
            "uid": "uid-of-aimservicetemplate-fast",
        },
        "status": "Running",
        "cache": {
            "templateCacheRef": {
                "name": "fast-" + SERVED.removeprefix("chat-"),
                "namespace": "team",
                "scope": "Namespace",
                "kind": "AIMTemplateCache",
                "uid": "uid-of-fast-" + SERVED.removeprefix("chat-"),
            }
        },
        "runtime": {
            "currentReplicas": 1,
            "desiredReplicas": 1,
            "minReplicas": 1,
            "maxReplicas": 1,
            "replicas": "1",
        },
    }


@pytest.mark.parametrize(
    ("objects", "type", "reason"),
    [
        pytest.param((RUNS, *UP), "Normal", "ModelResolved", id="a model is found"),
        pytest.param((RUNS, *UP), "Normal", "Resolved", id="a template is found"),
        pytest.param((RUNS, *UP), "Normal", "CacheReady", id="the weights are there"),
        pytest.param((RUNS, *UP), "Normal", "RuntimeReady", id="it is served"),
        pytest.param((RUNS, *UP), "Normal", "AllComponentsReady", id="all is well"),
        pytest.param((RUNS, *UP), "Normal", "DefaultConfigNotFound", id="there is no default config"),
        pytest.param((service(),), "Warning", "ModelNotFound", id="the model is missing"),
        pytest.param((service(), model()), "Normal", "TemplateNotFound", id="there is no template yet"),
        pytest.param(
            (service(template={"name": "x"}), model()), "Warning", "TemplateNotFound", id="a named template is missing"
        ),
        pytest.param(
            (service(caching={"mode": "Shared"}), model(), template(), cache("Failed")),
            "Warning",
            "CacheFailed",
            id="the weights do not arrive",
        ),
        pytest.param(
            (service(), model(), template(), template(name="x")),
            "Warning",
            "TemplateSelectionAmbiguous",
            id="two templates tie",
        ),
        pytest.param(
            (service(routing={"enabled": True}), model()), "Warning", "GatewayNotConfigured", id="there is no gateway"
        ),
        pytest.param(
            (service(routing={"enabled": True, "gatewayRef": {"name": "g"}, "pathTemplate": "{.x}"}), model()),
            "Warning",
            "PathTemplateInvalid",
            id="the path is wrong",
        ),
        pytest.param((RUNS, *WHOLE, served("False"), pod(ready=False)), "Normal", "PodsStarting", id="pods start"),
    ],
)
async def test_what_becomes_an_event(objects: tuple[Manifest, ...], type: str, reason: str) -> None:  # noqa: A002
    seen = await look(*objects)
    assert (type, reason) in {(one.type, one.reason) for one in seen.told if not one.recurring}


async def test_events_carry_the_words_of_their_condition() -> None:
    seen = await look(service(), model())
    assert 'No templates found for model "tiny"' in [one.message for one in seen.told]


async def test_a_service_at_rest_tells_nothing_and_changes_nothing() -> None:
    world = stage(RUNS, *UP)
    first = await world.settle(SERVICES, "chat")
    second = await world.settle(SERVICES, "chat")
    assert second.status == first.status
    assert second.told == ()
