"""What is handed to KServe, when, and what of it changes later."""

from typing import Any

import pytest
from tests.controllers.services.cast import (
    OWNER,
    SERVED,
    STRANGER,
    TEMPLATE_REF,
    WHOLE,
    cache,
    config,
    look,
    model,
    pod,
    running,
    scaler,
    served,
    service,
    stage,
    template,
)

from aim_engine.controllers.service.concept import SERVICES
from aim_engine.objects import Manifest


def container(seen: Any) -> Manifest:
    found: Manifest = seen.manifest("InferenceService")["spec"]["predictor"]["containers"][0]
    return found


def env(seen: Any) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container(seen)["env"]}


def variables(**values: str) -> list[Manifest]:
    return [{"name": name, "value": value} for name, value in values.items()]


@pytest.mark.parametrize(
    ("objects", "is_made"),
    [
        pytest.param(WHOLE, True, id="model, template and cache are ready"),
        pytest.param((model("Progressing"), template(), cache()), False, id="the model is not"),
        pytest.param((model("Failed"), template(), cache()), False, id="the model failed"),
        pytest.param((model(), template("Progressing"), cache()), False, id="the template is not"),
        pytest.param((model(), template(), cache("Progressing")), False, id="the cache is not"),
        pytest.param((model(), template(), cache("Failed")), False, id="the cache failed"),
    ],
)
async def test_pods_wait_until_all_they_need_is_there(objects: tuple[Manifest, ...], is_made: bool) -> None:
    seen = await look(service(template={"name": "fast"}, caching={"mode": "Shared"}), *objects)
    assert (f"InferenceService {SERVED}" in seen.made) == is_made
    assert seen.condition("InferenceServiceReady") == "False/CreatingRuntime"
    assert seen.message("InferenceServiceReady") == "InferenceService not found"


@pytest.mark.parametrize(
    ("objects", "is_kept_up"),
    [
        pytest.param((model("Failed"), template(), cache()), True, id="though the model failed"),
        pytest.param((model(), template(), cache("Failed")), True, id="though the cache failed"),
        pytest.param((model(), template()), True, id="though the cache is gone"),
        pytest.param((model(), template("NotAvailable"), cache()), False, id="not while the template is not ready"),
        pytest.param((template(), cache()), False, id="not without a model, whose image it needs"),
    ],
)
async def test_what_serves_is_kept_up_to_date(objects: tuple[Manifest, ...], is_kept_up: bool) -> None:
    seen = await look(service(template={"name": "fast"}, status=running()), served(), *objects)
    assert (f"InferenceService {SERVED}" in seen.made) == is_kept_up


async def test_what_serves_belongs_to_the_service_and_is_found_by_its_labels() -> None:
    seen = await look(service(), *WHOLE)
    metadata = seen.manifest("InferenceService")["metadata"]
    assert metadata["ownerReferences"] == [OWNER]
    assert metadata["labels"] == {
        "app.kubernetes.io/component": "inference",
        "app.kubernetes.io/managed-by": "aim-engine",
        "aim.eai.amd.com/service": "chat",
        "aim.eai.amd.com/service.name": "chat",
        "aim.eai.amd.com/template": "fast",
        "aim.eai.amd.com/model": "tiny",
        "aim.eai.amd.com/metric": "latency",
        "aim.eai.amd.com/precision": "fp8",
    }


LABELS = {
    "aim.eai.amd.com/mine": "1",
    "aim.eai.amd.com/template": "not-this",
    "org.example/team": "red",
    "plain": "2",
}


@pytest.mark.parametrize(
    ("propagation", "expected"),
    [
        pytest.param(None, {"aim.eai.amd.com/mine"}, id="only our own without a config"),
        pytest.param({"enabled": False, "match": ["*"]}, {"aim.eai.amd.com/mine"}, id="only our own if switched off"),
        pytest.param(
            {"enabled": True, "match": ["org.example/*", "["]},
            {"aim.eai.amd.com/mine", "org.example/team"},
            id="what a pattern matches, broken ones passed over",
        ),
        pytest.param({"enabled": True, "match": ["*"]}, {"aim.eai.amd.com/mine", "plain"}, id="a star ends at a slash"),
    ],
)
@pytest.mark.parametrize(
    "kind", ["InferenceService", "HTTPRoute", "AIMTemplateCache", "AIMModel", "AIMServiceTemplate"]
)
async def test_labels_reach_every_child(kind: str, propagation: Any, expected: set[str]) -> None:
    configs = [config(labelPropagation=propagation)] if propagation else []
    cases: dict[str, tuple[Manifest, ...]] = {
        "InferenceService": (service(labels=LABELS), *WHOLE),
        "HTTPRoute": (service(labels=LABELS, routing={"enabled": True, "gatewayRef": {"name": "g"}}), model()),
        "AIMTemplateCache": (service(labels=LABELS), model(), template()),
        "AIMModel": (service(labels=LABELS, model={"image": "registry.example/new:1"}),),
        "AIMServiceTemplate": (
            service(labels=LABELS, template={"name": "fast"}, overrides={"metric": "throughput"}),
            model(),
            template(),
        ),
    }
    found = (await look(*cases[kind], *configs)).manifest(kind)["metadata"]["labels"]
    ours = {"aim.eai.amd.com/mine", "org.example/team", "plain"}
    assert {key for key in found if key in ours} == expected
    assert found["aim.eai.amd.com/service.name"] == "chat"
    assert found["app.kubernetes.io/managed-by"] in ("aim-engine", "aim-service-controller")
    if kind == "InferenceService":
        assert found["aim.eai.amd.com/template"] == "fast", "what the operator says itself is never overwritten"


async def test_a_service_with_a_long_name_has_labels_that_fit() -> None:
    name = "a-very-long-name-for-a-service-" * 4 + "end"
    long = await stage(service(name=name), *WHOLE).look(SERVICES, name)
    made = long.manifest("InferenceService")["metadata"]
    assert all(len(value) <= 63 for value in made["labels"].values())
    assert len(f"{made['name']}-predictor-team") <= 63


async def test_variables_come_from_every_level() -> None:
    wanted = service(env=variables(A="service", AIM_ENGINE_ARGS='{"a": 1}'))
    levels = (
        model(),
        template(
            env=variables(A="template", B="template", AIM_ENGINE_ARGS='{"a": 2, "b": 2}'),
            metric="latency",
            precision="fp8",
            profileId="p-1",
            status={
                "profile": {
                    "metadata": {"type": "optimized"},
                    "engine_args": {"a": 4, "b": 4, "c": 4, "d": 4},
                    "env_vars": {"A": "profile", "B": "profile", "C": "profile", "D": "profile"},
                }
            },
        ),
        config(env=variables(A="config", B="config", C="config", AIM_ENGINE_ARGS='{"b": 3, "c": 3}')),
        cache(),
    )
    seen = await look(wanted, *levels)
    assert env(seen) == {
        "A": "service",
        "AIM_CACHE_PATH": "/workspace/model-cache",
        "AIM_ENGINE_ARGS": '{"a":1,"b":2,"c":3,"d":4}',
        "AIM_METRIC": "latency",
        "AIM_PRECISION": "fp8",
        "AIM_PROFILE_ID": "p-1",
        "B": "template",
        "C": "config",
        "D": "profile",
        "VLLM_ENABLE_METRICS": "true",
    }
    assert list(env(seen)) == sorted(env(seen))


async def test_arguments_that_are_no_object_are_told_by_an_event_that_names_the_level() -> None:
    seen = await look(service(env=variables(AIM_ENGINE_ARGS="--fast")), *WHOLE)
    assert env(seen)["AIM_ENGINE_ARGS"] == "--fast"
    assert [(one.type, one.message) for one in seen.told if one.reason == "InvalidEngineArgs"] == [
        ("Warning", "AIM_ENGINE_ARGS of the service is no JSON object")
    ]


async def test_resources_come_from_the_hardware_that_was_resolved_and_every_level_above() -> None:
    levels = (
        model(resources={"requests": {"cpu": "9", "memory": "1Gi"}}),
        template(
            hardware={"gpu": {"requests": 8}},
            resources={"requests": {"memory": "100Gi"}},
            status={"resolvedHardware": {"gpu": {"requests": 2, "resourceName": "amd.com/gpu"}}},
        ),
        cache(),
    )
    seen = await look(service(resources={"limits": {"amd.com/gpu": "4"}}), *levels)
    assert container(seen)["resources"] == {
        "requests": {"cpu": "9", "memory": "100Gi", "amd.com/gpu": "4"},
        "limits": {"memory": "100Gi", "amd.com/gpu": "4"},
    }


SECRETS = [{"name": "of-template"}, {"name": "both"}]


def secret(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


def account(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("objects", "secrets", "name"),
    [
        pytest.param(
            (
                model(imagePullSecrets=[{"name": "both"}, {"name": "of-model"}], serviceAccountName="of-model"),
                template(imagePullSecrets=SECRETS, serviceAccountName="of-template"),
            ),
            ["mine", "of-template", "both", "of-model"],
            "of-template",
            id="of the namespace: all, each once",
        ),
        pytest.param(
            (
                model(everywhere=True, imagePullSecrets=[{"name": "of-model"}], serviceAccountName="of-model"),
                template(everywhere=True, imagePullSecrets=SECRETS, serviceAccountName="of-template"),
                secret("both"),
                account("of-model"),
            ),
            ["mine", "both"],
            "of-model",
            id="of the cluster: those that the namespace has",
        ),
    ],
)
async def test_pull_secrets_and_account(objects: tuple[Manifest, ...], secrets: list[str], name: str) -> None:
    scope = "Namespace" if objects[1]["kind"] == "AIMServiceTemplate" else "Cluster"
    seen = await look(service(imagePullSecrets=[{"name": "mine"}]), *objects, cache(templateScope=scope))
    predictor = seen.manifest("InferenceService")["spec"]["predictor"]
    assert [one["name"] for one in predictor["imagePullSecrets"]] == secrets
    assert predictor["serviceAccountName"] == name
    own = await look(service(serviceAccountName="mine"), *objects, cache(templateScope=scope))
    assert own.manifest("InferenceService")["spec"]["predictor"]["serviceAccountName"] == "mine"


async def test_pods_go_where_the_template_found_its_gpus() -> None:
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "amd.com/gpu.device-id", "operator": "In", "values": ["74a1"]}]}
            ]
        }
    }
    seen = await look(service(), model(), template(status={"resolvedNodeAffinity": affinity}), cache())
    assert seen.manifest("InferenceService")["spec"]["predictor"]["affinity"] == {"nodeAffinity": affinity}


METRIC = {
    "type": "PodMetric",
    "podmetric": {
        "metric": {"backend": "opentelemetry", "serverAddress": "", "metricNames": ["m"], "query": "m"},
        "target": {"type": "AverageValue", "averageValue": "5"},
    },
}


@pytest.mark.parametrize(
    ("spec", "bounds", "scales", "text"),
    [
        pytest.param({}, (1, 1), False, "1", id="one by default"),
        pytest.param({"replicas": 3}, (3, 3), False, "3", id="a fixed number"),
        pytest.param({"replicas": 3, "minReplicas": 2}, (2, 2), True, "2", id="a minimum alone"),
        pytest.param({"maxReplicas": 4}, (1, 4), True, "1/1 (1-4)", id="a maximum alone"),
        pytest.param({"minReplicas": 2, "maxReplicas": 4}, (2, 4), True, "2/2 (2-4)", id="both"),
        pytest.param({"autoScaling": {"metrics": [METRIC]}}, (1, 1), True, "1", id="metrics alone"),
    ],
)
async def test_who_scales_and_between_what(spec: Any, bounds: tuple[int, int], scales: bool, text: str) -> None:
    seen = await look(service(**spec), *WHOLE)
    made = seen.manifest("InferenceService")
    predictor, annotations = made["spec"]["predictor"], made["metadata"]["annotations"]
    assert (predictor["minReplicas"], predictor["maxReplicas"]) == bounds
    assert "replicas" not in predictor
    assert annotations == (
        {
            "serving.kserve.io/autoscalerClass": "keda",
            "sidecar.opentelemetry.io/inject": f"{SERVED}-predictor",
            "prometheus.kserve.io/port": "8000",
        }
        if scales
        else {"serving.kserve.io/autoscalerClass": "none"}
    )
    runtime = seen.status["runtime"]
    assert (runtime["minReplicas"], runtime["maxReplicas"], runtime["replicas"]) == (*bounds, text)
    assert (seen.condition("HPAReady") != "") == scales


async def test_metrics_are_handed_on_in_the_form_kserve_reads() -> None:
    made = (await look(service(autoScaling={"metrics": [METRIC]}), *WHOLE)).manifest("InferenceService")
    assert made["spec"]["predictor"]["autoScaling"] == {
        "metrics": [
            {
                "type": "PodMetric",
                "podmetric": {
                    "metric": {"backend": "opentelemetry", "metricNames": ["m"], "query": "m"},
                    "target": {"type": "AverageValue", "averageValue": "5", "value": "5"},
                },
            }
        ]
    }
    without = (await look(service(autoScaling={}), *WHOLE)).manifest("InferenceService")
    assert "autoScaling" not in without["spec"]["predictor"]


async def test_the_autoscaler_tells_how_many_replicas_there_are() -> None:
    seen = await look(service(minReplicas=1, maxReplicas=3, status=running()), *WHOLE, served(), pod(), scaler())
    assert seen.status["runtime"] == {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "minReplicas": 1,
        "maxReplicas": 3,
        "replicas": "1/2 (1-3)",
    }


def claims(seen: Any) -> list[str]:
    volumes = seen.manifest("InferenceService")["spec"]["predictor"]["volumes"]
    return [volume["persistentVolumeClaim"]["claimName"] for volume in volumes if "persistentVolumeClaim" in volume]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param((*WHOLE, served(claims=("old",))), ["old"], id="volumes stay, whatever the cache holds now"),
        pytest.param((model(), template(), served(claims=("old",))), ["old"], id="also if the cache is gone"),
        pytest.param((*WHOLE, served(claims=())), ["weights-claim"], id="weights are added where there are none"),
        pytest.param(
            (*WHOLE, served(claims=("old",), template="slow")), ["weights-claim"], id="another template, other weights"
        ),
    ],
)
async def test_volumes_of_pods_that_run(objects: tuple[Manifest, ...], expected: list[str]) -> None:
    seen = await look(service(caching={"mode": "Shared"}, status=running()), *objects)
    assert claims(seen) == expected


async def test_pods_keep_the_old_template_until_the_weights_of_the_new_one_are_there() -> None:
    seen = await look(
        service(status=running(resolvedTemplate={**TEMPLATE_REF, "name": "slow"})),
        model(),
        template(),
        cache("Progressing"),
        served(template="slow"),
    )
    assert seen.status["resolvedTemplate"]["name"] == "fast"
    assert seen.made == []


async def test_what_belongs_to_somebody_else_is_left_alone() -> None:
    seen = await look(service(), *WHOLE, served(owner=STRANGER))
    assert seen.condition("InferenceServiceReady") == "False/NameConflict"
    assert (seen.word, seen.made) == ("Failed", [])


async def test_a_name_that_cannot_be_fails_the_service() -> None:
    namespace = "n" * 43
    wanted = service(routing={"enabled": True, "gatewayRef": {"name": "g"}})
    wanted["metadata"]["namespace"] = namespace
    world = stage(wanted, model(everywhere=True))
    seen = await world.look(SERVICES, "chat", namespace=namespace)
    assert seen.condition("InferenceServiceReady") == "False/InvalidSpec"
    assert seen.message("InferenceServiceReady") == (
        f'namespace "{namespace}" is too long (43 chars); InferenceService hostname would exceed 63 characters'
    )
    assert (seen.word, seen.condition("ConfigValid"), seen.made) == ("Failed", "False/InvalidSpec", [])
