"""What the state of Jobs, volumes and routes means for the object they belong to."""

import msgspec
import pytest
import yaml

from aim_engine.api.foreign import Event, HTTPRoute, Job, PersistentVolumeClaim
from aim_engine.core import image_pull, jobs, routes, volumes
from aim_engine.core.health import Component
from aim_engine.core.image_pull import PullTrouble


def said(component: Component) -> tuple[str, str, str, list[str]]:
    categories = [str(problem.category) for problem in component.problems]
    return component.effective_state, component.effective_reason, component.effective_message, categories


def job(text: str) -> Job:
    return msgspec.convert({"status": {"conditions": yaml.safe_load(text)}}, Job)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(job("[]"), ("Progressing", "JobRunning", "Job is in progress", []), id="running"),
        pytest.param(job("[{type: Complete, status: 'True'}]"), ("Ready", "Ready", "", []), id="complete"),
        pytest.param(
            job("[{type: Complete, status: 'False'}, {type: Suspended, status: 'True'}]"),
            ("Progressing", "JobRunning", "Job is in progress", []),
            id="suspended is not over",
        ),
        pytest.param(
            job("[{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: Job has reached the limit}]"),
            ("Failed", "JobBackoffLimitExceeded", "Job has reached the limit", ["InvalidSpec"]),
            id="all attempts failed",
        ),
        pytest.param(
            job("[{type: Failed, status: 'True', reason: DeadlineExceeded, message: late}]"),
            ("Failed", "JobDeadlineExceeded", "late", ["InvalidSpec"]),
            id="out of time",
        ),
        pytest.param(
            job("[{type: Failed, status: 'True', reason: Evicted, message: moved}]"),
            ("Degraded", "JobEvicted", "moved", ["Infrastructure"]),
            id="evicted",
        ),
        pytest.param(
            job("[{type: Failed, status: 'True'}]"),
            ("Failed", "JobFailed", "Job failed", ["InvalidSpec"]),
            id="no reason",
        ),
        pytest.param(
            None,
            (
                "Progressing",
                "ResourceNotReady",
                "Downstream resource not found or being created",
                ["MissingDownstream"],
            ),
            id="not there yet",
        ),
    ],
)
def test_job(seen: Job | None, expected: tuple[str, str, str, list[str]]) -> None:
    assert said(jobs.inspect("DownloadJob", seen)) == expected


def claim(text: str) -> PersistentVolumeClaim:
    return msgspec.convert(
        {"metadata": {"name": "v", "uid": "u"}, "status": yaml.safe_load(text)}, PersistentVolumeClaim
    )


def provisioning_failed(message: str, minute: int, uid: str = "u") -> Event:
    return msgspec.convert(
        {
            "reason": "ProvisioningFailed",
            "message": message,
            "involvedObject": {"name": "v", "uid": uid},
            "lastTimestamp": f"2026-01-01T00:{minute:02}:00Z",
        },
        Event,
    )


@pytest.mark.parametrize(
    ("seen", "events", "expected"),
    [
        pytest.param(claim("{phase: Bound}"), [], ("Ready", "Ready", "", []), id="bound"),
        pytest.param(claim("{phase: Pending}"), [], ("Progressing", "PvcPending", "PVC is pending", []), id="pending"),
        pytest.param(
            claim("{phase: Pending}"),
            [
                provisioning_failed("old", 1),
                provisioning_failed("no ReadWriteMany here", 3),
                provisioning_failed("other", 9, "x"),
            ],
            ("Progressing", "PvcPending", "PVC is pending: no ReadWriteMany here", []),
            id="pending, and the provisioner says why",
        ),
        pytest.param(
            claim("{phase: Lost}"),
            [],
            ("Degraded", "PvcLost", "The volume behind PVC v is gone", ["Infrastructure"]),
            id="lost",
        ),
        pytest.param(
            claim("phase: Pending\nconditions:\n- {type: Resizing, status: 'False', reason: ProvisioningFailed}"),
            [],
            ("Degraded", "PvcProvisioningFailed", "The volume could not be provisioned", ["Infrastructure"]),
            id="provisioning failed",
        ),
        pytest.param(
            None,
            [],
            (
                "Progressing",
                "ResourceNotReady",
                "Downstream resource not found or being created",
                ["MissingDownstream"],
            ),
            id="not there yet",
        ),
    ],
)
def test_volume(
    seen: PersistentVolumeClaim | None, events: list[Event], expected: tuple[str, str, str, list[str]]
) -> None:
    assert said(volumes.inspect("CachePvc", seen, events)) == expected


ACCEPTED = {"type": "Accepted", "status": "True"}
REJECTED = {"type": "Accepted", "status": "False", "reason": "NoMatchingParent", "message": "no such listener"}
UNRESOLVED = {"type": "ResolvedRefs", "status": "False", "reason": "BackendNotFound", "message": "no such service"}
RESOLVED = {"type": "ResolvedRefs", "status": "True"}

IS_ACCEPTED = ("Ready", "HTTPRouteAccepted", "HTTPRoute is accepted by gateway", [])
IS_REJECTED = ("Failed", "NoMatchingParent", "HTTPRoute rejected: no such listener", ["InvalidSpec"])
IS_UNRESOLVED = (
    "Progressing",
    "BackendNotFound",
    "HTTPRoute backend not resolved: no such service",
    ["MissingDownstream"],
)
IS_PENDING = ("Progressing", "HTTPRoutePending", "HTTPRoute is waiting for gateway acceptance", [])


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        pytest.param([], IS_PENDING, id="nobody looked at it"),
        pytest.param([[RESOLVED]], IS_PENDING, id="no verdict"),
        pytest.param([[ACCEPTED, RESOLVED]], IS_ACCEPTED, id="accepted"),
        pytest.param([[ACCEPTED, UNRESOLVED]], IS_ACCEPTED, id="accepted before its backend is there"),
        pytest.param([[UNRESOLVED, ACCEPTED]], IS_UNRESOLVED, id="the backend is missed first"),
        pytest.param([[REJECTED, UNRESOLVED]], IS_REJECTED, id="rejected"),
        pytest.param([[UNRESOLVED]], IS_UNRESOLVED, id="backend missing"),
        pytest.param([[REJECTED], [ACCEPTED]], IS_ACCEPTED, id="one gateway that accepts is enough"),
    ],
)
def test_route(parents: list[list[dict[str, str]]], expected: tuple[str, str, str, list[str]]) -> None:
    status = {"parents": [{"conditions": conditions} for conditions in parents]}
    assert said(routes.inspect("HTTPRoute", msgspec.convert({"status": status}, HTTPRoute))) == expected


def test_a_missing_route() -> None:
    expected = ("Progressing", "HTTPRouteNotFound", "HTTPRoute not found", ["MissingDownstream"])
    assert said(routes.inspect("HTTPRoute", None)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("401 Unauthorized", PullTrouble.AUTH, id="401"),
        pytest.param(
            "pull access denied, repository does not exist or may require authorization", PullTrouble.AUTH, id="denied"
        ),
        pytest.param("no basic auth credentials", PullTrouble.AUTH, id="credentials"),
        pytest.param("manifest unknown", PullTrouble.NOT_FOUND, id="manifest unknown"),
        pytest.param("unexpected status 404", PullTrouble.NOT_FOUND, id="404"),
        pytest.param("lookup: no such host", PullTrouble.NOT_FOUND, id="no such host"),
        pytest.param("image sha256:ab404cd: i/o timeout", PullTrouble.OTHER, id="a digest may hold 404"),
        pytest.param("toomanyrequests: rate limit", PullTrouble.OTHER, id="anything else"),
    ],
)
def test_why_an_image_cannot_be_pulled(text: str, expected: PullTrouble) -> None:
    assert image_pull.trouble(text) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, PullTrouble.AUTH),
        (403, PullTrouble.AUTH),
        (404, PullTrouble.NOT_FOUND),
        (429, PullTrouble.OTHER),
        (503, PullTrouble.OTHER),
    ],
)
def test_a_registry_status_decides_whatever_the_text_says(status: int, expected: PullTrouble) -> None:
    assert image_pull.trouble("forbidden, not found", status) is expected
