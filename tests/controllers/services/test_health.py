"""What a service says of its pods, its autoscaler and KServe: never that it runs while a part of it does not."""

from typing import Any

import pytest
from tests.controllers.services.cast import (
    SERVED,
    UP,
    WHOLE,
    cache,
    condition,
    look,
    model,
    node,
    pod,
    running,
    say,
    scaler,
    served,
    service,
    stage,
    template,
)

from aim_engine.controllers.service.concept import SERVICES
from aim_engine.objects import Manifest

RUNS = service(status=running())
SCALED = service(minReplicas=1, maxReplicas=3, status=running())


async def test_a_service_runs_when_every_part_of_it_does() -> None:
    seen = await look(RUNS, *UP)
    assert seen.word == "Running"
    assert seen.condition("Ready") == "True/AllComponentsReady"
    assert sorted(one["type"] for one in seen.status["conditions"]) == [
        "CacheReady",
        "InferenceServicePodsReady",
        "InferenceServiceReady",
        "ModelReady",
        "Ready",
        "RuntimeConfigReady",
        "TemplateReady",
    ], "no route, no autoscaler, and no trouble it never had"


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param((model("Progressing"), template(), cache(), served(), pod()), id="the model"),
        pytest.param((model(), template("Progressing"), cache(), served(), pod()), id="the template"),
        pytest.param((model(), template(), cache("Progressing"), served(), pod()), id="the cache"),
        pytest.param((model(), template(), served(), pod()), id="a lost cache"),
        pytest.param((*WHOLE, pod()), id="the InferenceService is gone"),
        pytest.param((*WHOLE, served("False"), pod()), id="the InferenceService"),
        pytest.param((*WHOLE, served(None), pod()), id="an InferenceService that says nothing yet"),
        pytest.param((*WHOLE, served()), id="no pod"),
        pytest.param((*WHOLE, served(), pod(ready=False)), id="a pod that is not ready"),
        pytest.param((*WHOLE, served(), pod("Pending")), id="a pod that waits"),
    ],
)
async def test_a_service_never_runs_while_one_of_its_parts_does_not(objects: tuple[Manifest, ...]) -> None:
    assert (await look(service(status=running(), template={"name": "fast"}), *objects)).word != "Running"


@pytest.mark.parametrize(
    ("ready", "said", "told", "overall"),
    [
        pytest.param("True", None, "True/RuntimeReady", "Running", id="ready"),
        pytest.param("False", None, "False/CreatingRuntime", "Starting", id="not ready"),
        pytest.param(
            "False", ("ServerlessModeRejected", "no"), "False/ServerlessModeRejected", "Failed", id="the wrong mode"
        ),
        pytest.param(
            "True", ("ServerlessModeRejected", "no"), "True/RuntimeReady", "Running", id="the wrong mode, mended since"
        ),
        pytest.param("False", ("InternalError", "boom"), "False/InternalError", "Failed", id="KServe complains"),
        pytest.param(
            "False",
            ("InternalError", "Operation cannot be fulfilled: the object has been modified"),
            "False/CreatingRuntime",
            "Starting",
            id="a conflict is no complaint",
        ),
        pytest.param(
            "False",
            ("InternalError", 'no matches for kind "ScaledObject" in version "keda.sh/v1alpha1"'),
            "False/CreatingRuntime",
            "Starting",
            id="that KEDA is missing is told elsewhere",
        ),
    ],
)
async def test_what_kserve_says(ready: str, said: Any, told: str, overall: str) -> None:
    world = stage(RUNS, *WHOLE, served(ready), pod())
    if said:
        say(world, "InferenceService", SERVED, *said)
    seen = await world.look(SERVICES, "chat")
    assert (seen.condition("InferenceServiceReady"), seen.word) == (told, overall)
    assert seen.may_apply, "what goes wrong below never keeps a repair from being applied"


def waiting(reason: str, message: str, kind: str = "containerStatuses", **more: Any) -> Manifest:
    return {kind: [{"name": "main", "state": {"waiting": {"reason": reason, "message": message}}, **more}]}


def ended(code: int, reason: str = "Error", kind: str = "containerStatuses", message: str = "") -> Manifest:
    terminated = {"exitCode": code, "reason": reason, "message": message}
    return {kind: [{"name": "main", "state": {"terminated": terminated}}]}


CRASHED = {"lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}


@pytest.mark.parametrize(
    ("given", "log", "told", "message", "overall"),
    [
        pytest.param(None, "", "False/NoPods", "No pods found", "Starting", id="none"),
        pytest.param(pod(), "", "True/PodsReady", "Pods are ready", "Running", id="one is ready"),
        pytest.param(
            pod("Pending", status=waiting("ImagePullBackOff", "401 Unauthorized")),
            "",
            "False/ImagePullAuthFailure",
            "Container main: 401 Unauthorized",
            "Failed",
            id="the image is locked",
        ),
        pytest.param(
            pod("Pending", status=waiting("ErrImagePull", "manifest unknown", "initContainerStatuses")),
            "",
            "False/ImageNotFound",
            "Container main: manifest unknown",
            "Failed",
            id="the image of an init container does not exist",
        ),
        pytest.param(
            pod("Pending", status=waiting("ImagePullBackOff", "dial tcp: i/o timeout")),
            "",
            "False/ImagePullBackOff",
            "Container main: dial tcp: i/o timeout",
            "Degraded",
            id="the registry does not answer",
        ),
        pytest.param(
            pod("Failed", status=ended(1)),
            "Repository Not Found",
            "False/SourceNotFound",
            "Source resource not found (404): Container main failed with exit code 1"
            "\n\nLog excerpt:\nRepository Not Found",
            "Failed",
            id="its weights do not exist",
        ),
        pytest.param(
            pod("Failed", status=ended(137, "OOMKilled")),
            "",
            "False/PodOOMKilled",
            "Container main failed with exit code 137",
            "Failed",
            id="it ran out of memory",
        ),
        pytest.param(
            pod("Failed", status={"reason": "Evicted", "message": "The node was low on resource"}),
            "",
            "False/PodEvicted",
            "The node was low on resource",
            "Degraded",
            id="it was evicted",
        ),
        pytest.param(
            pod(ready=False),
            "",
            "False/PodsStarting",
            "Pods are running, waiting for readiness",
            "Starting",
            id="it runs and is not ready",
        ),
        pytest.param(
            pod(ready=False, status=waiting("CrashLoopBackOff", "back-off 5m0s", **CRASHED)),
            "one\nloading weights\n",
            "False/PodsStarting",
            "Pods are running, waiting for readiness: container main ended with exit code 137 (OOMKilled)"
            " and is started again: loading weights",
            "Starting",
            id="it ends again and again",
        ),
        pytest.param(
            pod("Pending", status=waiting("CrashLoopBackOff", "", "initContainerStatuses", **CRASHED)),
            "",
            "False/PodsPending",
            "Pods are pending: container main ended with exit code 137 (OOMKilled) and is started again",
            "Pending",
            id="an init container ends again and again",
        ),
        pytest.param(
            pod("Pending", status=waiting("CreateContainerConfigError", 'secret "hf" not found')),
            "",
            "False/PodsPending",
            'Pods are pending: container main cannot be started: secret "hf" not found',
            "Pending",
            id="what it refers to is missing",
        ),
        pytest.param(
            pod("Unknown"), "", "False/PodsProgressing", "Pods are progressing", "Starting", id="nobody knows"
        ),
    ],
)
async def test_what_pods_say(given: Any, log: str, told: str, message: str, overall: str) -> None:
    pods = [given] if given else []
    seen = await look(RUNS, *WHOLE, served(), *pods, logs={"pod/main": log})
    assert (seen.condition("InferenceServicePodsReady"), seen.message("InferenceServicePodsReady")) == (told, message)
    assert seen.word == overall
    assert seen.may_apply, "what goes wrong below never keeps a repair from being applied"


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        pytest.param(
            [node("a", 8), node("b", 4)],
            "needs 4 amd.com/gpu on one node, free are 3 of 4 on b, 2 of 8 on a",
            id="some are free, too few on any node",
        ),
        pytest.param([], "needs 4 amd.com/gpu, and no node has any", id="no node has any"),
        pytest.param(
            [node(f"n{i}", 1) for i in range(5)],
            "needs 4 amd.com/gpu on one node, free are 1 of 1 on n0, 1 of 1 on n1, 1 of 1 on n2 and 2 more nodes",
            id="many nodes",
        ),
    ],
)
async def test_a_pod_without_gpus_tells_what_it_needs_and_what_is_free(nodes: list[Manifest], message: str) -> None:
    others = []
    for name, gpus, where in (("big", 6, "a"), ("small", 1, "b"), ("done", 3, "b")):
        other = pod(gpus=gpus, node=where)
        phase = "Succeeded" if name == "done" else "Running"
        others.append({**other, "metadata": {"name": name}, "status": {"phase": phase}})
    world = stage(RUNS, *WHOLE, served("False"), pod("Pending", ready=False, gpus=4), *others, *nodes)
    said = "0/2 nodes are available: 2 Insufficient amd.com/gpu. preemption: 0/2 nodes are available"
    say(world, "Pod", "pod", "FailedScheduling", said)
    seen = await world.look(SERVICES, "chat")
    assert (seen.condition("InferenceServicePodsReady"), seen.word) == ("False/FailedScheduling", "Pending")
    assert seen.message("InferenceServicePodsReady") == f"{said}: {message}"


async def test_replicas_beside_ready_ones_tell_what_they_wait_for() -> None:
    second = pod("Pending", ready=False, gpus=1)
    second["metadata"]["name"] = "second"
    world = stage(RUNS, *WHOLE, served("False"), pod(gpus=8, node="a"), second, node("a", 8))
    say(world, "Pod", "second", "FailedScheduling", "0/1 nodes are available: 1 Insufficient amd.com/gpu.")
    seen = await world.look(SERVICES, "chat")
    assert (seen.condition("InferenceServicePodsReady"), seen.word) == ("True/PodsReady", "Starting")
    assert seen.message("InferenceServiceReady") == (
        "InferenceService is not ready: 0/1 nodes are available: 1 Insufficient amd.com/gpu.: "
        "needs 1 amd.com/gpu on one node, free are 0 of 8 on a"
    )


@pytest.mark.parametrize(
    ("reason", "told", "overall"),
    [
        pytest.param("FailedScheduling", "False/FailedScheduling", "Pending", id="no node takes it"),
        pytest.param("FailedMount", "False/FailedMount", "Pending", id="a volume cannot be mounted"),
        pytest.param("FailedAttachVolume", "False/FailedAttachVolume", "Pending", id="a volume cannot be attached"),
        pytest.param("FailedCreatePodSandBox", "False/FailedCreatePodSandBox", "Pending", id="it has no network"),
        pytest.param("Pulling", "False/Pulling", "Starting", id="its image is on the way"),
        pytest.param("Scheduled", "False/PodsPending", "Pending", id="nothing worth telling"),
    ],
)
async def test_what_is_said_of_a_pod_that_waits(reason: str, told: str, overall: str) -> None:
    world = stage(RUNS, *WHOLE, served("False"), pod("Pending", ready=False))
    say(world, "Pod", "pod", reason, "so it is")
    seen = await world.look(SERVICES, "chat")
    assert (seen.condition("InferenceServicePodsReady"), seen.word) == (told, overall)


async def test_pods_that_a_quota_forbids_tell_so() -> None:
    world = stage(RUNS, *WHOLE, served("False"))
    why = 'pods "x" is forbidden: exceeded quota: team, requested: requests.amd.com/gpu=8, used: 0, limited: 4'
    say(world, "ReplicaSet", f"{SERVED}-predictor-5d4f8", "FailedCreate", why)
    seen = await world.look(SERVICES, "chat")
    assert seen.condition("InferenceServicePodsReady") == "False/NoPods"
    assert seen.message("InferenceServicePodsReady") == f"No pods found: {why}"
    say(
        world,
        "ReplicaSet",
        f"{SERVED}-predictor-aaaaa",
        "FailedCreate",
        "long ago",
        lastTimestamp="2025-01-01T00:00:00Z",
    )
    world.put(pod())
    assert (await world.look(SERVICES, "chat")).message("InferenceServicePodsReady") == "Pods are ready"


ACTIVE, ABLE = condition("ScalingActive", "True"), condition("AbleToScale", "True")


@pytest.mark.parametrize(
    ("given", "ready", "told", "message", "overall"),
    [
        pytest.param(
            None,
            "True",
            "False/HPANotFound",
            "Waiting for KEDA to create HorizontalPodAutoscaler",
            "Starting",
            id="there is none",
        ),
        pytest.param(
            scaler(),
            "False",
            "False/WaitingForMetrics",
            "Waiting for InferenceService to be ready before metrics are available",
            "Starting",
            id="nothing to measure yet",
        ),
        pytest.param(
            scaler(condition("ScalingActive", "False", "FailedGetExternalMetric", "no metrics")),
            "True",
            "False/MetricsFailed",
            "HPA cannot get metrics: no metrics",
            "Failed",
            id="no metrics though pods are ready",
        ),
        pytest.param(
            scaler(ABLE),
            "True",
            "False/MetricsFailed",
            "HPA ScalingActive condition not found",
            "Failed",
            id="it does not say whether it works",
        ),
        pytest.param(
            scaler(ACTIVE, condition("AbleToScale", "False", "FailedGetScale", "no target")),
            "True",
            "False/ScaleTargetNotReady",
            "HPA cannot update scale target: no target",
            "Starting",
            id="it finds nothing to scale",
        ),
        pytest.param(
            scaler(ACTIVE, ABLE),
            "True",
            "True/HPAOperational",
            "HorizontalPodAutoscaler is actively scaling",
            "Running",
            id="it scales",
        ),
        pytest.param(
            scaler(ACTIVE),
            "True",
            "True/HPAOperational",
            "HorizontalPodAutoscaler is actively scaling",
            "Running",
            id="it scales and does not say whether it could",
        ),
    ],
)
async def test_what_the_autoscaler_says(given: Any, ready: str, told: str, message: str, overall: str) -> None:
    scalers = [given] if given else []
    seen = await look(SCALED, *WHOLE, served(ready), pod(), *scalers)
    assert (seen.condition("HPAReady"), seen.message("HPAReady"), seen.word) == (told, message, overall)


async def test_what_no_longer_applies_is_no_longer_told() -> None:
    before = [
        condition("HPAReady", "False", "HPANotFound"),
        condition("HTTPRouteReady", "False", "HTTPRoutePending"),
        condition("InferenceServicePodsReady", "True", "PodsReady"),
        condition("ConfigValid", "False", "InvalidSpec"),
    ]
    seen = await look(service(status=running(conditions=before)), *WHOLE)
    assert [seen.condition(kind) for kind in ("HPAReady", "HTTPRouteReady", "InferenceServicePodsReady")] == [""] * 3
    assert seen.condition("ConfigValid") == "True/ConfigurationValid", "trouble that is over is told to be over"


async def test_a_cluster_without_kserve_is_told_and_caches_are_made_all_the_same() -> None:
    seen = await look(RUNS, model(), template(), kserve=False)
    assert seen.condition("InferenceServiceReady") == "False/KServeNotInstalled"
    assert seen.word == "Degraded"
    assert [made.split()[0] for made in seen.made] == ["AIMTemplateCache"]
