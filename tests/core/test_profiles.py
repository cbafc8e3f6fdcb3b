"""The output of a dry run becomes a profile, or one sentence on why it does not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from aim_engine.api.template import ProfileMetadata
from aim_engine.core import profiles
from aim_engine.core.profiles import Discovered, Unusable

ELEMENT: dict[str, Any] = {
    "filename": "vllm-mi300x-fp8-tp1-latency.yaml",
    "profile": {
        "model": "acme/tiny-chat",
        "quantized_model": "acme/tiny-chat-fp8",
        "metadata": {
            "engine": "vllm",
            "gpu": "MI300X",
            "gpu_count": 1,
            "precision": "fp8",
            "metric": "latency",
            "type": "optimized",
        },
        "engine_args": {"tensor-parallel-size": 1, "gpu-memory-utilization": 0.95},
        "env_vars": {"VLLM_USE_V1": "1"},
    },
    "models": [{"name": "acme/tiny-chat-fp8", "source": "hf://acme/tiny-chat-fp8", "size_gb": 0.5}],
}


def changed(**change: Any) -> str:
    return json.dumps([{**ELEMENT, **change}])


def found(output: str) -> Discovered:
    read = profiles.read(output)
    assert isinstance(read, Discovered), read
    return read


def test_a_whole_profile_is_read() -> None:
    read = found(json.dumps([ELEMENT]))
    assert read.profile.metadata == ProfileMetadata(
        engine="vllm", gpu="MI300X", gpu_count=1, metric="latency", precision="fp8", type="optimized"
    )
    assert read.profile.engine_args == {"tensor-parallel-size": 1, "gpu-memory-utilization": 0.95}
    assert read.profile.env_vars == {"VLLM_USE_V1": "1"}
    assert read.profile.original_discovery_output == ELEMENT
    assert [(one.model_id, one.source_uri, one.size) for one in read.sources] == [
        ("acme/tiny-chat-fp8", "hf://acme/tiny-chat-fp8", "512Mi")
    ]
    assert read.remarks == ()


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(f"INFO starting\n{json.dumps([ELEMENT])}", id="log lines before it"),
        pytest.param(f"[INFO] [1, 2] starting\n{json.dumps([ELEMENT], indent=2)}\n", id="brackets in log lines"),
        pytest.param(f"{json.dumps([ELEMENT])}\n[done] a[0] ]\n", id="brackets in lines after it"),
        pytest.param(json.dumps([ELEMENT, {"profile": {}}]), id="further profiles"),
        pytest.param(f'[{{"progress": 1}}]\n{json.dumps([ELEMENT])}', id="another list of objects before it"),
    ],
)
def test_what_surrounds_the_profile_does_no_harm(output: str) -> None:
    assert found(output).sources[0].model_id == "acme/tiny-chat-fp8"


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0.5, "512Mi"), (2.3, "2469606195"), (0, None), (-1, None), (None, None), ("big", None), (1e300, None)],
)
def test_sizes_are_whole_bytes_or_left_to_be_found_out(size: Any, expected: str | None) -> None:
    models = [{"name": "a/b", "source": "hf://a/b", "size_gb": size}]
    assert found(changed(models=models)).sources[0].size == expected


def test_words_outside_the_vocabulary_are_left_out_and_reported() -> None:
    metadata = {"metric": "speed", "precision": "fp7", "type": "tuned", "gpu_count": "two"}
    read = found(changed(profile={"metadata": metadata}))
    assert read.profile.metadata == ProfileMetadata()
    assert read.remarks == (
        "metric 'speed' is none of latency, throughput",
        "precision 'fp7' is none of auto, fp4, fp8, fp16, fp32, bf16, int4, int8",
        "type 'tuned' is none of optimized, preview, unoptimized",
    )


@pytest.mark.parametrize(
    ("output", "why"),
    [
        pytest.param("", "the dry run printed nothing", id="empty"),
        pytest.param(" \n", "the dry run printed nothing", id="blank"),
        pytest.param(
            "usage: aim [-h]",
            "the dry run printed no JSON list of profiles; its output may be cut off",
            id="no JSON at all",
        ),
        pytest.param(
            json.dumps([ELEMENT])[:-2],
            "the dry run printed no JSON list of profiles; its output may be cut off",
            id="cut off inside",
        ),
        pytest.param("[]", "the dry run printed no JSON list of profiles; its output may be cut off", id="no profile"),
        pytest.param(changed(models=[]), "the dry run names no model to download", id="no model"),
        pytest.param(
            changed(models=[{"name": "tiny", "source": "hf://a/b"}]),
            "models[0].name of the dry run is 'tiny'; it has to be org/name",
            id="a model without organisation",
        ),
        pytest.param(
            changed(models=[{"name": "a/b", "source": "ftp://a/b"}]),
            "models[0].source of the dry run is 'ftp://a/b'; it has to begin with hf:// or s3://",
            id="a source nobody can fetch",
        ),
        pytest.param(
            changed(profile={"engine_args": [1]}),
            "'engine_args' in the output of the dry run is no object",
            id="arguments of the wrong shape",
        ),
    ],
)
def test_an_unusable_output_is_one_sentence(output: str, why: str) -> None:
    read = profiles.read(output)
    assert read == Unusable(why)


def test_a_huge_output_is_refused_without_being_read() -> None:
    read = profiles.read("[" * (profiles.LARGEST + 1))
    assert isinstance(read, Unusable)
    assert "more than the 1048576 that can be kept" in read.why


json_values = some.recursive(
    some.none() | some.booleans() | some.floats() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
keys = some.sampled_from(["profile", "models", "metadata", "name", "source", "engine_args", "env_vars", "size_gb"])
elements = some.recursive(
    json_values, lambda inner: some.dictionaries(keys, inner, max_size=4) | some.lists(inner, max_size=2)
)


@given(some.text(max_size=200) | some.lists(elements, max_size=2).map(json.dumps))
def test_no_output_breaks_the_reading(output: str) -> None:
    assert isinstance(profiles.read(output), Discovered | Unusable)
