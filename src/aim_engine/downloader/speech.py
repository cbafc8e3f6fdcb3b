"""Everything this program prints goes through here, so that no credential ever does."""

import re
import sys
from collections.abc import Mapping

SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|ACCESS_KEY|API_KEY", re.IGNORECASE)
PLACE_NAME = re.compile(r"(FILE|PATH|DIR|URI|URL|TIMEOUT)$", re.IGNORECASE)
USER_IN_URL = re.compile(r"(\w+://)[^/\s@]+@")
QUERY_OF_URL = re.compile(r"(https?://[^\s?'\"<>]+)\?[^\s'\"<>]*")
BEARER = re.compile(r"(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE)
SHORTEST_SECRET = 4

_known: set[str] = set()


def learn(environment: Mapping[str, str]) -> None:
    """Remember the values of an environment that must never be printed."""
    for name, value in environment.items():
        if SECRET_NAME.search(name) and not PLACE_NAME.search(name) and len(value) >= SHORTEST_SECRET:
            _known.add(value)


def masked(text: str) -> str:
    """Return the text without credentials: known secrets, users and queries in addresses, authorization headers."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, "***")
    text = USER_IN_URL.sub(r"\1***@", text)
    text = QUERY_OF_URL.sub(r"\1?***", text)
    return BEARER.sub(r"\1 ***", text)


def one_line(error: object) -> str:
    """Return an error as one masked line."""
    return masked(" ".join(str(error).split())) or type(error).__name__


def say(text: str) -> None:
    """Print to standard output."""
    print(masked(text), flush=True)


def warn(text: str) -> None:
    """Print to standard error."""
    print(masked(text), file=sys.stderr, flush=True)
