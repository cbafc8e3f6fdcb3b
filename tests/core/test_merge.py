"""Layers over one another: variables, engine arguments and structs."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.environment import EnvVar, EnvVarSource, KeySelector
from aim_engine.api.runtime import ParentReference, Routing, Storage
from aim_engine.core import merge


def env(**values: str) -> tuple[EnvVar, ...]:
    return tuple(EnvVar(name=name, value=value) for name, value in values.items())


FROM_SECRET = EnvVar(name="HF_TOKEN", value_from=EnvVarSource(secret_key_ref=KeySelector(name="hf", key="token")))


def test_a_variable_is_replaced_where_it_stands_and_new_ones_follow() -> None:
    merged = merge.variables(env(HF_TOKEN="t", HTTP_PROXY="p"), env(HTTPS_PROXY="q", HF_TOKEN="s"))
    assert merged == env(HF_TOKEN="s", HTTP_PROXY="p", HTTPS_PROXY="q")


def test_a_variable_from_a_secret_replaces_the_whole_entry() -> None:
    assert merge.variables(env(HF_TOKEN="t"), (FROM_SECRET,)) == (FROM_SECRET,)
    assert merge.variables((FROM_SECRET,), env(HF_TOKEN="t")) == env(HF_TOKEN="t")


def test_without_being_asked_engine_arguments_are_replaced_like_any_variable() -> None:
    assert merge.variables(env(AIM_ENGINE_ARGS='{"a":1}'), env(AIM_ENGINE_ARGS='{"b":2}')) == env(
        AIM_ENGINE_ARGS='{"b":2}'
    )


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        pytest.param(['{"b":1,"a":1}', '{"a":2}'], '{"a":2,"b":1}', id="by key, sorted"),
        pytest.param(
            ['{"x":{"a":1,"b":[1]}}', '{"x":{"b":[2]}}'], '{"x":{"a":1,"b":[2]}}', id="objects inside, lists not"
        ),
        pytest.param(['{"x":{"a":1}}', '{"x":null}'], '{"x":null}', id="an explicit null wins"),
        pytest.param(['{"b": {"d": 1, "c": 1}, "a": 1}'], '{"a":1,"b":{"c":1,"d":1}}', id="a single layer, sorted"),
        pytest.param(['{"b": 1, "a": 1}', ""], '{"a":1,"b":1}', id="an empty layer yields the lower, sorted"),
        pytest.param(["  ", '{"b": 1, "a": 1}'], '{"a":1,"b":1}', id="a blank layer yields the higher, sorted"),
        pytest.param(["--flag  --other"], "--flag  --other", id="a single layer that is no JSON keeps its text"),
        pytest.param(['{"a":1}', "--flag"], "--flag", id="no JSON wins over what is below"),
        pytest.param(['{"a":1}', "--flag", '{"b":2}'], '{"b":2}', id="no JSON loses to what is above"),
        pytest.param(['{"a":1}', "[1]"], "[1]", id="a list is no object"),
        pytest.param(['{"a":1}', '{"a":NaN}'], '{"a":NaN}', id="NaN is no JSON"),
        pytest.param(['{"a":1,"b":2}', '{"a":3}', '{"c":4}'], '{"a":3,"b":2,"c":4}', id="three layers"),
    ],
)
def test_engine_arguments_are_merged_as_json(layers: list[str], expected: str) -> None:
    merged = merge.variables_and_arguments(*(env(AIM_ENGINE_ARGS=text) for text in layers))
    assert merged == env(AIM_ENGINE_ARGS=expected)


def test_engine_arguments_from_elsewhere_replace_and_are_replaced() -> None:
    elsewhere = EnvVar(name="AIM_ENGINE_ARGS", value_from=FROM_SECRET.value_from)
    literal = env(AIM_ENGINE_ARGS='{"a":1}')
    assert merge.variables_and_arguments(literal, (elsewhere,)) == (elsewhere,)
    assert merge.variables_and_arguments((elsewhere,), literal) == literal
    assert merge.variables_and_arguments((elsewhere,), env(AIM_ENGINE_ARGS="")) == (elsewhere,)


def test_arguments_nested_beyond_reason_do_not_stop_anything() -> None:
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    assert merge.arguments('{"b":1}', deep) == deep
    assert merge.arguments("", deep) == deep
    nested = '{"a":' * 900 + "1" + "}" * 900
    assert merge.arguments(nested, nested) == nested


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


@given(OBJECTS, OBJECTS)
def test_a_merged_object_has_every_key_and_keeps_what_is_above(a: dict[str, object], b: dict[str, object]) -> None:
    merged = merge.objects(a, b)
    assert set(merged) == {*a, *b}
    assert merge.objects(merged, b) == merged
    assert merge.objects(a, a) == a


@given(OBJECTS, OBJECTS)
def test_merged_arguments_are_json_again(a: dict[str, object], b: dict[str, object]) -> None:
    merged = merge.arguments(json.dumps(a), json.dumps(b))
    assert json.loads(merged) == merge.objects(a, b)


@given(st.lists(st.lists(st.sampled_from("ABCDE"), unique=True), max_size=4))
def test_every_name_occurs_once_with_the_value_of_the_highest_layer(layers: list[list[str]]) -> None:
    merged = merge.variables(*(env(**{name: str(i) for name in layer}) for i, layer in enumerate(layers)))
    highest = {name: str(i) for i, layer in enumerate(layers) for name in layer}
    assert {entry.name: entry.value for entry in merged} == highest
    assert len(merged) == len(highest)


@pytest.mark.parametrize(
    ("lower", "higher", "expected"),
    [
        pytest.param(
            Storage(pvc_headroom_percent=10),
            Storage(pvc_headroom_percent=0),
            Storage(pvc_headroom_percent=0),
            id="an explicit 0",
        ),
        pytest.param(Routing(enabled=True), Routing(enabled=False), Routing(enabled=False), id="an explicit false"),
        pytest.param(
            Routing(path_template="/a"),
            Routing(path_template=""),
            Routing(path_template=""),
            id="an explicit empty text",
        ),
        pytest.param(
            Routing(enabled=True),
            Routing(path_template="/a"),
            Routing(enabled=True, path_template="/a"),
            id="the rest stays",
        ),
        pytest.param(
            Routing(annotations={"a": "1", "b": "1"}),
            Routing(annotations={"b": "2"}),
            Routing(annotations={"a": "1", "b": "2"}),
            id="maps by key",
        ),
        pytest.param(
            Routing(gateway_ref=ParentReference(name="a", namespace="n", port=80)),
            Routing(gateway_ref=ParentReference(name="b", port=443)),
            Routing(gateway_ref=ParentReference(name="b", namespace="n", port=443)),
            id="structs inside",
        ),
        pytest.param(None, Storage(pvc_headroom_percent=1), Storage(pvc_headroom_percent=1), id="no lower"),
        pytest.param(Storage(pvc_headroom_percent=1), None, Storage(pvc_headroom_percent=1), id="no higher"),
    ],
)
def test_structs_field_by_field(lower: msgspec.Struct, higher: msgspec.Struct, expected: msgspec.Struct) -> None:
    assert merge.structs(lower, higher) == expected


@given(*[st.lists(st.sampled_from("ABCDE"), unique=True)] * 3)
def test_it_does_not_matter_which_layers_are_merged_first(low: list[str], middle: list[str], high: list[str]) -> None:
    layers = [env(**dict.fromkeys(names, value)) for names, value in ((low, "low"), (middle, "middle"), (high, "high"))]
    together = merge.variables(*layers)
    assert merge.variables(merge.variables(layers[0], layers[1]), layers[2]) == together
    assert merge.variables(layers[0], merge.variables(layers[1], layers[2])) == together


SHAPED = st.recursive(
    st.fixed_dictionaries({}, optional={"number": st.integers(), "text": st.text(max_size=3)}),
    lambda inner: st.fixed_dictionaries({}, optional={"number": st.integers(), "inside": inner}),
    max_leaves=4,
)
"""Objects in which a name is always of one kind, as the arguments of an engine are."""


@given(SHAPED, SHAPED, SHAPED)
def test_nor_does_it_for_engine_arguments(a: dict[str, object], b: dict[str, object], c: dict[str, object]) -> None:
    texts = [json.dumps(one) for one in (a, b, c)]
    left = merge.arguments(merge.arguments(texts[0], texts[1]), texts[2])
    right = merge.arguments(texts[0], merge.arguments(texts[1], texts[2]))
    assert json.loads(left) == json.loads(right)
