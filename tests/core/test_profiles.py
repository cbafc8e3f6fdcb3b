"""What becomes of the output of a dry run, good or bad."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.core import profiles
from aim_engine.core.profiles import Discovered, Unreadable
from aim_engine.objects import Manifest

ELEMENT: Manifest = {
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
OTHER = {"profile": {"metadata": {"engine": "other"}}, "models": []}
OUTPUT = json.dumps([ELEMENT, OTHER], indent=2)


def found(log: str) -> Discovered:
    result = profiles.read(log)
    assert isinstance(result, Discovered), result
    return result


def seen(value: object) -> Manifest:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_the_first_profile_becomes_what_the_status_shows() -> None:
    result = found(OUTPUT)
    assert seen(result.profile) == {
        "engine_args": {"tensor-parallel-size": 1, "gpu-memory-utilization": 0.95},
        "env_vars": {"VLLM_USE_V1": "1"},
        "metadata": {
            "engine": "vllm",
            "gpu": "MI300X",
            "gpuCount": 1,
            "precision": "fp8",
            "metric": "latency",
            "type": "optimized",
        },
        "originalDiscoveryOutput": ELEMENT,
    }
    assert seen(result.sources) == [
        {"modelId": "acme/tiny-chat-fp8", "sourceUri": "hf://acme/tiny-chat-fp8", "size": "512Mi"}
    ]
    assert result.remarks == ()


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(OUTPUT, id="nothing but the array"),
        pytest.param(f"INFO starting\n{OUTPUT}", id="lines before"),
        pytest.param(f"{OUTPUT}\nINFO done", id="lines after"),
        pytest.param(f"[INFO] starting [1]\n{OUTPUT}\n[INFO] done [ok]", id="brackets before and after"),
        pytest.param(
            f'[{{"level": "info"}}]\n{OUTPUT}\n[{{"level": "info"}}]', id="arrays of objects before and after"
        ),
        pytest.param(f"[1, 2]\n{OUTPUT}\n[]", id="other arrays before and after"),
        pytest.param(f"{json.dumps([OTHER])}\n{OUTPUT}", id="of two arrays of profiles the last"),
    ],
)
def test_the_array_is_found_among_other_lines(log: str) -> None:
    assert found(log).profile.metadata == found(OUTPUT).profile.metadata


@pytest.mark.parametrize(
    ("log", "message"),
    [
        pytest.param("", "the dry run printed nothing", id="empty"),
        pytest.param(" \n", "the dry run printed nothing", id="blank"),
        pytest.param(
            "Traceback: boom",
            "the dry run printed no JSON array of profiles; its output ends with: Traceback: boom",
            id="garbage",
        ),
        pytest.param("[]", "the dry run printed no JSON array of profiles; its output ends with: []", id="no profile"),
        pytest.param("[1]", "the dry run printed no JSON array of profiles; its output ends with: [1]", id="no object"),
        pytest.param(
            '[{"a": 1}]',
            'the dry run printed no JSON array of profiles; its output ends with: [{"a": 1}]',
            id="another object",
        ),
        pytest.param(
            '[{"models": [{"name": "x", "source": "hf://a/b"}]}]',
            'models[0].name of the dry run is "x"; it has to be org/name',
            id="a model id the API refuses",
        ),
        pytest.param(
            '[{"models": [{"name": "a/b\\n", "source": "hf://a/b"}]}]',
            'models[0].name of the dry run is "a/b\\n"; it has to be org/name',
            id="a model id with a line break at its end",
        ),
        pytest.param(
            '[{"models": [{"name": "a/b", "source": "hf://a/b\\n"}]}]',
            'models[0].source of the dry run is "hf://a/b\\n"; it has to begin with hf:// or s3://',
            id="a source with a line break at its end",
        ),
        pytest.param(
            '[{"models": [{"name": "a/b", "source": "ftp://x"}]}]',
            'models[0].source of the dry run is "ftp://x"; it has to begin with hf:// or s3://',
            id="a source the API refuses",
        ),
        pytest.param(
            '[{"models": [{"name": "a/b"}]}]',
            "models[0].source of the dry run is null; it has to begin with hf:// or s3://",
            id="no source",
        ),
        pytest.param('[{"profile": {}, "models": {}}]', "models is an object, not a list", id="models of another kind"),
        pytest.param('[{"models": ["a/b"]}]', "models[0] is a text, not an object", id="a model of another kind"),
        pytest.param(
            '[{"profile": {"engine_args": {"a": "\\ud800"}}}]',
            "the dry run printed text that is no Unicode",
            id="half a character",
        ),
    ],
)
def test_what_cannot_be_used_says_why(log: str, message: str) -> None:
    assert profiles.read(log) == Unreadable(message)


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.99])
def test_truncated_output_is_not_mistaken_for_less(cut: float) -> None:
    whole = json.dumps([ELEMENT])
    assert isinstance(profiles.read(whole[: int(len(whole) * cut)]), Unreadable)


def test_tokens_in_garbage_are_not_shown() -> None:
    result = profiles.read("oops hf_abcdefghijklmnopqrstuvwxyz0123")
    assert isinstance(result, Unreadable) and "hf_a" not in result.message


def test_huge_output_is_refused_and_large_output_is_not_kept_twice() -> None:
    def with_argument(size: int) -> str:
        return json.dumps([{"profile": {"engine_args": {"a": "x" * size}}}])

    assert isinstance(profiles.read(with_argument(2 * 1024 * 1024)), Unreadable)
    large = found(with_argument(300 * 1024))
    assert large.profile.original_discovery_output is None
    assert large.remarks == ("the output is too long to be kept in originalDiscoveryOutput",)


@pytest.mark.parametrize(
    "garbage", ["[" * 200_000, "[1," * 200_000, '[{"a":' * 100_000, "[ " * 1_000_000, "x" * 5_000_000]
)
def test_endless_garbage_is_given_up_on(garbage: str) -> None:
    assert isinstance(profiles.read(garbage), Unreadable)


def test_a_long_log_before_the_array_does_not_matter() -> None:
    assert found("noise\n" * 1_000_000 + OUTPUT).sources == found(OUTPUT).sources


def read_one(**profile: object) -> Discovered:
    return found(json.dumps([{"profile": profile}]))


@pytest.mark.parametrize(
    ("metadata", "kept", "remark"),
    [
        pytest.param({"metric": "speed"}, {}, 'metadata.metric "speed" is none of latency, throughput', id="metric"),
        pytest.param(
            {"precision": 8},
            {},
            "metadata.precision 8 is none of auto, fp4, fp8, fp16, fp32, bf16, int4, int8",
            id="precision",
        ),
        pytest.param({"precision": "FP8"}, {"precision": "fp8"}, None, id="precision in upper case"),
        pytest.param(
            {"type": "fast"}, {}, 'metadata.type "fast" is none of optimized, preview, unoptimized', id="type"
        ),
        pytest.param({"gpu_count": "many"}, {}, 'metadata.gpu_count "many" is no count', id="count"),
        pytest.param({"gpu_count": -1}, {}, "metadata.gpu_count -1 is no count", id="negative count"),
        pytest.param({"gpu_count": 0}, {"gpuCount": 0}, None, id="a count of 0 is a count"),
        pytest.param({"gpu": ["a"]}, {}, "metadata.gpu is a list, not a text", id="GPU"),
        pytest.param({"gpu": "M" * 64}, {"gpu": "M" * 64}, None, id="the longest GPU"),
        pytest.param(
            {"gpu": "M" * 65},
            {},
            f'metadata.gpu "{"M" * 65}" is longer than 64 characters',
            id="a GPU that is too long",
        ),
        pytest.param({"metric": "", "gpu": ""}, {}, None, id="empty ones are absent"),
    ],
)
def test_what_the_status_cannot_hold_is_left_out_and_told(
    metadata: Manifest, kept: Manifest, remark: str | None
) -> None:
    result = read_one(metadata=metadata)
    assert seen(result.profile.metadata) == kept
    assert result.remarks == ((remark,) if remark else ())


def test_variables_are_texts() -> None:
    result = read_one(env_vars={"A": "x", "B": 1, "C": True, "D": {"e": 1}, "F": None})
    assert result.profile.env_vars == {"A": "x", "B": "1", "C": "true"}
    assert result.remarks == ("env_vars.D is an object, not a text", "env_vars.F is null, not a text")


@pytest.mark.parametrize(
    ("size_gb", "expected"),
    [
        pytest.param(0.5, "512Mi", id="half"),
        pytest.param(2.3, "2469606195", id="truncated to bytes"),
        pytest.param(16, "16Gi", id="whole"),
        pytest.param(0, None, id="zero is unknown"),
        pytest.param(None, None, id="absent"),
        pytest.param(-1, None, id="negative"),
        pytest.param("big", None, id="a text"),
        pytest.param(1e30, None, id="beyond reason"),
        pytest.param(1e-30, None, id="less than a byte"),
    ],
)
def test_size_of_a_model(size_gb: object, expected: str | None) -> None:
    model = {"name": "a/b", "source": "hf://a/b", "size_gb": size_gb}
    assert found(json.dumps([{"models": [model]}])).sources[0].size == expected


def test_arguments_keep_their_structure() -> None:
    assert read_one(engine_args={"a": {"b": [1, None, "x"]}}).profile.engine_args == {"a": {"b": [1, None, "x"]}}
    wrong = read_one(engine_args=["a"], metadata="none")
    assert wrong.profile.engine_args is None
    assert wrong.remarks == ("metadata is a text, not an object", "engine_args is a list, not an object")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=12,
)
KEYS = st.sampled_from(["engine", "gpu", "gpu_count", "metric", "precision", "type"])
PROFILES = st.fixed_dictionaries(
    {},
    optional={
        "profile": st.one_of(
            JSON,
            st.fixed_dictionaries(
                {}, optional={"metadata": st.dictionaries(KEYS, JSON), "env_vars": JSON, "engine_args": JSON}
            ),
        ),
        "models": st.one_of(
            JSON, st.lists(st.fixed_dictionaries({"name": st.text(), "source": st.text(), "size_gb": JSON}))
        ),
    },
)


@given(st.one_of(JSON, st.lists(PROFILES, max_size=2)), st.text(max_size=20), st.text(max_size=20))
def test_any_output_is_read_or_refused_and_what_is_read_can_be_stored(output: object, before: str, after: str) -> None:
    result = profiles.read(f"{before}\n{json.dumps(output)}\n{after}")
    assert isinstance(result, Unreadable) or msgspec.json.encode(result)


@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    assert isinstance(profiles.read(text), Discovered | Unreadable)
