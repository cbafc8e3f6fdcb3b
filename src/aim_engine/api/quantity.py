"""Kubernetes quantities (`500m`, `1.5Gi`, `12e6`) as exact numbers, and back in canonical form."""

import re
from decimal import ROUND_UP, Decimal, localcontext
from typing import Annotated, TypeAlias

from aim_engine.api.declare import Keywords

PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

Quantity: TypeAlias = Annotated[
    int | str,
    Keywords(
        {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": PATTERN, "x-kubernetes-int-or-string": True}
    ),
]
"""A quantity as a user wrote it; `parse` gives its number."""

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {0: "", **{power: suffix for suffix, power in _BINARY.items()}}
_SHAPE = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,4})?")
_NANO = Decimal("1e-9")
_CEILING = Decimal(2**63 - 1)
_DIGITS = 400
"""Far more than any quantity has, so that nothing is rounded on the way."""


class Malformed(ValueError):
    """A text is no quantity; some of these fit the pattern that Kubernetes gives, such as `1e1.5`."""


def parse(quantity: int | str) -> Decimal:
    """Return the exact number; raise Malformed for text that is no quantity."""
    number, suffix = _split(quantity)
    with localcontext(prec=_DIGITS):
        if suffix in _BINARY:
            return number * 1024 ** _BINARY[suffix]
        return number.scaleb(_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:]))


def canonical(quantity: int | str) -> str:
    """Return Kubernetes' canonical text: same family of suffixes, no fraction, the largest suffix that fits.

    Like the server it keeps nothing finer than one nano and nothing beyond 2^63 - 1.
    """
    _, suffix = _split(quantity)
    with localcontext(prec=_DIGITS):
        number = min(max(parse(quantity), -_CEILING), _CEILING).quantize(_NANO, rounding=ROUND_UP)
        if suffix in _BINARY and abs(number) >= 1024 and number == number.to_integral_value():
            return binary(int(number))
        digits, power = _thousands(number)
    if suffix in _DECIMAL or suffix in _BINARY:
        return f"{digits}{_DECIMAL_SUFFIX[power]}"
    return f"{digits}e{power}" if power else digits


def binary(number: int) -> str:
    """Return a whole number with the largest binary suffix that divides it: 1073741824 -> `1Gi`."""
    power = 0
    while number and power < 6 and number % 1024 == 0:
        number, power = number // 1024, power + 1
    return f"{number}{_BINARY_SUFFIX[power]}"


def _split(quantity: int | str) -> tuple[Decimal, str]:
    shape = _SHAPE.fullmatch(str(quantity))
    if shape is None:
        raise Malformed(f"{quantity!r} is no quantity; write a number with an optional suffix, such as 500m, 2 or 16Gi")
    return Decimal(shape[1]), shape[2] or ""


def _thousands(number: Decimal) -> tuple[str, int]:
    """Split into digits without a fraction and a power of ten that is a multiple of three."""
    if not number:
        return "0", 0
    power = min(int(str(number.normalize().as_tuple().exponent)), 18) // 3 * 3
    return str(int(number.scaleb(-power))), power
