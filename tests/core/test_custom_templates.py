"""Templates that a model describes itself."""

import pytest

from aim_engine.api.environment import EnvVar
from aim_engine.api.hardware import (
    CpuRequirements,
    GpuRequirements,
    HardwareRequirements,
    Metric,
    Precision,
    ProfileType,
    RuntimeParameters,
)
from aim_engine.api.image_metadata import RecommendedDeployment
from aim_engine.api.model import AIMModelSpec, CustomModel, CustomTemplate, TemplateProfile
from aim_engine.api.sources import ModelSource
from aim_engine.api.template import TemplateSpec
from aim_engine.core import custom_templates, recommendations
from aim_engine.core.custom_templates import WantedTemplate
from aim_engine.manifests import service_template
from aim_engine.objects import ObjectMeta

SOURCES = (ModelSource(model_id="acme/tiny", source_uri="hf://acme/tiny", size="1024Mi"),)
FAST = CustomTemplate(
    name="fast",
    profile=TemplateProfile(metric=Metric.LATENCY, precision=Precision.FP8),
    hardware=HardwareRequirements(gpu=GpuRequirements(requests=2, model="MI300X")),
)
CPU = HardwareRequirements(cpu=CpuRequirements(requests="250m", limits="3000m"))


def wanted(spec: AIMModelSpec, *taken: str) -> tuple[WantedTemplate, ...]:
    return custom_templates.wanted("my-qwen", spec, lambda name: name not in taken)


@pytest.mark.parametrize(
    ("entries", "taken", "names"),
    [
        pytest.param((), (), ["my-qwen-custom-b7270826"], id="one for a custom model without entries"),
        pytest.param((FAST,), (), ["fast"], id="the name its user gave it"),
        pytest.param(
            (FAST, CustomTemplate(name="plain")),
            ("fast", "plain"),
            ["my-qwen-custom-fast-fp8-mi300x-899e30c4", "my-qwen-custom-plain-65808a57"],
            id="made up where the names are taken",
        ),
        pytest.param(
            (CustomTemplate(name="same"), CustomTemplate(name="same")),
            (),
            ["same", "my-qwen-custom-same-00000000"],
            id="each name once",
        ),
        pytest.param(
            (CustomTemplate(name="Not A Name"),), (), ["my-qwen-custom-not-a-name-00000000"], id="no object's name"
        ),
    ],
)
def test_names(entries: tuple[CustomTemplate, ...], taken: tuple[str, ...], names: list[str]) -> None:
    made = [
        one.name for one in wanted(AIMModelSpec(image="a", model_sources=SOURCES, custom_templates=entries), *taken)
    ]
    assert [
        name[:-8] if expected.endswith("00000000") else name for name, expected in zip(made, names, strict=True)
    ] == [expected.removesuffix("00000000") for expected in names]
    assert len(set(made)) == len(made)


def test_an_image_model_without_entries_has_none() -> None:
    assert wanted(AIMModelSpec(image="a")) == ()


def test_defaults_are_for_custom_models_only() -> None:
    defaults = CustomModel(hardware=CPU, type=ProfileType.PREVIEW)
    entry = CustomTemplate(name="t")
    (custom,) = wanted(AIMModelSpec(image="a", model_sources=SOURCES, custom=defaults, custom_templates=(entry,)))
    assert custom.type is ProfileType.PREVIEW
    assert custom.parameters.hardware == HardwareRequirements(cpu=CpuRequirements(requests="250m", limits="3"))
    (image,) = wanted(AIMModelSpec(image="a", custom=defaults, custom_templates=(entry,)))
    assert image.type is ProfileType.UNOPTIMIZED
    assert image.parameters.hardware is None


def test_variables_of_the_entry_win() -> None:
    spec = AIMModelSpec(
        image="a",
        env=(EnvVar(name="A", value="model"), EnvVar(name="B", value="model")),
        custom_templates=(CustomTemplate(env=(EnvVar(name="B", value="entry"),)),),
    )
    assert wanted(spec)[0].env == (EnvVar(name="A", value="model"), EnvVar(name="B", value="entry"))


def test_the_walk_of_a_custom_model_on_processors() -> None:
    spec = AIMModelSpec(image="a", model_sources=SOURCES, custom=CustomModel(hardware=CPU))
    manifest = service_template.custom(ObjectMeta(name="my-qwen", namespace="team"), spec, wanted(spec)[0])
    assert manifest == {
        "apiVersion": "aim.eai.amd.com/v1alpha1",
        "kind": "AIMServiceTemplate",
        "metadata": {
            "name": "my-qwen-custom-b7270826",
            "namespace": "team",
            "labels": {"aim.eai.amd.com/model": "my-qwen", "aim.eai.amd.com/origin": "auto-generated"},
        },
        "spec": {
            "modelName": "my-qwen",
            "type": "unoptimized",
            "hardware": {"cpu": {"requests": "250m", "limits": "3"}},
            "resources": {"requests": {"cpu": "250m"}, "limits": {"cpu": "3"}},
            "modelSources": ({"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1Gi"},),
        },
    }


def test_the_template_of_the_worked_example() -> None:
    image = "ghcr.io/acme/aim-llama-3-8b:1.2.0"
    deployment = RecommendedDeployment(
        gpu_model="MI300X", gpu_count=1, precision="fp8", metric="latency", profile_id="vllm-1"
    )
    (template,) = recommendations.templates("llama-3-8b", image, [deployment]).templates
    manifest = service_template.recommended(ObjectMeta(name="llama-3-8b"), AIMModelSpec(image=image), template)
    gpu = {"requests": 1, "model": "MI300X"}
    assert manifest["kind"] == "AIMClusterServiceTemplate"
    assert manifest["metadata"]["name"] == "ghcr-io-acme-aim-llama-3-8b-1-2-0-1x-mi300x-lat-fp8-05c7"
    assert manifest["spec"] == {
        "modelName": "llama-3-8b",
        "metric": "latency",
        "precision": "fp8",
        "profileId": "vllm-1",
        "gpu": gpu,
        "hardware": {"gpu": gpu},
    }


def test_the_alias_is_kept_beside_a_made_up_name() -> None:
    spec = AIMModelSpec(image="a", custom_templates=(FAST,))
    manifest = service_template.custom(ObjectMeta(name="m", namespace="team"), spec, wanted(spec, "fast")[0])
    assert manifest["metadata"]["labels"]["aim.eai.amd.com/template.alias"] == "fast"


def gpu(requests: int, resource: str | None = None) -> HardwareRequirements:
    return HardwareRequirements(gpu=GpuRequirements(requests=requests, resource_name=resource))


@pytest.mark.parametrize(
    ("existing", "asked", "expected"),
    [
        pytest.param(gpu(1, "amd.com/gpu"), gpu(1), False, id="the default that the API server filled in"),
        pytest.param(gpu(1), gpu(2), True, id="another number"),
        pytest.param(None, gpu(2), False, id="a field may be added"),
        pytest.param(gpu(1), None, False, id="and taken away"),
        pytest.param(
            CPU, HardwareRequirements(cpu=CpuRequirements(requests="0.25", limits=3)), False, id="same amount"
        ),
        pytest.param(CPU, HardwareRequirements(cpu=CpuRequirements(requests="250m")), True, id="a limit less"),
    ],
)
def test_what_cannot_be_changed_is_made_anew(
    existing: HardwareRequirements | None, asked: HardwareRequirements | None, expected: bool
) -> None:
    before = TemplateSpec(model_name="m", hardware=existing)
    assert custom_templates.must_be_made_anew(before, RuntimeParameters(hardware=asked)) is expected
