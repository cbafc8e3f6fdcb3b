"""Sizes are exact where volumes depend on them, and short where people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from aim_engine.api import quantity
from aim_engine.core import sizes


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        pytest.param(None, None, id="absent"),
        pytest.param("0", None, id="zero is unknown"),
        pytest.param(0, None, id="the number zero"),
        pytest.param("2.2Gi", 2362232013, id="a fraction of a byte is rounded up"),
        pytest.param("9094593249", 9094593249, id="plain bytes"),
        pytest.param("10M", 10_000_000, id="decimal"),
    ],
)
def test_a_size_in_bytes(size: str | int | None, expected: int | None) -> None:
    assert sizes.in_bytes(size) == expected


@pytest.mark.parametrize(
    ("size", "headroom", "request_"),
    [
        pytest.param(9094593249, 10, "10Gi", id="a 9 GB model"),
        pytest.param(2 * 1024**3, 10, "3Gi", id="2Gi with headroom"),
        pytest.param(5 * 1024**3, 10, "6Gi", id="5Gi with headroom"),
        pytest.param(10 * 1024**3, 10, "11Gi", id="10Gi with headroom"),
        pytest.param(10 * 1024**2, 10, "1Gi", id="never less than one gibibyte"),
        pytest.param(2 * 1024**3, 0, "2Gi", id="no headroom asked for"),
        pytest.param(1024 * 1024**3, 0, "1Ti", id="larger units where they fit"),
    ],
)
def test_a_volume_has_room_for_the_weights(size: int, headroom: int, request_: str) -> None:
    assert sizes.claim(size, headroom) == request_


@given(some.integers(1, 2**50), some.integers(0, 300))
def test_a_claim_is_never_too_small_and_less_than_a_gibibyte_too_large(size: int, headroom: int) -> None:
    claimed = quantity.parse(sizes.claim(size, headroom))
    wanted = size * (100 + headroom) // 100
    assert 0 <= claimed - wanted < sizes.GIBI


@pytest.mark.parametrize(
    ("size", "text"),
    [
        pytest.param(0, "0 B", id="nothing"),
        pytest.param(1023, "1023 B", id="bytes"),
        pytest.param(10 * 1024**2, "10 MiB", id="no decimal when it is zero"),
        pytest.param(523 * 1024**2, "523 MiB", id="whole numbers from 100 on"),
        pytest.param(2362232013, "2.2 GiB", id="one decimal below 100"),
        pytest.param(1024**4 * 3 // 2, "1.5 TiB", id="tebibytes"),
        pytest.param(1024**3 - 1, "1 GiB", id="what rounds to 1024 takes the next unit"),
        pytest.param(2**70, "7 EiB", id="the upper limit"),
    ],
)
def test_a_size_for_people(size: int, text: str) -> None:
    assert sizes.display(size) == text
