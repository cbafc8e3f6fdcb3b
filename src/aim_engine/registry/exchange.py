"""One question to a server and its answer, as values."""

from collections.abc import Mapping

import msgspec
from multidict import CIMultiDictProxy
from yarl import URL

from aim_engine.registry.credentials import Credential


class Party(msgspec.Struct, frozen=True):
    """Whom we ask."""

    words: str
    """For sentences: `registry ghcr.io`."""
    registry: str
    """The registry as users name it."""
    host: str
    """The host, with its port, that is asked."""
    login: str
    """The host that a pull secret has to name."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One GET, or with a form one POST."""

    party: Party
    url: URL
    subject: str
    """What is wanted, for sentences: `acme/aim:1.0`."""
    most_bytes: int
    credential: Credential | None = None
    """Whose question it is; it is not sent, `headers` are."""
    headers: Mapping[str, str] = {}
    form: Mapping[str, str] | None = None

    def __repr__(self) -> str:  # headers and form carry credentials
        return f"Question(url={str(self.url)!r}, subject={self.subject!r})"


class Answer(msgspec.Struct, frozen=True):
    """What came back, whatever its status."""

    url: URL
    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
