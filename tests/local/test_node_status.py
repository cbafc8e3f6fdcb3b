"""Phase and conditions of a pod from the states of its containers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from aim_engine.local.node import status
from aim_engine.local.node.backoff import doubled, restart_delay
from aim_engine.local.node.facts import Facts, Failure
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.pod_status import ContainerState, ContainerStatus, PodStatus, Running, Terminated, Waiting

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WAITING = ContainerState(waiting=Waiting(reason="ContainerCreating"))
RUNNING = ContainerState(running=Running(started_at=NOW))
SUCCEEDED = ContainerState(terminated=Terminated(exit_code=0, reason="Completed"))
FAILED = ContainerState(terminated=Terminated(exit_code=1, reason="Error"))
CRASHING = ContainerState(waiting=Waiting(reason="CrashLoopBackOff"))
NEVER = ContainerState()


def pod(
    policy: str = "Always", containers: int = 1, init: tuple[str | None, ...] = (), gates: tuple[str, ...] = ()
) -> Pod:
    spec: dict[str, Any] = {
        "restartPolicy": policy,
        "containers": [{"name": f"main-{number}"} for number in range(containers)],
        "initContainers": [
            {"name": f"init-{number}", **({"restartPolicy": kind} if kind else {})} for number, kind in enumerate(init)
        ],
        "readinessGates": [{"conditionType": gate} for gate in gates],
    }
    return msgspec.convert({"metadata": {"name": "p", "uid": "u", "generation": 3}, "spec": spec}, Pod)


def container(
    name: str, state: ContainerState, last: ContainerState = NEVER, *, ready: bool = False, started: bool | None = None
) -> ContainerStatus:
    return ContainerStatus(
        name=name,
        ready=ready,
        restart_count=0,
        image="i",
        image_id="",
        state=state,
        last_state=last,
        started=bool(state.running) if started is None else started,
    )


def computed(made: Pod, *containers: ContainerStatus, **facts: Any) -> PodStatus:
    known = Facts(now=NOW, start_time=NOW, host_address="127.7.1.1", pod_address="127.7.2.1", sandbox=True, **facts)
    return status.compute(made, {each.name: each for each in containers}, known, ())


def mains(*states: ContainerState) -> tuple[ContainerStatus, ...]:
    return tuple(container(f"main-{number}", state) for number, state in enumerate(states))


@pytest.mark.parametrize(
    ("made", "containers", "expected"),
    [
        pytest.param(pod(), mains(WAITING), "Pending", id="nothing runs yet"),
        pytest.param(pod(containers=2), mains(RUNNING, WAITING), "Pending", id="one of two never ran"),
        pytest.param(pod(), mains(RUNNING), "Running", id="all run"),
        pytest.param(pod("Never"), mains(SUCCEEDED), "Succeeded", id="the only one succeeded"),
        pytest.param(pod("Never"), mains(FAILED), "Failed", id="the only one failed and may not run again"),
        pytest.param(pod("OnFailure"), mains(FAILED), "Running", id="the only one failed and will run again"),
        pytest.param(pod("OnFailure"), mains(SUCCEEDED), "Succeeded", id="on failure does not restart a success"),
        pytest.param(pod(), mains(SUCCEEDED), "Running", id="always restarts a success"),
        pytest.param(pod("Never", 2), mains(SUCCEEDED, RUNNING), "Running", id="one of two still runs"),
        pytest.param(pod("Never", 2), mains(SUCCEEDED, FAILED), "Failed", id="one of two failed"),
        pytest.param(pod(), (container("main-0", CRASHING, FAILED),), "Running", id="crash loop counts as running"),
        pytest.param(
            pod(init=(None,)), (container("init-0", RUNNING), *mains(WAITING)), "Pending", id="an init container runs"
        ),
        pytest.param(
            pod("Never", init=(None,)),
            (container("init-0", FAILED), *mains(WAITING)),
            "Failed",
            id="an init container failed for good",
        ),
        pytest.param(
            pod(init=(None,)),
            (container("init-0", CRASHING, FAILED), *mains(WAITING)),
            "Pending",
            id="an init container will be tried again",
        ),
        pytest.param(
            pod(init=("Always",)),
            (container("init-0", RUNNING, started=False), *mains(WAITING)),
            "Pending",
            id="a sidecar is not started yet",
        ),
        pytest.param(
            pod("Never", init=("Always",)),
            (container("init-0", RUNNING), *mains(SUCCEEDED)),
            "Running",
            id="a sidecar still runs after the main container",
        ),
        pytest.param(
            pod("Never", init=("Always",)),
            (container("init-0", FAILED), *mains(SUCCEEDED)),
            "Succeeded",
            id="how a sidecar ended does not matter",
        ),
        pytest.param(
            pod(init=("Always",)),
            (container("init-0", CRASHING, FAILED), *mains(RUNNING)),
            "Running",
            id="a sidecar that crashes does not take the pod back to pending",
        ),
    ],
)
def test_phase(made: Pod, containers: tuple[ContainerStatus, ...], expected: str) -> None:
    assert computed(made, *containers).phase == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param((SUCCEEDED,), "Succeeded", id="an end with code 0 is a success, whatever the policy"),
        pytest.param((FAILED,), "Failed", id="an end with another code is a failure"),
        pytest.param((WAITING,), "Failed", id="what never ran has failed"),
    ],
)
def test_phase_of_a_pod_that_is_being_deleted(states: tuple[ContainerState, ...], expected: str) -> None:
    assert computed(pod(), *mains(*states), ending=True).phase == expected


def told(reported: PodStatus) -> dict[str, tuple[str, str | None, str | None]]:
    return {each.type: (each.status, each.reason, each.message) for each in reported.conditions}


def test_conditions_of_a_pod_that_starts() -> None:
    reported = told(computed(pod(init=(None,)), container("init-0", RUNNING), *mains(WAITING)))
    unready = ("False", "ContainersNotReady", "containers with unready status: [main-0]")
    assert reported == {
        "PodReadyToStartContainers": ("True", None, None),
        "Initialized": ("False", "ContainersNotInitialized", "containers with incomplete status: [init-0]"),
        "Ready": unready,
        "ContainersReady": unready,
        "PodScheduled": ("True", None, None),
    }


def test_conditions_of_a_pod_that_is_ready() -> None:
    reported = computed(pod(), container("main-0", RUNNING, ready=True))
    assert {name: what[0] for name, what in told(reported).items()} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert {each.observed_generation for each in reported.conditions} == {3}
    assert (reported.observed_generation, reported.pod_ip, reported.host_ip) == (3, "127.7.2.1", "127.7.1.1")


@pytest.mark.parametrize(
    ("state", "reason"),
    [pytest.param(SUCCEEDED, "PodCompleted", id="succeeded"), pytest.param(FAILED, "PodFailed", id="failed")],
)
def test_a_pod_that_ended_is_not_ready(state: ContainerState, reason: str) -> None:
    reported = told(computed(pod("Never"), *mains(state)))
    assert reported["Ready"] == ("False", reason, None)


def test_a_readiness_gate_holds_a_pod_back() -> None:
    reported = told(computed(pod(gates=("example.com/fed",)), container("main-0", RUNNING, ready=True)))
    missing = 'corresponding condition of pod readiness gate "example.com/fed" does not exist.'
    assert reported["Ready"] == ("False", "ReadinessGatesNotReady", missing)
    assert reported["ContainersReady"][0] == "True"


def test_an_evicted_pod_has_failed_and_says_why() -> None:
    evicted = Failure(reason="Evicted", message="The node was low on resource: memory.", disruption=True)
    before = computed(pod(), *mains(RUNNING), failure=evicted)
    assert (before.phase, before.reason) == ("Running", "")
    reported = computed(pod(), *mains(FAILED), failure=evicted, ending=True)
    assert (reported.phase, reported.reason, reported.message) == ("Failed", "Evicted", evicted.message)
    assert told(reported)["DisruptionTarget"] == ("True", "TerminationByKubelet", evicted.message)


def test_the_time_of_a_condition_stays_while_its_status_does() -> None:
    first = computed(pod(), *mains(WAITING))
    later = NOW + timedelta(minutes=1)
    facts = Facts(now=later, start_time=NOW, host_address="127.7.1.1", sandbox=True)
    ready = {"main-0": container("main-0", RUNNING, ready=True)}
    second = {each.type: each for each in status.compute(pod(), ready, facts, first.conditions).conditions}
    assert second["PodScheduled"].last_transition_time == NOW
    assert second["Ready"].last_transition_time == later


def test_restarts_come_at_once_then_ever_later_and_start_anew_after_a_long_run() -> None:
    waits: list[float | None] = [None]
    for _ in range(8):
        waits.append(restart_delay(waits[-1], 1.0, first=10, limit=300, reset=600))
    assert waits[1:] == [0, 10, 20, 40, 80, 160, 300, 300]
    assert restart_delay(300, 600.0, first=10, limit=300, reset=600) == 0
    assert doubled(0, first=10, limit=300) == 10
