"""Writes progress into the status of the Kubernetes object this download is for, with the pod's own service account.

Best effort: a download never fails because its progress can't be shown.
"""

import http.client
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aim_engine.downloader import speech
from aim_engine.downloader.settings import Settings, Subject

GROUP = "/apis/aim.eai.amd.com/v1alpha1"
SECONDS = 5.0


@dataclass
class StatusWriter:
    """Merge patches of one object's status subresource."""

    subject: Subject
    host: str
    port: int
    account: Path
    _connection: http.client.HTTPSConnection | None = None

    def patch(self, status: Mapping[str, Any]) -> str | None:
        """Send a merge patch; return what went wrong, in words that name no object and no credential."""
        body = json.dumps({"status": status})
        kept = self._connection is not None
        try:
            answer = self._send(body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if kept:  # the server may just have closed a connection that was kept open
                return self.patch(status)
            return f"the API server can't be reached: {speech.one_line(error)}"
        return None if answer < 300 else f"HTTP {answer} from the API server"

    def _send(self, body: str) -> int:
        if self._connection is None:
            context = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
            self._connection = http.client.HTTPSConnection(self.host, self.port, timeout=SECONDS, context=context)
        token = (self.account / "token").read_text().strip()  # read every time, because it is renewed in place
        subject = self.subject
        path = f"{GROUP}/namespaces/{subject.namespace}/{subject.plural}/{subject.name}/status"
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/merge-patch+json",
            "Accept": "application/json",
        }
        self._connection.request("PATCH", path, body=body, headers=headers)
        response = self._connection.getresponse()
        response.read()
        return response.status

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def writer(settings: Settings) -> StatusWriter | None:
    """Return a writer if the environment names an object and this is a pod."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if settings.subject is None or not host:
        return None
    port = int(os.environ.get("KUBERNETES_SERVICE_PORT") or 443)
    return StatusWriter(settings.subject, host, port, settings.service_account)
