"""Any value of any of our types survives the way to JSON and back."""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aim_engine.api import foreign
from aim_engine.api.kinds import KINDS

# JSON has no lone surrogates, and times of Kubernetes have whole seconds.
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)).map(
    lambda time: time.replace(microsecond=0)
)
JSON = st.recursive(
    st.booleans() | NUMBERS | TEXT, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2)
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {str: TEXT, bool: st.booleans(), int: NUMBERS, datetime: TIMES, Any: JSON}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type; structs inside it have their required fields only, for each is tested by itself."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is Annotated:
        return values(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(values(member) for member in arguments if member is not NoneType)
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXT, values(arguments[1]), max_size=2)
    if issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    return structs(hint, complete=False)


def structs(kind: type[msgspec.Struct], *, complete: bool) -> st.SearchStrategy[Any]:
    fields = msgspec.structs.fields(kind)
    return st.fixed_dictionaries(
        {field.name: values(field.type) for field in fields if field.required},
        optional={field.name: values(field.type) for field in fields if complete and not field.required},
    ).map(lambda given: kind(**given))


def reachable(hint: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs of which a type is made, itself included."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
        for field in msgspec.structs.fields(hint):
            yield from reachable(field.type)
    for argument in get_args(hint):
        yield from reachable(argument)


ROOTS = [
    *(kind.type for kind in KINDS),
    *(view for name in foreign.__all__ if "metadata" in dir(view := getattr(foreign, name))),
]
PARTS = dict.fromkeys(part for root in ROOTS for part in reachable(root))


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_value_survives_json(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    value = data.draw(structs(kind, complete=True))
    assert msgspec.json.decode(msgspec.json.encode(value), type=kind) == value


@pytest.mark.parametrize("kind", ROOTS, ids=lambda kind: kind.__name__)
def test_fields_that_a_newer_server_adds_are_ignored(kind: type[Any]) -> None:
    newer = b'{"metadata": {"name": "a", "novelty": 1}, "status": {"novelty": {}}, "novelty": []}'
    assert msgspec.json.decode(newer, type=kind).metadata.name == "a"
