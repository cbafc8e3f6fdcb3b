"""Asks HTTP servers as a user with curl does, with nothing but the standard library."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlsplit

DEADLINE = 300.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def content(self) -> Any:
        return json.loads(self.text)


def ask(address: str, path: str, body: Any = None) -> Answer:
    """One request, a POST if it has a body."""
    with closing(_connection(address)) as connection:
        response = _asked(connection, path, body)
        return Answer(response.status, dict(response.getheaders()), response.read().decode())


def ask_until(address: str, path: str, status: int) -> Answer:
    """Ask until the answer has this status."""
    deadline = time.monotonic() + DEADLINE
    while (answer := ask(address, path)).status != status:
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    return answer


def stream(address: str, path: str, body: Any) -> Iterator[tuple[float, str]]:
    """The lines of an answer, each with the moment at which it came."""
    with closing(_connection(address)) as connection:
        response = _asked(connection, path, body)
        assert response.status == 200, response.read()
        while line := response.readline():
            yield time.monotonic(), line.decode().rstrip()


def _connection(address: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(address).netloc, timeout=DEADLINE)


def _asked(connection: http.client.HTTPConnection, path: str, body: Any) -> http.client.HTTPResponse:
    payload = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, payload, {"Content-Type": "application/json"})
    return connection.getresponse()
