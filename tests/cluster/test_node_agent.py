"""The agent as a whole: what it registers, how many pods it takes, and what is left when it ends."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.cluster.node_stage import (
    DEADLINE,
    DEPLOYMENTS,
    LEASES,
    NODES,
    PODS,
    QUICK,
    Manifest,
    Stage,
    condition,
    container,
    sh,
    stage,
    until,
)

from aim_engine.kube.client import Selection
from aim_engine.local.container.book import read_books
from aim_engine.local.control_plane import Cluster
from aim_engine.local.errors import LocalError
from aim_engine.local.node import node_objects
from aim_engine.local.node.agent import nodes
from aim_engine.objects import Key


@pytest.fixture
async def here(cluster: Cluster, namespace: str) -> AsyncGenerator[Stage]:
    async with stage(cluster, namespace) as made:
        yield made


async def test_a_node_shows_amd_labels_capacity_and_that_it_is_ready(here: Stage) -> None:
    node = await here.until(NODES, here.machine.name, lambda seen: condition(seen, "Ready") == "True")
    labels = node["metadata"]["labels"]
    assert labels["amd.com/gpu.device-id"] == "74a1"
    assert labels["amd.com/gpu.vram"] == "192G"
    assert labels["amd.com/gpu.family"] == "AI"
    assert labels["amd.com/gpu.product-name"] == "AMD_Instinct_MI300X"
    assert labels["beta.amd.com/gpu.device-id.74a1"] == "8"
    wanted = {"cpu": "192", "memory": "2Ti", "pods": "500", "amd.com/gpu": "8", "ephemeral-storage": "4Ti"}
    assert node["status"]["capacity"] == wanted
    assert node["status"]["allocatable"] == wanted
    assert node["status"]["nodeInfo"]["kubeletVersion"] == here.cluster.version
    assert node["spec"]["podCIDR"].startswith(here.cluster.network.partition(".0.0/")[0])


async def test_the_lease_of_a_node_is_renewed(here: Stage) -> None:
    lease = Key("kube-node-lease", here.machine.name)
    first: Manifest = await here.client.get(LEASES, lease)

    async def renewed() -> bool:
        now: Manifest = await here.client.get(LEASES, lease)
        return bool(now["spec"]["renewTime"] > first["spec"]["renewTime"])

    await until(renewed)


async def test_a_node_that_was_deleted_registers_again(here: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    # The taint of the stage goes with the node, so that only the lack of room keeps pods of other tests away.
    monkeypatch.setitem(node_objects.CAPACITY, "pods", "0")
    before = await here.get(NODES, here.machine.name)
    await here.client.delete(NODES, Key("", here.machine.name))
    await here.until(
        NODES,
        here.machine.name,
        lambda seen: seen["metadata"]["uid"] != before["metadata"]["uid"] and condition(seen, "Ready") == "True",
    )


async def test_the_scheduler_counts_the_gpus(here: Stage) -> None:
    eight = {"resources": {"limits": {"amd.com/gpu": "8"}}}
    await here.pod("holder", sh("exec sleep 1000", **eight))
    await here.until_ready("holder")
    await here.pod("second", sh("echo mine", **eight), restartPolicy="Never")
    message = await here.until_event("second", "FailedScheduling")
    assert "Insufficient amd.com/gpu" in message
    await here.delete("holder")
    await here.until_phase("second", "Succeeded")


async def test_two_agents_cannot_run_the_same_node(here: Stage) -> None:
    with pytest.raises(LocalError, match=f"Node {here.machine.name} is already run by another process"):
        async with nodes(here.cluster, [here.machine], read_books(), QUICK):
            pytest.fail("the second agent started")


@asynccontextmanager
async def aim_node(here: Stage) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The agent as a process of its own, which may be killed."""
    words = ("-m", "tests.fast_node", str(here.cluster.kubeconfig), here.machine.name)
    process = await asyncio.create_subprocess_exec(sys.executable, *words)
    try:
        await here.until(NODES, here.machine.name, lambda seen: condition(seen, "Ready") == "True")
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), DEADLINE)


def marked(word: str) -> list[int]:
    """The processes of this machine whose command line holds a word."""
    found: list[int] = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and word in (path / "cmdline").read_text() and int(path.name) != os.getpid():
                found.append(int(path.name))
        except OSError:
            continue
    return found


async def crowd(here: Stage, word: str) -> None:
    """A deployment, a lone pod, and a pod with a Secret-like volume, all with a word in their command lines."""
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": here.place({"containers": [{"name": "main", **sh(f"while :; do sleep 0.1; done # {word}")}]}),
    }
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    await here.create(DEPLOYMENTS, "web", spec=spec)
    await here.pod("once", sh(f"while :; do sleep 0.1; done # {word}"), restartPolicy="Never")
    await here.until(DEPLOYMENTS, "web", lambda seen: seen["status"].get("readyReplicas") == 2)
    await here.until_ready("once")


def mounts(here: Stage) -> str:
    return "\n".join(line for line in Path("/proc/mounts").read_text().splitlines() if str(here.directory) in line)


async def test_nothing_is_left_when_the_agent_stops(cluster: Cluster, namespace: str) -> None:
    async with stage(cluster, namespace, started=False) as here:
        async with aim_node(here) as process:
            await crowd(here, namespace)
            assert marked(namespace)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), DEADLINE) == 0
        assert not marked(namespace)
        assert not mounts(here)
        assert not list((here.directory / "pods").iterdir())
        node = await here.get(NODES, here.machine.name)
        assert condition(node, "Ready") == "False"
        async with aim_node(here):
            await here.clear()


async def test_a_killed_agent_leaves_no_process_and_the_next_one_takes_over(cluster: Cluster, namespace: str) -> None:
    async with stage(cluster, namespace, started=False) as here:
        async with aim_node(here) as process:
            await crowd(here, namespace)
            process.kill()
            await process.wait()

        async def ended() -> bool:
            return not marked(namespace)

        await until(ended)
        assert not mounts(here)
        async with aim_node(here):
            pods = (await here.client.list(PODS, Selection(namespace, labels="app=web"))).items
            for pod in pods:
                name = pod["metadata"]["name"]
                again = await here.until(PODS, name, lambda seen: container(seen)["restartCount"] == 1)
                assert container(again)["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
                await here.until_ready(name)
            lost = await here.until_phase("once", "Failed")
            assert lost["status"]["reason"] == "Terminated"
            assert marked(namespace)
            await here.clear()


async def test_aim_node_says_which_nodes_are_ready_and_what_is_wrong(cluster: Cluster, tmp_path: Path) -> None:
    aim = Path(sys.executable).with_name("aim")
    stray = tmp_path / "kubeconfig"
    stray.write_text("{}")
    for words, said in (
        (("--kubeconfig", str(stray)), "does not belong to a local cluster"),
        (("--kubeconfig", str(cluster.kubeconfig), "--gpus", "H100:8"), "the GPU model 'H100', which is not known"),
    ):
        process = await asyncio.create_subprocess_exec(
            aim, "node", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 1
        assert said in output.decode()
        assert "Traceback" not in output.decode()
