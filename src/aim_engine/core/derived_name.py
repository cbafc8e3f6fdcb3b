"""How the name of a made object follows from what it is made for: readable parts, then a short hash.

The same inputs give the same name for ever, so that a stale cache or a restart never makes a second object.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from aim_engine.objects import Manifest

LIMIT = 63
"""What Kubernetes allows for a DNS label and for a label value."""

HashInput: TypeAlias = str | int | Mapping[str, str] | Sequence[str | Manifest] | None

_NOT_IN_A_NAME = re.compile(r"[^a-z0-9-]")
_NOT_IN_A_LABEL_VALUE = re.compile(r"[^a-z0-9._-]+")
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def derived(parts: Sequence[str], *hash_inputs: HashInput, digits: int = 8, limit: int = LIMIT) -> str:
    """The parts joined by dashes, cut evenly to the limit, and the hash of the inputs if there are any."""
    return _assembled(parts, hash_inputs, digits, limit)[0]


def derived_apart(parts: Sequence[str], *hash_inputs: HashInput, limit: int = LIMIT) -> str:
    """Like `derived`, but names that had to be cut also hash their uncut parts, so that long neighbours stay apart."""
    name, cut = _assembled(parts, hash_inputs, 8, limit)
    return _assembled(parts, (*hash_inputs, *parts), 8, limit)[0] if cut else name


def name_part(text: str) -> str:
    """The text as a DNS label: lower case, every other character a dash, at most 63; may be empty."""
    return _NOT_IN_A_NAME.sub("-", text.lower()).strip("-")[:LIMIT].rstrip("-")


def label_value(text: str) -> str | None:
    """The text as a label value, or None if nothing of it can be kept."""
    value = _NOT_IN_A_LABEL_VALUE.sub("_", text.lower()).strip("_.-")[:LIMIT].rstrip("_.-")
    return value or None


def digest_of(*hash_inputs: HashInput) -> str:
    """SHA-256 over the compact JSON of each input, joined by a bar."""
    return sha256("|".join(hash_text(value) for value in hash_inputs))


def sha256(text: str) -> str:
    """Lower-case hex SHA-256 of the text; characters no UTF-8 text can hold count as question marks."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()


def hash_text(value: HashInput) -> str:
    """Compact JSON of one hash input; empty lists are null, string maps are flat lists sorted by key."""
    if isinstance(value, Mapping):
        value = tuple(text for key in sorted(value) for text in (key, value[key]))
    if not isinstance(value, str | int) and not value:
        value = None
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(_ESCAPED.get(character, character) for character in plain)


def _assembled(parts: Sequence[str], inputs: Sequence[HashInput], digits: int, limit: int) -> tuple[str, bool]:
    whole = [name_part(part) or "part" for part in parts]
    suffix = [digest_of(*inputs)[:digits]] if inputs else []
    room = limit - sum(len(text) + 1 for text in suffix)
    short = _shortened(whole, room)
    return "-".join([*short, *suffix]), short != whole


def _shortened(parts: Sequence[str], room: int) -> list[str]:
    """Take characters from the longest part, the first one on ties, until all of them joined fit."""
    short = list(parts)
    while len("-".join(short)) > room:
        longest = max(range(len(short)), key=lambda index: len(short[index]))
        if len(short[longest]) <= 1:
            break
        short[longest] = short[longest][:-1].rstrip("-")
    return short
