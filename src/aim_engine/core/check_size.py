"""What a check-size Job says in its last line of output: `{"url": "hf://…", "sizeBytes": 123}`."""

from typing import Final

import msgspec

from aim_engine.core.problems import Problem, invalid_spec
from aim_engine.objects import Wire

LARGEST: Final = 2**50
"""Nobody downloads more than a pebibyte; a larger number is a mistake."""


class Output(Wire):
    """The line as the program prints it."""

    size_bytes: int


def read(line: str) -> int | Problem:
    """The size in bytes, or what is wrong with the line."""
    if not line.strip():
        return _invalid("no output from check-size job")
    try:
        size = msgspec.json.decode(line, type=Output).size_bytes
    except (msgspec.DecodeError, UnicodeError) as error:
        return _invalid(f"failed to parse check-size output: {error}")
    return size if 0 < size <= LARGEST else _invalid(f"invalid size: {size} bytes")


def _invalid(why: str) -> Problem:
    return invalid_spec("InvalidSizeOutput", why)
