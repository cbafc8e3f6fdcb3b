"""Templates: the model they depend on, what they stand for, and the cache that serves them."""

import pytest

from aim_engine.api.artifact import CacheMode
from aim_engine.api.hardware import (
    CpuRequirements,
    GpuRequirements,
    HardwareRequirements,
    Metric,
    Precision,
    ProfileType,
)
from aim_engine.api.model import AIMClusterModel, AIMModel, AIMModelSpec, AIMModelStatus
from aim_engine.api.sources import ModelSource
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import (
    AIMServiceTemplate,
    AIMServiceTemplateSpec,
    Profile,
    ProfileMetadata,
    TemplateCaching,
)
from aim_engine.api.template_cache import AIMTemplateCache, AIMTemplateCacheSpec, AIMTemplateCacheStatus, TemplateScope
from aim_engine.core import templates
from aim_engine.manifests import template_cache
from aim_engine.objects import Condition, ObjectMeta, OwnerReference

SOURCES = (ModelSource(model_id="a/b", source_uri="hf://a/b"),)


def model(status: AIMStatus, *untrue: str) -> AIMModel:
    conditions = tuple(Condition(type=name, status="False", reason="Bad", message="") for name in untrue)
    return AIMModel(
        metadata=ObjectMeta(name="m", namespace="team", uid="u"),
        spec=AIMModelSpec(image="acme/m:1"),
        status=AIMModelStatus(status=status, conditions=conditions),
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(None, (AIMStatus.DEGRADED, "ReferenceNotFound", "Upstream dependency not found"), id="missing"),
        pytest.param(
            AIMModel(metadata=ObjectMeta(name="m"), spec=AIMModelSpec(image="")),
            (AIMStatus.FAILED, "ImageNotSpecified", "AIMModel m names no image"),
            id="without an image",
        ),
        pytest.param(
            model(AIMStatus.DEGRADED, "ImageMetadataReady", "Ready"),
            (AIMStatus.DEGRADED, "ModelFailed", "AIMModel is in Degraded state"),
            id="degraded by itself",
        ),
        pytest.param(
            model(AIMStatus.FAILED, "ServiceTemplatesReady", "Ready"),
            (AIMStatus.READY, "ModelFound", "AIMModel found with valid image"),
            id="failed only because of its templates",
        ),
        pytest.param(
            model(AIMStatus.PROGRESSING, "ImageMetadataReady"),
            (AIMStatus.READY, "ModelFound", "AIMModel found with valid image"),
            id="on its way",
        ),
        pytest.param(
            AIMClusterModel(metadata=ObjectMeta(name="m"), spec=AIMModelSpec(image="acme/m:1")),
            (AIMStatus.READY, "ModelFound", "AIMClusterModel found with valid image"),
            id="of the cluster, seen from a namespace",
        ),
    ],
)
def test_the_model_as_a_template_sees_it(found: AIMModel | AIMClusterModel | None, expected: object) -> None:
    component = templates.model_component(found, in_namespace=True)
    assert component.condition == "ModelReady"
    assert (component.effective_state, component.effective_reason, component.effective_message) == expected


def test_a_cluster_template_speaks_of_a_cluster_model() -> None:
    assert templates.model_component(None, in_namespace=False).condition == "ClusterModelReady"
    found = AIMClusterModel(metadata=ObjectMeta(name="m", uid="u"), spec=AIMModelSpec(image="acme/m:1"))
    assert templates.model_component(found, in_namespace=False).reason == "ClusterModelFound"


def test_given_sources_make_a_profile_of_the_spec_alone() -> None:
    spec = AIMServiceTemplateSpec(
        model_name="m",
        metric=Metric.LATENCY,
        precision=Precision.FP8,
        type=ProfileType.PREVIEW,
        hardware=HardwareRequirements(gpu=GpuRequirements(requests=2, model="MI300X")),
        model_sources=SOURCES,
    )
    assert templates.inline_profile(spec) == Profile(
        metadata=ProfileMetadata(
            gpu="MI300X", gpu_count=2, metric=Metric.LATENCY, precision=Precision.FP8, type=ProfileType.PREVIEW
        )
    )
    assert templates.inline_profile(AIMServiceTemplateSpec(model_name="m")) == Profile(metadata=ProfileMetadata())


def test_the_type_of_the_spec_wins_over_discovery() -> None:
    found = Profile(metadata=ProfileMetadata(engine="vllm", type=ProfileType.OPTIMIZED))
    kept = templates.typed(found, AIMServiceTemplateSpec(model_name="m"))
    assert kept == found
    changed = templates.typed(found, AIMServiceTemplateSpec(model_name="m", type=ProfileType.UNOPTIMIZED))
    assert changed.metadata == ProfileMetadata(engine="vllm", type=ProfileType.UNOPTIMIZED)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        pytest.param({"profile": {"metadata": {"type": "Optimized"}}}, ProfileType.OPTIMIZED, id="what was reported"),
        pytest.param({"profile": {"metadata": {}}}, None, id="nothing, if nothing was reported"),
        pytest.param(None, ProfileType.UNOPTIMIZED, id="what is there, if the output is not kept"),
    ],
)
def test_a_type_that_is_taken_out_of_the_spec_leaves(printed: object, expected: ProfileType | None) -> None:
    overridden = Profile(
        metadata=ProfileMetadata(engine="vllm", type=ProfileType.UNOPTIMIZED), original_discovery_output=printed
    )
    kept = templates.typed(overridden, AIMServiceTemplateSpec(model_name="m"))
    assert kept.metadata == ProfileMetadata(engine="vllm", type=expected)


def gpu(requests: int | None = None, model: str | None = None, vram: str | None = None) -> HardwareRequirements:
    """As the API server stores it, the default resource filled in."""
    told = GpuRequirements(requests=requests, model=model, min_vram=vram, resource_name="amd.com/gpu")
    return HardwareRequirements(gpu=told)


@pytest.mark.parametrize(
    ("asked", "profile", "expected"),
    [
        pytest.param(gpu(1, "MI300X"), None, gpu(1, "MI300X"), id="the spec's, before anything is known"),
        pytest.param(
            gpu(1, "MI300X"),
            Profile(metadata=ProfileMetadata(gpu="MI325X", gpu_count=4)),
            gpu(4, "MI325X"),
            id="discovery's word first",
        ),
        pytest.param(
            gpu(2, "MI300X"), Profile(metadata=ProfileMetadata()), gpu(2, "MI300X"), id="the spec's where it is silent"
        ),
        pytest.param(
            gpu(2, vram="65536Mi"),
            Profile(metadata=ProfileMetadata(gpu="MI300X", gpu_count=0)),
            gpu(0, "MI300X", "64Gi"),
            id="a count of zero counts, and memory stays beside the model",
        ),
        pytest.param(
            HardwareRequirements(cpu=CpuRequirements(requests="2000m")),
            None,
            HardwareRequirements(cpu=CpuRequirements(requests="2")),
            id="processors only",
        ),
        pytest.param(
            None,
            Profile(metadata=ProfileMetadata(gpu="MI300X", gpu_count=1)),
            gpu(1, "MI300X"),
            id="what was found though nothing was asked, as the API server will store it",
        ),
        pytest.param(None, Profile(metadata=ProfileMetadata()), None, id="nothing at all"),
    ],
)
def test_hardware_that_services_use(
    asked: HardwareRequirements | None, profile: Profile | None, expected: HardwareRequirements | None
) -> None:
    spec = AIMServiceTemplateSpec(model_name="m", hardware=asked)
    assert templates.resolved_hardware(spec, profile) == expected


TEMPLATE = AIMServiceTemplate(
    metadata=ObjectMeta(name="t", namespace="team", uid="template"), spec=AIMServiceTemplateSpec(model_name="m")
)


def cache(
    name: str,
    state: AIMStatus | None = None,
    *,
    template: str = "t",
    owner: str = "",
    mode: CacheMode | None = None,
    scope: TemplateScope | None = None,
) -> AIMTemplateCache:
    owners = (OwnerReference(api_version="v1", kind="AIMServiceTemplate", name="t", uid=owner),) if owner else ()
    return AIMTemplateCache(
        metadata=ObjectMeta(name=name, namespace="team", owner_references=owners),
        spec=AIMTemplateCacheSpec(template_name=template, template_scope=scope, mode=mode),
        status=AIMTemplateCacheStatus(status=state) if state else None,
    )


@pytest.mark.parametrize(
    ("caches", "expected"),
    [
        pytest.param([], None, id="none"),
        pytest.param(
            [cache("best", AIMStatus.READY), cache("own", AIMStatus.PENDING, owner="template")], "own", id="its own"
        ),
        pytest.param([cache("slow", AIMStatus.PENDING), cache("best", AIMStatus.READY)], "best", id="the best"),
        pytest.param([cache("x", mode=CacheMode.DEDICATED)], None, id="not one that belongs to a service"),
        pytest.param([cache("x", scope=TemplateScope.CLUSTER)], None, id="not one of its cluster twin"),
        pytest.param([cache("x", template="u")], None, id="not one of another template"),
    ],
)
def test_the_cache_that_serves_a_template(caches: list[AIMTemplateCache], expected: str | None) -> None:
    serving = templates.serving_cache(TEMPLATE, caches)
    assert (serving.metadata.name if serving else None) == expected


@pytest.mark.parametrize(
    ("state", "status", "reason"),
    [
        (AIMStatus.READY, "True", "Ready"),
        (AIMStatus.PROGRESSING, "False", "WaitingForCache"),
        (None, "False", "WaitingForCache"),
        (AIMStatus.DEGRADED, "False", "CacheDegraded"),
        (AIMStatus.NOT_AVAILABLE, "False", "CacheDegraded"),
        (AIMStatus.FAILED, "False", "CacheFailed"),
    ],
)
def test_how_the_cache_does_is_told_but_does_not_count(state: AIMStatus | None, status: str, reason: str) -> None:
    note = templates.cache_note(cache("c", state), wanted=False)
    assert note and (note.type, note.status, note.reason, note.counts) == ("CacheReady", status, reason, False)


def test_a_cache_that_is_wanted_and_not_there_is_waited_for() -> None:
    assert templates.cache_note(None, wanted=False) is None
    note = templates.cache_note(None, wanted=True)
    assert note and note.reason == "WaitingForCache"


def test_the_cache_a_template_makes() -> None:
    template = AIMServiceTemplate(
        metadata=ObjectMeta(name="t", namespace="team"),
        spec=AIMServiceTemplateSpec(
            model_name="m", runtime_config_name="rc", caching=TemplateCaching(enabled=True), env=()
        ),
    )
    assert template_cache.of_template(template) == {
        "apiVersion": "aim.eai.amd.com/v1alpha1",
        "kind": "AIMTemplateCache",
        "metadata": {"name": "t", "namespace": "team"},
        "spec": {"templateName": "t", "templateScope": "Namespace", "runtimeConfigName": "rc"},
    }
