"""Servers on a local node: addresses, probes, and their end."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest
from tests.cluster.node_stage import (
    CONFIG_MAPS,
    DEPLOYMENTS,
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
from aim_engine.kube.resource import PODS
from aim_engine.local.control_plane import Cluster
from aim_engine.objects import Key

SERVER = """
import http.server, os, pathlib
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        broken = pathlib.Path("/shared", self.path.strip("/")).exists()
        self.send_response(503 if broken else 200)
        self.end_headers()
        self.wfile.write(os.environ["GREETING"].encode())
http.server.ThreadingHTTPServer((os.environ["POD_IP"], 8000), Answer).serve_forever()
"""


@pytest.fixture
async def here(cluster: Cluster, namespace: str) -> AsyncGenerator[Stage]:
    async with stage(cluster, namespace) as made:
        yield made


def server(**more: object) -> Manifest:
    """A server that answers 503 at /x while /shared/x exists."""
    return {
        "name": "main",
        "image": "python:3",
        "args": ["-c", SERVER],
        "env": [{"name": "GREETING", "value": "hello from $(POD_IP)"}],
        "ports": [{"name": "http", "containerPort": 8000}],
        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
        **more,
    }


SHARED = [{"name": "shared", "emptyDir": {}}]


def http(path: str, **more: object) -> Manifest:
    return {"httpGet": {"path": path, "port": "http"}, "periodSeconds": 1, "timeoutSeconds": 20, **more}


def shared(here: Stage, pod: Manifest) -> Path:
    return here.directory / "pods" / pod["metadata"]["uid"] / "volumes" / "shared"


async def fetch(address: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}:8000/") as answer:
        return await answer.text()


async def test_a_deployment_whose_servers_answer_at_addresses_of_their_own(here: Stage) -> None:
    labels = {"app": "web"}
    pod = here.place({"containers": [server(readinessProbe=http("/ready"))], "volumes": SHARED})
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    await here.create(DEPLOYMENTS, "web", spec=spec)
    await here.until(DEPLOYMENTS, "web", lambda seen: seen["status"].get("readyReplicas") == 2)
    pods = (await here.client.list(PODS, Selection(here.namespace, labels="app=web"))).items
    addresses = {each["status"]["podIP"] for each in pods}
    assert len(addresses) == 2
    assert all(each.startswith(here.cluster.network.partition(".0.0/")[0]) for each in addresses)
    assert {await fetch(address) for address in addresses} == {f"hello from {address}" for address in addresses}


async def test_readiness_flips_with_what_the_server_says(here: Stage) -> None:
    # Not more often: each failure is an event, and a pod has only so many of them.
    probe = http("/ready", failureThreshold=2, periodSeconds=10)
    made = await here.pod("flipping", server(readinessProbe=probe), volumes=SHARED)
    await here.until_ready("flipping")
    (shared(here, made) / "ready").touch()
    pod = await here.until_ready("flipping", "False")
    assert container(pod)["restartCount"] == 0
    assert condition(pod, "ContainersReady") == "False"
    await here.until_event("flipping", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
    (shared(here, made) / "ready").unlink()
    await here.until_ready("flipping")


async def test_a_server_that_is_not_alive_is_restarted(here: Stage) -> None:
    probes = {
        "startupProbe": http("/started", failureThreshold=600, periodSeconds=10),
        "livenessProbe": http("/alive", failureThreshold=2),
    }
    made = await here.pod("sick", server(**probes), volumes=SHARED)
    await here.until_ready("sick")
    (shared(here, made) / "alive").touch()
    await here.until(PODS, "sick", lambda seen: container(seen)["restartCount"] >= 1)
    (shared(here, made) / "alive").unlink()
    await here.until_event("sick", "Killing", "Container main failed liveness probe, will be restarted")
    pod = await here.until_ready("sick")
    assert container(pod)["lastState"]["terminated"]["exitCode"] in (137, 143)


async def test_other_probes_wait_until_the_container_has_started(here: Stage) -> None:
    alive = {
        "exec": {"command": ["test", "-e", "/shared/started"]},
        "periodSeconds": 1,
        "timeoutSeconds": 20,
        "failureThreshold": 1,
    }
    begun = {
        "exec": {"command": ["test", "-e", "/shared/started"]},
        "periodSeconds": 1,
        "timeoutSeconds": 20,
        "failureThreshold": 600,
    }
    made = await here.pod("starting", server(startupProbe=begun, livenessProbe=alive), volumes=SHARED)
    await here.until_event("starting", "Unhealthy", "Startup probe failed")
    pod = await here.get(PODS, "starting")
    assert (container(pod)["started"], container(pod)["ready"], container(pod)["restartCount"]) == (False, False, 0)
    (shared(here, made) / "started").touch()
    pod = await here.until_ready("starting")
    assert (container(pod)["started"], container(pod)["restartCount"]) == (True, 0)


async def test_a_tcp_probe(here: Stage) -> None:
    probe = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    await here.pod("listening", server(readinessProbe=probe), volumes=SHARED)
    await here.until_ready("listening")
    await here.pod("deaf", sh("exec sleep 1000", readinessProbe=probe))
    refused = await here.until_event("deaf", "Unhealthy", "connect: connection refused")
    assert refused.startswith("Readiness probe failed: dial tcp ")
    assert refused.endswith(":8000: connect: connection refused")
    assert condition(await here.get(PODS, "deaf"), "Ready") == "False"


async def test_a_deleted_pod_gets_its_hook_its_signal_and_its_grace(here: Stage) -> None:
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    hook = {"preStop": {"exec": {"command": ["touch", "/shared/hook"]}}}
    script = "trap 'echo signal after $(ls /shared); exit 0' TERM; echo up; while :; do sleep 0.05; done"
    made = await here.pod(
        "polite", sh(script, lifecycle=hook, **mount), volumes=SHARED, terminationGracePeriodSeconds=3000
    )
    await here.until_ready("polite")
    async with here.following("polite") as lines:
        assert await lines.readline() == b"up\n"
        await here.delete("polite")
        assert (await lines.read()).endswith(b"signal after hook\n")
    await here.until_gone(PODS, "polite")
    await here.until_event("polite", "Killing", "Stopping container main")

    async def removed() -> bool:
        return not (here.directory / "pods" / made["metadata"]["uid"]).exists()

    await until(removed)


async def test_a_process_that_ignores_its_end_is_killed_after_the_grace_period(here: Stage) -> None:
    script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    made = await here.pod("stubborn", sh(script), terminationGracePeriodSeconds=10)
    await here.until_ready("stubborn")

    async def deaf() -> bool:
        return await here.logs("stubborn") == "up\n"

    await until(deaf)
    lived = processes(made["metadata"]["uid"])
    assert lived
    started = asyncio.get_running_loop().time()
    await here.delete("stubborn")
    await here.until_gone(PODS, "stubborn")
    assert asyncio.get_running_loop().time() - started >= 10 * QUICK.grace_unit

    async def ended() -> bool:
        return not [each for each in lived if Path("/proc", str(each)).exists()]

    await until(ended)


async def test_a_pod_deleted_by_force_leaves_no_process(here: Stage) -> None:
    made = await here.pod("forced", sh("trap '' TERM; while :; do sleep 0.05; done"))
    await here.until_ready("forced")
    assert processes(made["metadata"]["uid"])
    await here.delete("forced", grace=0)

    async def ended() -> bool:
        return not processes(made["metadata"]["uid"])

    await until(ended)


async def test_a_label_that_changes_is_seen_in_the_downward_file(here: Stage) -> None:
    about = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    await here.pod(
        "labelled",
        sh(
            "while :; do cat /about/labels; echo; sleep 0.1; done",
            volumeMounts=[{"name": "about", "mountPath": "/about"}],
        ),
        labels={"stage": "one"},
        volumes=[{"name": "about", "downwardAPI": {"items": about}}],
    )
    await here.until_ready("labelled")
    await here.client.patch(PODS, Key(here.namespace, "labelled"), {"metadata": {"labels": {"stage": "two"}}})

    async def seen() -> bool:
        return 'stage="two"' in await here.logs("labelled", tail=1)

    await until(seen)


async def test_a_configmap_that_changes_is_seen_in_the_mounted_file(here: Stage) -> None:
    await here.create(CONFIG_MAPS, "settings", data={"mode": "slow\n"})
    await here.pod(
        "reading",
        sh("while :; do cat /etc/app/mode; sleep 0.1; done", volumeMounts=[{"name": "it", "mountPath": "/etc/app"}]),
        volumes=[{"name": "it", "configMap": {"name": "settings"}}],
    )
    await here.until_ready("reading")
    await here.client.patch(CONFIG_MAPS, Key(here.namespace, "settings"), {"data": {"mode": "fast\n"}})

    async def seen() -> bool:
        return await here.logs("reading", tail=1) == "fast\n"

    await until(seen)


def processes(uid: str) -> list[int]:
    """The processes of this machine that have a directory of the pod among their mounts."""
    found: list[int] = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and int(path.name) != os.getpid() and uid in (path / "mountinfo").read_text():
                found.append(int(path.name))
        except OSError:
            continue
    return found
