"""Sizes of weights and of the volumes they get."""

from collections.abc import Sequence
from decimal import ROUND_CEILING

import msgspec

from aim_engine.api import quantity
from aim_engine.api.quantity import Quantity
from aim_engine.api.sources import ModelSource

GIBI = 1024**3
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
DISPLAY_LIMIT = 7 * 1024**6


def in_bytes(size: Quantity | None) -> int | None:
    """The size in whole bytes, fractions rounded up; None if it is absent, zero or negative, which means unknown."""
    if size is None:
        return None
    return max(int(quantity.parse(size).to_integral_value(ROUND_CEILING)), 0) or None


def claim(size: int, headroom_percent: int) -> str:
    """What to request for weights of that size: with headroom, in whole gibibytes."""
    wanted = size * (100 + headroom_percent) // 100
    return quantity.binary(-(-wanted // GIBI) * GIBI)


def display(size: int) -> str:
    """The size for people, in binary units, with one decimal where that tells more: `8.5 GiB`, `523 MiB`, `0 B`."""
    size = min(size, DISPLAY_LIMIT)
    power = max((size.bit_length() - 1) // 10, 0)
    if round(size / 1024**power, 1) >= 1024 and power + 1 < len(UNITS):
        power += 1
    value = size / 1024**power
    text = f"{value:.0f}" if value >= 100 or power == 0 else f"{value:.1f}".removesuffix(".0")
    return f"{text} {UNITS[power]}"


def canonical(sources: Sequence[ModelSource]) -> tuple[ModelSource, ...]:
    """The sources with their sizes in the form the API server prints."""
    return tuple(
        source if source.size is None else msgspec.structs.replace(source, size=quantity.canonical(source.size))
        for source in sources
    )
