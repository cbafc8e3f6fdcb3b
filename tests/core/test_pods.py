"""What pods tell, and what the logs of failed ones mean."""

from collections.abc import Sequence

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.foreign import Event, Pod
from aim_engine.core import pods
from aim_engine.core.pod_failure import LogSource


def pod(text: str, name: str = "p", created: str = "2026-01-01T00:00:00Z") -> Pod:
    metadata = {"name": name, "uid": f"{name}-uid", "creationTimestamp": created}
    return msgspec.convert({"metadata": metadata, "status": yaml.safe_load(text)}, Pod)


def event(reason: str, message: str, minute: int = 0, about: str = "p") -> Event:
    return msgspec.convert(
        {
            "reason": reason,
            "message": message,
            "involvedObject": {"name": about, "uid": f"{about}-uid"},
            "lastTimestamp": f"2026-01-01T00:{minute:02}:00Z",
        },
        Event,
    )


def said(seen: Sequence[Pod], events: Sequence[Event] = (), log: str | None = None) -> tuple[str, str, str, list[str]]:
    component = pods.inspect("Pods", seen, events, log)
    categories = [str(problem.category) for problem in component.problems]
    return component.effective_state, component.effective_reason, component.effective_message, categories


def pulling(message: str, reason: str = "ErrImagePull") -> str:
    waiting = {"waiting": {"reason": reason, "message": message}}
    return yaml.safe_dump({"phase": "Pending", "containerStatuses": [{"name": "main", "state": waiting}]})


def ended(
    code: int, reason: str = "Error", message: str = "", pod_reason: str = "", key: str = "containerStatuses"
) -> str:
    state = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
    return yaml.safe_dump({"phase": "Failed", "reason": pod_reason, key: [{"name": "main", "state": state}]})


RUNNING = "{phase: Running, conditions: [{type: Ready, status: 'False'}]}"
READY = "{phase: Running, conditions: [{type: Ready, status: 'True'}]}"
PENDING = "{phase: Pending}"


@pytest.mark.parametrize(
    ("seen", "events", "expected"),
    [
        pytest.param([], [], ("Progressing", "NoPods", "No pods found", ["MissingDownstream"]), id="no pods"),
        pytest.param([pod(READY)], [], ("Ready", "PodsReady", "Pods are ready", []), id="ready"),
        pytest.param(
            [pod(RUNNING, "a"), pod(READY)], [], ("Ready", "PodsReady", "Pods are ready", []), id="one ready suffices"
        ),
        pytest.param([pod("{phase: Succeeded}")], [], ("Ready", "PodsReady", "Pods are ready", []), id="succeeded"),
        pytest.param(
            [pod(PENDING, "a"), pod(RUNNING)],
            [],
            ("Starting", "PodsStarting", "Pods are running, waiting for readiness", []),
            id="running, not ready",
        ),
        pytest.param([pod(PENDING)], [], ("Pending", "PodsPending", "Pods are pending", []), id="pending"),
        pytest.param(
            [pod(PENDING)],
            [
                event("FailedScheduling", "0/3 nodes", 1),
                event("FailedMount", "no volume", 4),
                event("Pulling", "Pulling image", 9),
                event("FailedScheduling", "other pod", 9, about="q"),
            ],
            ("Pending", "FailedMount", "no volume", []),
            id="pending for the newest reason that holds it up",
        ),
        pytest.param(
            [pod(PENDING)],
            [event("Scheduled", "Assigned", 1), event("Pulling", 'Pulling image "x"', 2)],
            ("Progressing", "Pulling", 'Pulling image "x"', []),
            id="pulling is progress",
        ),
        pytest.param(
            [pod("{phase: Unknown}")],
            [],
            ("Progressing", "PodsProgressing", "Pods are progressing", []),
            id="anything else",
        ),
        pytest.param(
            [pod(READY), pod(pulling("401 Unauthorized"), "b")],
            [],
            ("Failed", "ImagePullAuthFailure", "Container main: 401 Unauthorized", ["Auth"]),
            id="an image that may not be pulled comes before everything",
        ),
        pytest.param(
            [pod(pulling("manifest unknown"))],
            [],
            ("Degraded", "ImageNotFound", "Container main: manifest unknown", ["MissingUpstream"]),
            id="an image that does not exist",
        ),
        pytest.param(
            [pod(pulling("i/o timeout", "ImagePullBackOff"))],
            [],
            ("Degraded", "ImagePullBackOff", "Container main: i/o timeout", ["Infrastructure"]),
            id="an image that does not come",
        ),
        pytest.param(
            [pod(pulling('Back-off pulling image "x"', "ImagePullBackOff"))],
            [
                event("Failed", 'Failed to pull image "x": 403 Forbidden', 1),
                event("Failed", "Error: ImagePullBackOff", 2),
            ],
            ("Failed", "ImagePullAuthFailure", 'Container main: Failed to pull image "x": 403 Forbidden', ["Auth"]),
            id="between two tries the event still tells why",
        ),
        pytest.param(
            [pod(pulling("denied").replace("containerStatuses", "initContainerStatuses"))],
            [],
            ("Failed", "ImagePullAuthFailure", "Container main: denied", ["Auth"]),
            id="init containers count too",
        ),
    ],
)
def test_pods(seen: list[Pod], events: list[Event], expected: tuple[str, str, str, list[str]]) -> None:
    assert said(seen, events) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(
            ended(1), ("Failed", "PodFailed", "Container main failed with exit code 1", ["InvalidSpec"]), id="exit code"
        ),
        pytest.param(
            ended(2, message="boom"),
            ("Failed", "PodFailed", "Container main failed with exit code 2: boom", ["InvalidSpec"]),
            id="termination message",
        ),
        pytest.param(
            ended(1, key="initContainerStatuses"),
            ("Failed", "PodFailed", "Init container main failed with exit code 1", ["InvalidSpec"]),
            id="init container",
        ),
        pytest.param(
            ended(0, "Completed"),
            ("Failed", "PodFailed", "Container main terminated with reason: Completed", ["InvalidSpec"]),
            id="ended well in a failed pod",
        ),
        pytest.param(
            ended(137, "OOMKilled"),
            ("Failed", "PodOOMKilled", "Container main failed with exit code 137", ["ResourceExhaustion"]),
            id="out of memory",
        ),
        pytest.param(
            ended(1, "DeadlineExceeded"),
            ("Failed", "PodDeadlineExceeded", "Container main failed with exit code 1", ["InvalidSpec"]),
            id="out of time",
        ),
        pytest.param(
            ended(137, pod_reason="Evicted"),
            ("Degraded", "PodEvicted", "Container main failed with exit code 137", ["Infrastructure"]),
            id="evicted, with its containers killed",
        ),
        pytest.param(
            "{phase: Failed, reason: Evicted, message: low on disk}",
            ("Degraded", "PodEvicted", "low on disk", ["Infrastructure"]),
            id="evicted before anything ran",
        ),
        pytest.param("{phase: Failed}", ("Failed", "PodFailed", "Pod failed", ["InvalidSpec"]), id="nothing known"),
    ],
)
def test_failed_pod_without_a_log(status: str, expected: tuple[str, str, str, list[str]]) -> None:
    assert said([pod(status)]) == expected


def failed_with(log: str) -> tuple[str, str, list[str]]:
    _, reason, message, categories = said([pod(ended(1))], log=log)
    return reason, message, categories


RBAC = 'Error from server (Forbidden): aimartifacts is forbidden: User "x" cannot patch resource "aimartifacts"'


@pytest.mark.parametrize(
    ("log", "reason", "category", "shown"),
    [
        pytest.param("Repository Not Found: acme/x", "SourceNotFound", "InvalidSpec", None, id="unknown repository"),
        pytest.param(
            "huggingface_hub.errors.RepositoryNotFoundError: 401",
            "SourceNotFound",
            "InvalidSpec",
            None,
            id="not found comes before auth",
        ),
        pytest.param(
            "ERROR: S3 error: 404 (NoSuchBucket): The bucket",
            "SourceNotFound",
            "InvalidSpec",
            None,
            id="s3cmd, no bucket",
        ),
        pytest.param("botocore: NoSuchKey", "SourceNotFound", "InvalidSpec", None, id="no key"),
        pytest.param(
            "ERROR: S3 error: 403 (AccessDenied): Access Denied", "AuthError", "Auth", None, id="s3cmd, denied"
        ),
        pytest.param("ERROR: S3 error: 403 (SignatureDoesNotMatch)", "AuthError", "Auth", None, id="s3cmd, signature"),
        pytest.param("Cannot access gated repo: acme/x", "AuthError", "Auth", None, id="gated"),
        pytest.param(
            "403 Client Error: Forbidden for url: https://hf.co/x", "AuthError", "Auth", None, id="forbidden at the hub"
        ),
        pytest.param(
            "OSError: [Errno 28] No space left on device", "StorageFull", "ResourceExhaustion", None, id="disk full"
        ),
        pytest.param(
            f"{RBAC}\nno space left on device\n{RBAC}",
            "StorageFull",
            "ResourceExhaustion",
            "no space left on device",
            id="noise about rights hides nothing",
        ),
        pytest.param(
            f"{RBAC}\nsomething else", "PodFailed", "InvalidSpec", "something else", id="noise alone is no cause"
        ),
        pytest.param("a\nb\n\nc\nd", "PodFailed", "InvalidSpec", "b\nc\nd", id="the last three lines"),
    ],
)
def test_failed_pod_by_its_log(log: str, reason: str, category: str, shown: str | None) -> None:
    found, message, categories = failed_with(log)
    assert (found, categories) == (reason, [category])
    assert message.endswith(f"\n\nLog excerpt:\n{shown or log}")


@pytest.mark.parametrize(
    ("log", "beginning"),
    [
        pytest.param(
            "NoSuchKey", "Source resource not found (404): Container main failed with exit code 1", id="not found"
        ),
        pytest.param(
            "s3: 403", "Authentication error detected in pod logs: Container main failed with exit code 1", id="auth"
        ),
        pytest.param(
            "ENOSPC", "Storage full error detected in pod logs: Container main failed with exit code 1", id="storage"
        ),
    ],
)
def test_message_of_a_log_that_tells(log: str, beginning: str) -> None:
    assert failed_with(log)[1] == f"{beginning}\n\nLog excerpt:\n{log}"


def test_a_pattern_is_tried_on_all_lines_before_the_next_one() -> None:
    assert failed_with("NoSuchKey first\nRepository Not Found later")[1].endswith("Repository Not Found later")


def test_only_the_last_fifty_lines_count() -> None:
    assert failed_with("no space left on device\n" + "fine\n" * 50)[0] == "PodFailed"


def test_tokens_in_a_log_are_masked_and_long_lines_cut() -> None:
    message = failed_with("401 Unauthorized hf.co token hf_abcdefghijklmnopqrstuvwxyz " + "x" * 9000)[1]
    assert "hf_a" not in message and len(message) < 3000


def test_a_log_is_wanted_only_where_it_can_tell_something() -> None:
    assert pods.wanted_log([pod(ended(1))]) == LogSource("p", "main")
    assert pods.wanted_log([pod(ended(1, key="initContainerStatuses"))]) == LogSource("p", "main")
    assert pods.wanted_log([pod(ended(137, "OOMKilled"))]) is None
    assert pods.wanted_log([pod(ended(0))]) is None
    assert pods.wanted_log([pod("{phase: Failed}")]) is None
    assert pods.wanted_log([pod(READY)]) is None
    assert pods.wanted_log([pod(ended(1)), pod(pulling("denied"), "b")]) is None
    assert pods.wanted_log([]) is None


def test_a_log_that_was_not_wanted_is_not_used() -> None:
    assert said([pod(ended(137, "OOMKilled"))], log="Repository Not Found")[1] == "PodOOMKilled"


def test_of_several_failed_pods_the_newest_tells() -> None:
    seen = [pod(ended(1), "new", "2026-01-02T00:00:00Z"), pod(ended(2), "old")]
    assert said(seen)[2] == "Container main failed with exit code 1"
    assert pods.wanted_log(seen) == LogSource("new", "main")


def test_the_container_that_ended_badly_tells() -> None:
    text = """
      phase: Failed
      containerStatuses:
      - {name: sidecar, state: {terminated: {exitCode: 0, reason: Completed}}}
      - {name: model-download, state: {terminated: {exitCode: 3, reason: Error}}}
    """
    assert said([pod(text)])[2] == "Container model-download failed with exit code 3"


@given(st.text(max_size=300))
def test_any_log_gives_a_reason(log: str) -> None:
    reason, message, categories = failed_with(log)
    assert reason in {"PodFailed", "SourceNotFound", "AuthError", "StorageFull"} and message and len(categories) == 1


def waits(reason: str, phase: str = "Pending", key: str = "containerStatuses") -> str:
    return yaml.safe_dump({"phase": phase, key: [{"name": "main", "state": {"waiting": {"reason": reason}}}]})


UNSCHEDULABLE = "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}"
NEVER, GONE = None, None


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        pytest.param(NEVER, PENDING, False, id="a pod that came as pods come"),
        pytest.param(NEVER, "{}", False, id="a pod of which nothing is known"),
        pytest.param(NEVER, waits("ContainerCreating"), False, id="a pod that is being started"),
        pytest.param(NEVER, pulling("no such image"), True, id="a pod that came without its image"),
        pytest.param(NEVER, UNSCHEDULABLE, True, id="a pod that came and has no place"),
        pytest.param(NEVER, RUNNING, True, id="a pod that ran before it was seen"),
        pytest.param(NEVER, "{phase: Failed}", True, id="a pod that had failed before it was seen"),
        pytest.param(RUNNING, GONE, True, id="a pod that went"),
        pytest.param(PENDING, PENDING, False, id="nothing changed"),
        pytest.param(PENDING, RUNNING, True, id="another phase"),
        pytest.param(RUNNING, READY, True, id="it became ready"),
        pytest.param(READY, RUNNING, True, id="it is no longer ready"),
        pytest.param(PENDING, UNSCHEDULABLE, True, id="no node takes it any more"),
        pytest.param(UNSCHEDULABLE, PENDING, True, id="it has a place after all"),
        pytest.param(PENDING, waits("ContainerCreating"), True, id="it has containers now"),
        pytest.param(waits("ContainerCreating"), waits("CrashLoopBackOff"), True, id="it waits for another reason"),
        pytest.param(
            waits("PodInitializing", key="initContainerStatuses"),
            waits("CreateContainerError", key="initContainerStatuses"),
            True,
            id="so does a container that comes before the others",
        ),
        pytest.param(pulling("try 1"), pulling("try 2"), False, id="the same reason in other words"),
        pytest.param(
            "{phase: Running, podIP: 127.0.0.1}", "{phase: Running, podIP: 127.0.0.2}", False, id="what nobody judges"
        ),
    ],
)
def test_a_change_of_a_pod_is_worth_a_look(old: str | None, new: str | None, more: bool) -> None:
    assert pods.tells_more(pod(old) if old else None, pod(new) if new else None) is more
