"""Calls an API server with nothing but the standard library, so that tests do not rest on the code they test."""

import http.client
import json
import ssl
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from aim_engine.local.control_plane import Cluster

DEADLINE = 300.0


class ApiServer:
    """The API server of a local cluster, as its administrator sees it."""

    def __init__(self, cluster: Cluster) -> None:
        self._host = urllib.parse.urlsplit(cluster.server).netloc
        self._tls = ssl.create_default_context(cafile=cluster.ca_certificate)
        self._tls.load_cert_chain(cluster.keys / "admin.crt", cluster.keys / "admin.key")

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        text: bool = False,
    ) -> tuple[int, Any]:
        """Make one call; return the status code and what the server says, as it is if it is wanted as text."""
        connection = http.client.HTTPSConnection(self._host, context=self._tls, timeout=DEADLINE)
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, path, payload, {"Content-Type": content_type})
            response = connection.getresponse()
            answer = response.read().decode()
        finally:
            connection.close()
        is_json = not text and answer.startswith(("{", "["))
        return response.status, json.loads(answer) if is_json else answer

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Make one call that has to succeed; return the object the server answers with."""
        status, answer = self.request(method, path, body)
        assert status < 300, f"{method} {path}: {status} {answer}"
        return answer

    def may(self, user: str, path: str) -> bool:
        """Whether a user may read what is no object, `/metrics` for one."""
        review = {"spec": {"user": user, "nonResourceAttributes": {"path": path, "verb": "get"}}}
        answer = self.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return answer["status"]["allowed"] is True

    def wait_for(self, path: str) -> Any:
        """Wait until `path` exists; return the object."""
        deadline = time.monotonic() + DEADLINE
        while True:
            status, answer = self.request("GET", path)
            if status == 200:
                return answer
            assert status == 404, f"GET {path}: {status} {answer}"
            assert time.monotonic() < deadline, f"{path} does not exist after {DEADLINE:.0f} s"
            time.sleep(0.02)

    def wait_until(self, path: str, is_so: Callable[[Any], bool]) -> Any:
        """Wait until what `path` shows is as wanted; return it."""
        deadline = time.monotonic() + DEADLINE
        while True:
            status, answer = self.request("GET", path)
            if status == 200 and is_so(answer):
                return answer
            assert time.monotonic() < deadline, f"{path} after {DEADLINE:.0f} s: {status} {answer}"
            time.sleep(0.05)
