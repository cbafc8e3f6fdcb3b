"""The names users see, to the letter: they must never change between releases."""

import re
import string

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.environment import EnvVar
from aim_engine.api.hardware import (
    CpuRequirements,
    GpuRequirements,
    HardwareRequirements,
    Metric,
    Precision,
    RuntimeParameters,
)
from aim_engine.api.image_metadata import RecommendedDeployment
from aim_engine.api.model import CustomTemplate, TemplateProfile
from aim_engine.api.sources import ModelSource
from aim_engine.core import naming
from aim_engine.core.derived_name import label_value
from aim_engine.core.images import InvalidImage
from aim_engine.core.problems import Category, Problem

UID = "3f8a1c52-7d44-4b0e-9a6f-0c2d5e718b90"
QWEN = "hf://Qwen/Qwen2-0.5B"


def env(*entries: dict[str, object]) -> tuple[EnvVar, ...]:
    return msgspec.convert(entries, tuple[EnvVar, ...])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(naming.inference_service("qwen-chat", "ml-team"), "qwen-chat-a04542d9", id="InferenceService"),
        pytest.param(
            naming.inference_service("team-alpha-production-llama-3-3-70b-instruct-service", "ml-team"),
            "team-alpha-production-llama-3-3-70b-2b3acfd6",
            id="InferenceService of a long name hashes the whole name",
        ),
        pytest.param(naming.inference_service("qwen-chat", "n" * 42), "q-", id="InferenceService in a long namespace"),
        pytest.param(naming.http_route("qwen-chat", "ml-team"), "qwen-chat-a04542d9", id="HTTPRoute"),
        pytest.param(naming.autoscaler("x"), "keda-hpa-x-predictor", id="HorizontalPodAutoscaler"),
        pytest.param(
            naming.shared_template_cache("qwen3-32b-mi300x-lat", "ml-team"),
            "qwen3-32b-mi300x-lat-a04542d9",
            id="shared template cache",
        ),
        pytest.param(
            naming.dedicated_template_cache(
                "qwen3-32b-mi300x-lat", "qwen-chat", "3f0c8f1e-5a70-4a0b-9a57-0d6c1f8f2b11"
            ),
            "qwen3-32b-mi300x-lat-qwen-chat-19697bb0",
            id="dedicated template cache",
        ),
        pytest.param(
            naming.dedicated_template_cache("my-template", "my-service", UID),
            "my-template-my-service-fd4a46fc",
            id="dedicated template cache of another UID",
        ),
        pytest.param(naming.volume("my-model", UID), "my-model-cache-fd4a46fc", id="volume"),
        pytest.param(naming.check_size_job("my-model", UID), "my-model-check-size-fd4a46fc", id="check-size Job"),
        pytest.param(naming.download_job("my-model", UID), "my-model-download-fd4a46fc", id="download Job"),
        pytest.param(naming.artifact(QWEN, (), ""), "hf---qwen-qwen2-0-5b-f71e8faae6", id="shared artifact"),
        pytest.param(
            naming.artifact(QWEN, env({"name": "HF_TOKEN", "value": "my-token"}), ""),
            "hf---qwen-qwen2-0-5b-3572228cf0",
            id="artifact with a variable",
        ),
        pytest.param(
            naming.artifact(
                QWEN,
                env({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"key": "token", "name": "hf"}}}),
                "nfs",
            ),
            "hf---qwen-qwen2-0-5b-c66e628480",
            id="artifact with a variable from a secret and a storage class",
        ),
        pytest.param(
            naming.artifact(QWEN, (), "", dedicated_to="my-cache"),
            "hf---qwen-qwen2-0-5b-eeaa90cdb8",
            id="dedicated artifact",
        ),
        pytest.param(
            naming.model_of_image("registry.example.com/org/aim-dummy:0.1.10"),
            "aim-dummy-0-1-10-73d41212",
            id="model of an image",
        ),
        pytest.param(
            naming.model_of_image("org/aim-qwen-qwen3-32b@sha256:abcdef0123456789"),
            "aim-qwen-qwen3-32b-abcdef-d940a6be",
            id="model of an image by digest",
        ),
        pytest.param(
            naming.cluster_model("ghcr.io", "acme/aim-llama", "1.0.0"),
            "acme-aim-llama-1-0-0-d6a684",
            id="cluster model of a source",
        ),
        pytest.param(
            naming.cluster_model("docker.io", "amdenterpriseai/aim-qwen-qwen3-32b", "0.8.4"),
            "amdenterpriseai-aim-qwen-qwen3-32b-0-8-4-c3c81a",
            id="cluster model on Docker Hub",
        ),
        pytest.param(
            naming.cluster_model("ghcr.io", "acme/aim-example-labs-large-chat-4.1-120b-instruct-preview", "2.0.1-rc1"),
            "acme-aim-example-labs-large-chat-4-1-120b-inst-2-0-1-rc1-d78c4f",
            id="cluster model with a long repository",
        ),
    ],
)
def test_name(name: str, expected: str) -> None:
    assert name.startswith(expected) if expected.endswith("-") else name == expected


def test_an_inference_service_in_a_namespace_of_42_characters_has_ten() -> None:
    namespace = "a-team-that-likes-very-long-namespace-name"
    name = naming.inference_service("qwen-chat", namespace)
    assert isinstance(name, str) and len(name) == 10 and name.startswith("q-")


def test_a_namespace_of_43_characters_is_too_long_for_an_inference_service() -> None:
    assert naming.inference_service("qwen-chat", "n" * 43) == Problem(
        Category.INVALID_SPEC,
        "InvalidSpec",
        f'namespace "{"n" * 43}" is too long (43 chars); InferenceService hostname would exceed 63 characters',
    )


def test_a_broken_image_has_no_model_name() -> None:
    assert isinstance(naming.model_of_image("repo/name:"), InvalidImage)


def source(model_id: str, uri: str, endpoint: str = "") -> ModelSource:
    variables = env({"name": "AWS_ENDPOINT_URL", "value": endpoint}) if endpoint else ()
    return ModelSource(model_id=model_id, source_uri=uri, env=variables)


BASE = "registry.example.com/org/aim-base:0.9"
TWO_MI300X = HardwareRequirements(gpu=GpuRequirements(requests=2, model="MI300X", resource_name="amd.com/gpu"))


@pytest.mark.parametrize(
    ("of", "beside", "expected"),
    [
        pytest.param(source("Qwen/Qwen2-0.5B", QWEN), None, "qwen-qwen2-0-5b-91b7ea57", id="from Hugging Face"),
        pytest.param(
            source("acme/tiny", "s3://bucket/tiny", "https://minio-a.example.com"),
            None,
            "acme-tiny-db738f3f",
            id="from S3 with an endpoint",
        ),
        pytest.param(
            source("Qwen/Qwen2-0.5B", QWEN), TWO_MI300X, "qwen-qwen2-0-5b-d350df8b", id="beside one with other hardware"
        ),
    ],
)
def test_name_of_a_custom_model(of: ModelSource, beside: HardwareRequirements | None, expected: str) -> None:
    assert naming.custom_model(BASE, [of], beside) == expected


RECOMMENDED = RecommendedDeployment(gpu_model="MI300X", gpu_count=1, precision="fp8", metric="latency")
IMAGE = "ghcr.io/acme/aim-llama-3-8b:1.2.0"


@pytest.mark.parametrize(
    ("model", "image", "deployment", "expected"),
    [
        pytest.param(
            "llama-3-8b",
            IMAGE,
            RECOMMENDED,
            "ghcr-io-acme-aim-llama-3-8b-1-2-0-1x-mi300x-lat-fp8-05c7",
            id="everything given",
        ),
        pytest.param(
            "llama-3-8b",
            "registry.example.com/team/aim-meta-llama-llama-3-1-70b-instruct:1.2.0",
            RecommendedDeployment(gpu_model="MI300X", gpu_count=8, precision="fp16", metric="throughput"),
            "registry-example-com-team-aim-meta-llam-8x-mi300x-thr-fp16-d89c",
            id="a long image is cut",
        ),
        pytest.param("m", "acme/base:1", RecommendedDeployment(), "acme-base-1-part-8c79", id="nothing given"),
    ],
)
def test_name_of_a_recommended_template(
    model: str, image: str, deployment: RecommendedDeployment, expected: str
) -> None:
    assert naming.recommended_template(model, image, deployment) == expected


def test_recommended_templates_that_differ_only_in_their_profile_can_be_told_apart() -> None:
    pinned = msgspec.structs.replace(RECOMMENDED, profile_id="vllm-mi300x-fp8-tp1-latency")
    assert naming.recommended_template("m", IMAGE, pinned) == naming.recommended_template("m", IMAGE, RECOMMENDED)
    apart = naming.recommended_template("m", IMAGE, pinned, apart=True)
    assert apart != naming.recommended_template("m", IMAGE, RECOMMENDED)


FAST = CustomTemplate(
    name="fast",
    profile=TemplateProfile(metric=Metric.LATENCY, precision=Precision.FP8),
    hardware=HardwareRequirements(gpu=GpuRequirements(requests=2, model="MI300X")),
)


@pytest.mark.parametrize(
    ("index", "entry", "expected"),
    [
        pytest.param(0, None, "my-qwen-custom-b7270826", id="generated without entries"),
        pytest.param(0, FAST, "my-qwen-custom-fast-fp8-mi300x-899e30c4", id="entry with profile and GPU"),
        pytest.param(1, CustomTemplate(name="plain"), "my-qwen-custom-plain-65808a57", id="entry with a name only"),
    ],
)
def test_name_of_a_custom_template(index: int, entry: CustomTemplate | None, expected: str) -> None:
    assert naming.custom_template("my-qwen", index, entry) == expected


def on_gpu(**fields: object) -> RuntimeParameters:
    return RuntimeParameters(hardware=HardwareRequirements(gpu=msgspec.convert(fields, GpuRequirements)))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        pytest.param(
            RuntimeParameters(
                gpu=GpuRequirements(requests=4, model="MI300X"), precision=Precision.FP8, metric=Metric.THROUGHPUT
            ),
            "my-template-ovr-mi300x-4gpu-fp8-throughput-b295",
            id="everything, in the earlier naming",
        ),
        pytest.param(RuntimeParameters(metric=Metric.LATENCY), "my-template-ovr-latency-817c", id="metric only"),
        pytest.param(RuntimeParameters(), "my-template", id="nothing"),
        pytest.param(None, "my-template", id="absent"),
        pytest.param(on_gpu(resourceName="amd.com/gpu"), "my-template", id="the schema's default is no override"),
    ],
)
def test_name_of_an_overridden_template(overrides: RuntimeParameters | None, expected: str) -> None:
    assert naming.overridden_template("my-template", overrides) == expected


def test_overrides_without_a_visible_part_still_tell_templates_apart() -> None:
    invisible = [
        on_gpu(minVram="192Gi"),
        on_gpu(minVram="128Gi"),
        on_gpu(resourceName="amd.com/gpu-half"),
        RuntimeParameters(hardware=HardwareRequirements(cpu=CpuRequirements(requests=4))),
        RuntimeParameters(hardware=HardwareRequirements(cpu=CpuRequirements(requests=4, limits=8))),
    ]
    found = {naming.overridden_template("base", overrides) for overrides in invisible}
    assert len(found) == len(invisible)
    assert all(name.startswith("base-ovr-") and len(name) == len("base-ovr-0000") for name in found)


def test_equal_quantities_in_overrides_give_one_name() -> None:
    names = {naming.overridden_template("base", on_gpu(minVram=text)) for text in ("1Ti", "1024Gi")}
    assert len(names) == 1


DISCOVERY = naming.Discovery(
    model_name="llama-3-8b",
    image=IMAGE,
    parameters=RuntimeParameters(
        metric=Metric.LATENCY,
        precision=Precision.FP8,
        hardware=HardwareRequirements(gpu=GpuRequirements(requests=1, model="MI300X")),
    ),
)


def test_name_and_hash_of_a_discovery() -> None:
    assert naming.discovery_job("llama-lat", DISCOVERY, "", (), ()) == "discover-llama-lat-5544bf64"
    assert naming.discovery_hash(DISCOVERY) == "5544bf64af2e7cd1"


def test_the_job_of_a_discovery_changes_with_its_pod_but_the_discovery_does_not() -> None:
    variables = env({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "t"}}})
    plain = naming.discovery_job("t", DISCOVERY, "", (), ())
    assert (
        len(
            {
                plain,
                naming.discovery_job("t", DISCOVERY, "sa", (), ()),
                naming.discovery_job("t", DISCOVERY, "", variables, ()),
            }
        )
        == 3
    )


OBJECT_NAMES = st.from_regex(
    r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,2}", fullmatch=True
)


@given(OBJECT_NAMES)
def test_a_discovery_job_of_any_template_has_a_valid_name(template: str) -> None:
    name = naming.discovery_job(template, DISCOVERY, "", (), ())
    assert len(name) <= 63
    for label in name.split("."):
        assert label and label[0] != "-" and label[-1] != "-"
        assert set(label) <= set(string.ascii_lowercase + string.digits + "-")


@given(OBJECT_NAMES, st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True))
def test_the_host_name_of_any_inference_service_fits(service: str, namespace: str) -> None:
    name = naming.inference_service(service, namespace)
    assert isinstance(name, Problem) == (len(namespace) > 42)
    assert isinstance(name, Problem) or len(f"{name}-predictor-{namespace}") <= 63


def test_variables_are_hashed_in_one_order_and_without_empty_fields() -> None:
    written = env(
        {"name": "A", "value": "", "valueFrom": {"secretKeyRef": {"optional": False, "key": "k", "name": "s"}}},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}},
    )
    assert [list(entry) for entry in naming.env_for_hash(written)] == [["name", "valueFrom"]] * 2
    assert list(naming.env_for_hash(written)[0]["valueFrom"]["secretKeyRef"]) == ["name", "key", "optional"]
    assert list(naming.env_for_hash(written)[1]["valueFrom"]["fieldRef"]) == ["apiVersion", "fieldPath"]


DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
NAMESPACES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?", fullmatch=True)


@given(OBJECT_NAMES, OBJECT_NAMES, NAMESPACES)
def test_everything_made_for_a_service_of_any_name_fits(service: str, template: str, namespace: str) -> None:
    served = naming.inference_service(service, namespace)
    assert isinstance(served, str)
    names = {
        "InferenceService": served,
        "its Deployment, Service and ScaledObject": naming.predictor(served),
        "its host": f"{naming.predictor(served)}-{namespace}",
        "HTTPRoute": naming.http_route(service, namespace),
        "Shared cache": naming.shared_template_cache(template, namespace),
        "Shared cache beside another": naming.shared_template_cache(template, namespace, beside="Cluster"),
        "Dedicated cache": naming.dedicated_template_cache(template, service, "3f0c8f1e-5a70-4a0b-9a57-0d6c1f8f2b11"),
    }
    for what, name in names.items():
        assert len(name) <= 63, what
        assert DNS_LABEL.fullmatch(name), what
    assert len(naming.autoscaler(served)) <= 253
    label = label_value(service)
    assert label is not None
    assert len(label) <= 63


@given(OBJECT_NAMES, OBJECT_NAMES)
def test_shared_caches_of_two_templates_never_meet_once_they_are_kept_apart(one: str, other: str) -> None:
    apart = [naming.shared_template_cache(name, "ml-team", beside="Namespace") for name in (one, other)]
    assert (apart[0] == apart[1]) == (one == other)
    assert naming.shared_template_cache(one, "ml-team") not in apart
