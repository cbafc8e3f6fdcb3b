"""Who may read the metrics: the API server says whose token it is, and whether its owner may get `/metrics`."""

import hashlib
import time
from dataclasses import dataclass, field

from aim_engine.kube.client import Client
from aim_engine.kube.errors import KubeError
from aim_engine.kube.resource import Resource
from aim_engine.objects import Manifest

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
REMEMBERED_FOR = 60.0
"""Seconds a verdict holds, so that a scrape costs no API calls most of the time."""
REMEMBERED_AT_MOST = 1000


@dataclass
class Access:
    """Judges bearer tokens; verdicts are HTTP statuses, kept under a digest of the token for a minute."""

    client: Client
    path: str = "/metrics"
    verdicts: dict[bytes, tuple[float, int]] = field(default_factory=dict[bytes, tuple[float, int]])

    async def __call__(self, token: str) -> int:
        """200 if the token's owner may read the path, 401 for an unknown owner, 403 for one without the right."""
        if not token:
            return 401
        digest, now = hashlib.sha256(token.encode()).digest(), time.monotonic()
        known = self.verdicts.get(digest)
        if known is not None and now < known[0]:
            return known[1]
        try:
            verdict = await self.judge(token)
        except KubeError:
            return 503
        if len(self.verdicts) >= REMEMBERED_AT_MOST:
            self.verdicts.clear()
        self.verdicts[digest] = (now + REMEMBERED_FOR, verdict)
        return verdict

    async def judge(self, token: str) -> int:
        """The API server's verdict of this moment."""
        review = await self.client.create(TOKEN_REVIEWS, token_review(token))
        status = review.get("status", {})
        if not status.get("authenticated"):
            return 401
        answer = await self.client.create(ACCESS_REVIEWS, access_review(status.get("user", {}), self.path))
        return 200 if answer.get("status", {}).get("allowed") else 403


def token_review(token: str) -> Manifest:
    return {
        "apiVersion": TOKEN_REVIEWS.api_version,
        "kind": TOKEN_REVIEWS.kind,
        "metadata": {},
        "spec": {"token": token},
    }


def access_review(user: Manifest, path: str) -> Manifest:
    return {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "metadata": {},
        "spec": {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups", []),
            "extra": user.get("extra", {}),
            "nonResourceAttributes": {"path": path, "verb": "get"},
        },
    }
