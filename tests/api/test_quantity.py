"""Quantities are exact, and written as the API server writes them."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api import quantity

SUFFIXES = ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e+5")
CEILING = 2**63 - 1

written = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("", "+", "-")),
    st.integers(0, 10**15),
    st.sampled_from(("", ".", ".5", ".25", ".000000001", ".0000000001")),
    st.sampled_from(SUFFIXES),
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", "0"),
        (16, "16"),
        ("500m", "0.5"),
        ("1.5Gi", "1610612736"),
        ("192G", "192000000000"),
        ("12e6", "12000000"),
        ("1E", "1000000000000000000"),
        ("1E3", "1000"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-3Ki", "-3072"),
        ("+1k", "1000"),
        ("1n", "0.000000001"),
    ],
)
def test_the_number_behind_a_text(text: int | str, number: str) -> None:
    assert quantity.parse(text) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("1.5Gi", "1536Mi", id="no fraction, the next smaller suffix"),
        pytest.param("0.5", "500m", id="a fraction becomes milli"),
        pytest.param("100000", "100k", id="thousands get a suffix"),
        pytest.param("1024", "1024", id="plain bytes stay decimal"),
        pytest.param("1024Ki", "1Mi", id="binary stays binary"),
        pytest.param("1000Mi", "1000Mi", id="binary is not rounded to a thousand"),
        pytest.param("0.5Ki", "512", id="below 1024 nothing is binary"),
        pytest.param("1.1Ki", "1126400m", id="no fraction of a byte gets lost"),
        pytest.param("0.00000000001Ei", "11529215046068470n", id="exa binary is no exponent"),
        pytest.param("1e4", "10e3", id="exponents stay exponents"),
        pytest.param("1e0", "1", id="an exponent of nothing vanishes"),
        pytest.param("0Gi", "0", id="nothing is nothing"),
        pytest.param("0.0000000001", "1n", id="below a nano is rounded up"),
        pytest.param("-0.0000000001", "-1n", id="below a nano is rounded away from zero"),
        pytest.param("8Ei", "9223372036854775807", id="too much is cut"),
        pytest.param("1e30", "9223372036854775807", id="far too much is cut"),
        pytest.param(2048, "2048", id="a number is decimal"),
    ],
)
def test_the_text_the_server_writes(text: int | str, canonical: str) -> None:
    assert quantity.canonical(text) == canonical


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1536, "1536"),
        (2**30, "1Gi"),
        (3 * 2**30, "3Gi"),
        (2**40, "1Ti"),
        (2**70, "1024Ei"),
        (-(2**20), "-1Mi"),
    ],
)
def test_bytes_with_the_largest_suffix_that_divides_them(number: int, text: str) -> None:
    assert quantity.binary(number) == text


@pytest.mark.parametrize(
    "text", ["", "Gi", "1 Gi", "1gi", "abc", "1e", "1e1.5", "--1", "1GiB", "0x10", "1,5", "1e99999"]
)
def test_a_text_that_is_no_quantity_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity; write a number"):
        quantity.parse(text)


@given(written)
def test_canonical_text_means_the_same_number_within_the_servers_limits(text: str) -> None:
    number = max(min(quantity.parse(text), CEILING), -CEILING)
    again = quantity.parse(quantity.canonical(text))
    assert abs(again - number) < Decimal("1e-9")
    assert abs(again) >= abs(number)


@given(written)
def test_canonical_text_is_stable_and_admitted_by_the_schema(text: str) -> None:
    canonical = quantity.canonical(text)
    assert quantity.canonical(canonical) == canonical
    assert re.fullmatch(quantity.PATTERN.strip("^$"), canonical)
    assert "." not in canonical


@given(st.integers(-(2**80), 2**80))
def test_no_byte_is_lost_in_binary(number: int) -> None:
    assert quantity.parse(quantity.binary(number)) == number
