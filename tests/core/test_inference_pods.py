"""Variables, resources and replicas of inference pods."""

import json
from typing import Any

import msgspec
import pytest

from aim_engine.api import quantity
from aim_engine.api.environment import EnvVar, ResourceRequirements
from aim_engine.api.foreign import HorizontalPodAutoscaler
from aim_engine.api.hardware import CpuRequirements, GpuRequirements, HardwareRequirements
from aim_engine.api.service import AIMServiceSpec
from aim_engine.api.template import Profile, TemplateSpec
from aim_engine.core import container_resources, durations, inference_env, scaling


def variables(**values: str) -> list[EnvVar]:
    return [EnvVar(name=name, value=value) for name, value in values.items()]


def spec(**fields: Any) -> AIMServiceSpec:
    return msgspec.convert({"model": {"name": "m"}, **fields}, AIMServiceSpec)


def built(**layers: Any) -> dict[str, str | None]:
    template = layers.get("template", TemplateSpec(model_name="m"))
    environment = inference_env.build(
        layers.get("service", ()), template, layers.get("config", ()), layers.get("profile")
    )
    return {entry.name: entry.value for entry in environment.variables}


def test_the_constants_are_always_there_and_give_way_to_everything() -> None:
    assert built() == {"AIM_CACHE_PATH": "/workspace/model-cache", "VLLM_ENABLE_METRICS": "true"}
    assert built(profile=Profile(env_vars={"VLLM_ENABLE_METRICS": "false"}))["VLLM_ENABLE_METRICS"] == "false"


def test_service_over_template_over_config_over_profile() -> None:
    layers = {
        "profile": Profile(env_vars={"A": "profile", "B": "profile", "C": "profile", "D": "profile"}),
        "config": variables(A="config", B="config", C="config"),
        "template": TemplateSpec(model_name="m", env=tuple(variables(A="template", B="template"))),
        "service": variables(A="service"),
    }
    told = built(**layers)
    assert [told[name] for name in "ABCD"] == ["service", "template", "config", "profile"]


def test_a_template_tells_its_profile_metric_precision_and_own_model() -> None:
    template = msgspec.convert(
        {
            "modelName": "m",
            "profileId": "p",
            "metric": "latency",
            "precision": "fp8",
            "modelSources": [{"modelId": "a/b", "sourceUri": "hf://a/b"}],
            "env": [{"name": "AIM_METRIC", "value": "own"}, {"name": "AIM_MODEL_ID", "value": "other"}],
        },
        TemplateSpec,
    )
    told = built(template=template)
    assert (told["AIM_PROFILE_ID"], told["AIM_METRIC"], told["AIM_PRECISION"]) == ("p", "own", "fp8")
    assert told["AIM_MODEL_ID"] == "a/b"


def test_engine_arguments_are_merged_over_those_of_the_profile() -> None:
    told = built(
        profile=Profile(engine_args={"a": 1, "deep": {"x": 1, "y": 1}}),
        config=variables(AIM_ENGINE_ARGS='{"b": 2, "deep": {"y": 2}}'),
        service=variables(AIM_ENGINE_ARGS='{"c": 3}'),
    )
    assert json.loads(told["AIM_ENGINE_ARGS"] or "") == {"a": 1, "b": 2, "c": 3, "deep": {"x": 1, "y": 2}}


def test_engine_arguments_of_the_profile_alone_are_left_to_the_image() -> None:
    assert "AIM_ENGINE_ARGS" not in built(profile=Profile(engine_args={"a": 1}))


def test_arguments_that_are_no_json_object_are_named_by_their_layer() -> None:
    environment = inference_env.build(
        variables(AIM_ENGINE_ARGS="--fast"), TemplateSpec(model_name="m"), variables(AIM_ENGINE_ARGS="{}"), None
    )
    assert environment.invalid_arguments == ("service",)
    assert {entry.name: entry.value for entry in environment.variables}["AIM_ENGINE_ARGS"] == "--fast"


def test_every_name_stands_once_and_in_order() -> None:
    names = list(built(config=variables(Z="1", A="1"), service=variables(Z="2")))
    assert names == sorted(set(names))


TWO_GPUS = HardwareRequirements(gpu=GpuRequirements(requests=2, model="MI300X"))


@pytest.mark.parametrize(
    ("hardware", "levels", "expected"),
    [
        pytest.param(
            TWO_GPUS,
            [],
            {
                "requests": {"cpu": "8", "memory": "64Gi", "amd.com/gpu": "2"},
                "limits": {"memory": "96Gi", "amd.com/gpu": "2"},
            },
            id="by the number of GPUs",
        ),
        pytest.param(None, [], {}, id="nothing without GPUs"),
        pytest.param(
            None,
            [ResourceRequirements(requests={"cpu": "250m"}, limits={"cpu": "3"})],
            {"requests": {"cpu": "250m"}, "limits": {"cpu": "3"}},
            id="a template for CPUs",
        ),
        pytest.param(
            HardwareRequirements(cpu=CpuRequirements(requests="4", limits="6")),
            [],
            {"requests": {"cpu": "4"}, "limits": {"cpu": "6"}},
            id="the cores of a template for CPUs",
        ),
        pytest.param(
            HardwareRequirements(gpu=TWO_GPUS.gpu, cpu=CpuRequirements(requests="12")),
            [ResourceRequirements(limits={"cpu": "20"})],
            {
                "requests": {"cpu": "12", "memory": "64Gi", "amd.com/gpu": "2"},
                "limits": {"cpu": "20", "memory": "96Gi", "amd.com/gpu": "2"},
            },
            id="cores that are asked for beside GPUs",
        ),
        pytest.param(
            TWO_GPUS,
            [ResourceRequirements(requests={"cpu": "1"}), ResourceRequirements(requests={"cpu": "2"})],
            {
                "requests": {"cpu": "2", "memory": "64Gi", "amd.com/gpu": "2"},
                "limits": {"memory": "96Gi", "amd.com/gpu": "2"},
            },
            id="the last level wins per resource",
        ),
        pytest.param(
            TWO_GPUS,
            [ResourceRequirements(limits={"amd.com/gpu": "4"})],
            {
                "requests": {"cpu": "8", "memory": "64Gi", "amd.com/gpu": "4"},
                "limits": {"memory": "96Gi", "amd.com/gpu": "4"},
            },
            id="one side of a device counts for both",
        ),
        pytest.param(
            TWO_GPUS,
            [ResourceRequirements(requests={"memory": "200Gi"})],
            {
                "requests": {"cpu": "8", "memory": "200Gi", "amd.com/gpu": "2"},
                "limits": {"memory": "200Gi", "amd.com/gpu": "2"},
            },
            id="a limit nobody wrote follows the request",
        ),
    ],
)
def test_resources(hardware: Any, levels: list[ResourceRequirements], expected: Any) -> None:
    named = {f"level {number}": level for number, level in enumerate(levels)}
    assert container_resources.build(hardware, named) == expected


def test_an_amount_that_only_looks_like_one_is_told_with_who_wrote_it() -> None:
    levels = {"model": ResourceRequirements(requests={"memory": "1e1.5"}), "service": ResourceRequirements()}
    with pytest.raises(quantity.Malformed, match=r"^resources\.requests\.memory of the model: '1e1\.5' is no quantity"):
        container_resources.build(TWO_GPUS, levels)


@pytest.mark.parametrize(
    ("fields", "bounds", "automatic", "text"),
    [
        pytest.param({"replicas": 3}, (3, 3), False, "3", id="a fixed number"),
        pytest.param({}, (1, 1), False, "1", id="one by default"),
        pytest.param({"replicas": 1, "minReplicas": 2, "maxReplicas": 4}, (2, 4), True, "2/2 (2-4)", id="a range"),
        pytest.param({"minReplicas": 2}, (2, 2), True, "2", id="without a maximum nothing scales"),
        pytest.param({"maxReplicas": 3}, (1, 3), True, "1/1 (1-3)", id="at least one"),
        pytest.param({"autoScaling": {}}, (1, 1), True, "1", id="metrics alone"),
    ],
)
def test_replicas(fields: Any, bounds: tuple[int, int], automatic: bool, text: str) -> None:
    given = spec(**fields)
    assert scaling.bounds(given) == bounds
    assert scaling.is_automatic(given) is automatic
    assert scaling.replicas(given, None).replicas == text


def test_an_autoscaler_that_was_left_behind_has_no_say() -> None:
    scaler = msgspec.convert({"spec": {"minReplicas": 1, "maxReplicas": 3}}, HorizontalPodAutoscaler)
    assert scaling.replicas(spec(replicas=2), scaler).replicas == "2"
    assert scaling.replicas(spec(replicas=2, maxReplicas=3), scaler).replicas == "0/0 (1-3)"


@pytest.mark.parametrize(
    ("written", "expected"),
    [("180s", "3m0s"), ("30s", "30s"), ("1h", "1h0m0s"), ("500ms", "500ms"), ("1.5s", "1s500ms"), ("0", "0s")],
)
def test_timeouts_are_written_as_gateways_take_them(written: str, expected: str) -> None:
    duration = durations.parse(written)
    assert duration is not None
    assert durations.text(duration) == expected
