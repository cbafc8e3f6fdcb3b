"""Why an image cannot be had: told by a registry's status, or read out of a text."""

import re
from enum import StrEnum
from typing import Final


class PullTrouble(StrEnum):
    """What stands between us and an image."""

    AUTH = "auth"
    NOT_FOUND = "not found"
    OTHER = "other"


_AUTH = re.compile(r"unauthorized|authentication|\b40[13]\b|forbidden|denied|credentials")
_NOT_FOUND = re.compile(r"not found|\b404\b|manifest unknown|name unknown|no such")
_BY_STATUS: Final = {401: PullTrouble.AUTH, 403: PullTrouble.AUTH, 404: PullTrouble.NOT_FOUND}


def trouble(text: str, status: int | None = None) -> PullTrouble:
    """The kind of trouble; an HTTP status decides if there is one. Numbers count as whole words: digests hold any."""
    if status is not None:
        return _BY_STATUS.get(status, PullTrouble.OTHER)
    lower = text.lower()
    if _AUTH.search(lower):
        return PullTrouble.AUTH
    return PullTrouble.NOT_FOUND if _NOT_FOUND.search(lower) else PullTrouble.OTHER
