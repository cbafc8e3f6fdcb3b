"""How derived names and label values are built from any text."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.core import derived_name
from aim_engine.core.derived_name import derived, derived_apart, hash_text, label_value

UID = "3f8a1c52-7d44-4b0e-9a6f-0c2d5e718b90"
LONG = "hf---huggingfacetb-smollm-135m-instruct-with-a-very-long-name-indeed-1234567890"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"[a-z0-9]([-a-z0-9._]*[a-z0-9])?")


@pytest.mark.parametrize(
    ("parts", "inputs", "digits", "expected"),
    [
        pytest.param(["my-model", "cache"], [UID], 8, "my-model-cache-fd4a46fc", id="hash of a UID"),
        pytest.param(
            [LONG, "check-size"],
            [UID],
            8,
            "hf---huggingfacetb-smollm-135m-instruct-wit-check-size-fd4a46fc",
            id="the longest part is cut to 63 characters in all",
        ),
        pytest.param(["qwen-chat"], ["ml-team"], 8, "qwen-chat-a04542d9", id="hash of a namespace"),
        pytest.param(
            ["hf://Qwen/Qwen2-0-5B"],
            ["hf://Qwen/Qwen2-0.5B", None, ""],
            10,
            "hf---qwen-qwen2-0-5b-f71e8faae6",
            id="null and an empty string are hashed as such",
        ),
        pytest.param(["a_b.C", "--"], [{"b": "1", "a": "2"}], 8, "a-b-c-part-9487d3f7", id="maps are sorted by key"),
        pytest.param(["a<b&c"], ["a<b&c"], 8, "a-b-c-ddd94d10", id="angle brackets and ampersands are escaped"),
        pytest.param(["a", "b"], [], 8, "a-b", id="no hash inputs, no suffix"),
        pytest.param(["Ünïcode"], [], 8, "n-code", id="letters beyond a to z become dashes, none at the ends"),
    ],
)
def test_name_from_parts_and_hash_inputs(parts: list[str], inputs: list[str], digits: int, expected: str) -> None:
    assert derived(parts, *inputs, digits=digits) == expected


def test_ties_are_cut_at_the_first_of_the_longest_parts() -> None:
    assert derived(["a" * 40, "b" * 40]) == f"{'a' * 31}-{'b' * 31}"
    assert derived(["a" * 40, "b" * 40], limit=62) == f"{'a' * 30}-{'b' * 31}"


def test_a_dash_left_at_the_end_of_a_cut_part_goes_too() -> None:
    assert derived(["abcd-----efgh"], limit=8) == "abcd"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param('é\n"', '"é\\n\\""', id="text keeps its letters and escapes controls"),
        pytest.param([], "null", id="an empty list is null"),
        pytest.param({}, "null", id="an empty map is null"),
        pytest.param(4, "4", id="integers are plain"),
        pytest.param(["a", "b"], '["a","b"]', id="lists are compact"),
        pytest.param({"b": "1", "a": "2"}, '["a","2","b","1"]', id="maps are flat lists"),
    ],
)
def test_json_of_a_hash_input(value: derived_name.HashInput, expected: str) -> None:
    assert hash_text(value) == expected


@given(
    parts=st.lists(st.text(max_size=90), min_size=1, max_size=5),
    inputs=st.lists(st.one_of(st.text(), st.integers(), st.none(), st.lists(st.text())), max_size=4),
    digits=st.sampled_from([4, 6, 8, 10]),
    limit=st.integers(min_value=21, max_value=63),
)
def test_any_input_gives_a_valid_name_within_its_limit(
    parts: list[str], inputs: list[str], digits: int, limit: int
) -> None:
    name = derived(parts, *inputs, digits=digits, limit=limit)
    assert NAME.fullmatch(name) and len(name) <= limit


@given(st.text(max_size=100), st.text(max_size=100))
def test_different_hash_inputs_give_different_names(one: str, other: str) -> None:
    printable = one.encode("utf-8", "replace") == other.encode("utf-8", "replace")
    assert (derived(["x"], one) == derived(["x"], other)) == printable


NAMES = st.text(alphabet=string.ascii_lowercase + string.digits, min_size=1, max_size=120)


@given(NAMES, NAMES, st.sampled_from(["ml-team", "default"]), st.integers(min_value=12, max_value=63))
def test_names_of_neighbours_stay_apart_even_when_cut(one: str, other: str, namespace: str, limit: int) -> None:
    assert (derived_apart([one], namespace, limit=limit) == derived_apart([other], namespace, limit=limit)) == (
        one == other
    )


def test_long_neighbours_of_one_prefix_stay_apart() -> None:
    stem = "team-alpha-production-llama-3-3-70b-instruct-service-with-a-long-tail-"
    assert derived_apart([stem + "a"], "ml-team") != derived_apart([stem + "b"], "ml-team")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("amd/Llama-3.1-8B Instruct__", "amd_llama-3.1-8b_instruct", id="runs become one underscore"),
        pytest.param("My Svc/1", "my_svc_1", id="lower case"),
        pytest.param("Qwen/Qwen2-0.5B", "qwen_qwen2-0.5b", id="dots stay"),
        pytest.param("a" * 62 + "._x", "a" * 62, id="nothing but letters and digits at the end, after the cut too"),
        pytest.param("_/._", None, id="nothing left"),
        pytest.param("", None, id="empty"),
    ],
)
def test_label_value(text: str, expected: str | None) -> None:
    assert label_value(text) == expected


@given(st.text(max_size=200))
def test_any_text_gives_a_valid_label_value_or_none(text: str) -> None:
    value = label_value(text)
    assert value is None or (LABEL_VALUE.fullmatch(value) and len(value) <= 63 and label_value(value) == value)
