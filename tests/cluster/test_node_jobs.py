"""Jobs on a local node: real scheduler, real Job controller, real processes."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.cluster.node_stage import CLAIMS, DEADLINE, JOBS, Manifest, Stage, condition, container, sh, stage

from aim_engine.kube.client import Selection
from aim_engine.kube.resource import PODS
from aim_engine.local.control_plane import Cluster


@pytest.fixture
async def here(cluster: Cluster, namespace: str) -> AsyncGenerator[Stage]:
    async with stage(cluster, namespace) as made:
        yield made


async def job(here: Stage, name: str, main: Manifest, *, volumes: list[Manifest] | None = None, **spec: object) -> None:
    pod = here.place({"restartPolicy": "Never", "containers": [{"name": "main", **main}], "volumes": volumes or []})
    await here.create(JOBS, name, spec={"template": {"spec": pod}, **spec})


async def pods_of(here: Stage, name: str) -> list[Manifest]:
    return (await here.client.list(PODS, Selection(here.namespace, labels=f"job-name={name}"))).items


async def test_a_job_writes_to_its_claim_prints_a_log_and_succeeds(here: Stage) -> None:
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    await here.create(CLAIMS, "weights", spec=claim)
    volumes = [{"name": "weights", "persistentVolumeClaim": {"claimName": "weights"}}]
    mounts = [{"name": "weights", "mountPath": "/workspace/model-cache"}]
    script = "echo some weights > /workspace/model-cache/model.bin; echo downloaded; printf done > /dev/termination-log"
    await job(here, "writer", sh(script, volumeMounts=mounts), volumes=volumes)
    await here.until(JOBS, "writer", lambda seen: condition(seen, "Complete") == "True")

    (pod,) = await pods_of(here, "writer")
    assert pod["status"]["phase"] == "Succeeded"
    assert container(pod)["state"]["terminated"]["message"] == "done"
    assert await here.logs(pod["metadata"]["name"]) == "downloaded\n"
    bound = await here.get(CLAIMS, "weights")
    directory = Path(here.cluster.directory, "volumes", bound["spec"]["volumeName"])
    assert (directory / "model.bin").read_text() == "some weights\n"
    assert bound["status"]["capacity"] == {"storage": "1Gi"}

    await job(here, "reader", sh("cat /workspace/model-cache/model.bin", volumeMounts=mounts), volumes=volumes)
    await here.until(JOBS, "reader", lambda seen: condition(seen, "Complete") == "True")
    (reader,) = await pods_of(here, "reader")
    assert await here.logs(reader["metadata"]["name"]) == "some weights\n"


async def test_a_job_that_fails_is_tried_again_and_fails_in_the_end(here: Stage) -> None:
    await job(here, "failing", sh("echo no space left; exit 3"), backoffLimit=0)
    await here.until(JOBS, "failing", lambda seen: condition(seen, "Failed") == "True")
    (pod,) = await pods_of(here, "failing")
    ended = container(pod)["state"]["terminated"]
    assert (pod["status"]["phase"], ended["exitCode"], ended["reason"]) == ("Failed", 3, "Error")


async def test_two_hundred_short_jobs_at_once_all_succeed_with_their_own_logs(here: Stage) -> None:
    numbers = range(200)
    turns = asyncio.Semaphore(8)

    async def short(number: int) -> None:
        async with turns:
            await job(here, f"short-{number}", sh(f"echo {number}"))

    async with asyncio.TaskGroup() as group:
        for number in numbers:
            group.create_task(short(number))

    async def finished() -> list[Manifest]:
        jobs = (await here.client.list(JOBS, Selection(here.namespace))).items
        return [each for each in jobs if condition(each, "Complete") == "True"]

    async with asyncio.timeout(DEADLINE):
        while len(await finished()) < len(numbers):
            await asyncio.sleep(0.5)
    pods = (await here.client.list(PODS, Selection(here.namespace))).items
    assert [pod["status"] for pod in pods if pod["status"]["phase"] != "Succeeded"] == []
    assert {container(pod)["restartCount"] for pod in pods} == {0}
    addresses = [pod["status"]["podIP"] for pod in pods]
    assert all(addresses)
    for pod in pods:
        number = pod["metadata"]["labels"]["job-name"].removeprefix("short-")
        assert await here.logs(pod["metadata"]["name"]) == f"{number}\n"
