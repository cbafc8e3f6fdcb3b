"""`kubectl logs` through the API server, and who else may ask a node."""

import ssl
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest
from tests.cluster.node_stage import NODES, PODS, Stage, container, sh, stage, until, waiting

from aim_engine.local.control_plane import Cluster
from aim_engine.local.control_plane.certificates import Authority


@pytest.fixture
async def here(cluster: Cluster, namespace: str) -> AsyncGenerator[Stage]:
    async with stage(cluster, namespace) as made:
        yield made


async def test_the_options_of_kubectl_logs(here: Stage) -> None:
    await here.pod("talking", sh("for n in 1 2 3; do echo line $n; done; echo problem >&2"), restartPolicy="Never")
    await here.until_phase("talking", "Succeeded")
    whole = "line 1\nline 2\nline 3\nproblem\n"
    assert sorted((await here.kubectl("logs", "talking"))[1].splitlines()) == sorted(whole.splitlines())
    assert len((await here.kubectl("logs", "talking", "--tail=2"))[1].splitlines()) == 2
    assert (await here.kubectl("logs", "talking", "--limit-bytes=6"))[1] == "line 1"[:6]
    assert (await here.kubectl("logs", "talking", "--since-time=2999-01-01T00:00:00Z"))[1] == ""
    assert len((await here.kubectl("logs", "talking", "--since=1h"))[1].splitlines()) == 4
    stamped = (await here.kubectl("logs", "talking", "--timestamps", "--tail=1"))[1]
    moment, _, text = stamped.partition(" ")
    assert moment.endswith("Z")
    assert text in whole


async def test_following_a_log_shows_lines_as_they_come_and_ends_with_the_container(here: Stage) -> None:
    script = "echo up; until test -e /shared/go; do sleep 0.05; done; echo down"
    made = await here.pod(
        "followed",
        sh(script, volumeMounts=[{"name": "shared", "mountPath": "/shared"}]),
        volumes=[{"name": "shared", "emptyDir": {}}],
        restartPolicy="Never",
    )
    await here.until_phase("followed", "Running")
    async with here.following("followed") as lines:
        assert await lines.readline() == b"up\n"
        (here.directory / "pods" / made["metadata"]["uid"] / "volumes" / "shared" / "go").touch()
        assert await lines.read() == b"down\n"


async def test_the_log_of_the_run_before(here: Stage) -> None:
    script = "test -e /shared/again && { echo second; exec sleep 1000; }; touch /shared/again; echo first; exit 1"
    await here.pod(
        "again",
        sh(script, volumeMounts=[{"name": "shared", "mountPath": "/shared"}]),
        volumes=[{"name": "shared", "emptyDir": {}}],
    )
    await here.until(PODS, "again", lambda pod: container(pod).get("restartCount") == 1)

    async def both() -> bool:
        return await here.logs("again") == "second\n"

    await until(both)
    assert (await here.kubectl("logs", "again", "--previous"))[1] == "first\n"


async def test_a_crash_loop_still_has_its_last_log(here: Stage) -> None:
    await here.pod("crashing", sh("echo boom; exit 1"))
    await here.until(PODS, "crashing", lambda pod: waiting(pod) == "CrashLoopBackOff")

    async def told() -> bool:
        return await here.logs("crashing") == "boom\n"

    await until(told)  # a run that has just begun has printed nothing yet
    assert await here.logs("crashing", previous=True) == "boom\n"


async def test_what_has_no_log_is_told_in_a_sentence(here: Stage) -> None:
    await here.pod("unpulled", {"image": "example.com/nowhere:1"})
    await here.until(PODS, "unpulled", lambda pod: waiting(pod) in ("ErrImagePull", "ImagePullBackOff"))
    code, said = await here.kubectl("logs", "unpulled")
    assert code == 1
    assert 'container "main" in pod "unpulled" is waiting to start: ' in said
    await here.pod("fresh", sh("exec sleep 1000"))
    await here.until_ready("fresh")
    code, said = await here.kubectl("logs", "fresh", "--previous")
    assert code == 1
    assert 'previous terminated container "main" in pod "fresh" not found' in said


async def test_executing_commands_is_refused_with_a_sentence(here: Stage) -> None:
    await here.pod("fresh", sh("exec sleep 1000"))
    await here.until_ready("fresh")
    code, said = await here.kubectl("exec", "fresh", "--", "ls")
    assert code == 1
    assert "exec is not offered by a local node" in said


def client_tls(cluster: Cluster, directory: Path, groups: list[str] | None) -> ssl.SSLContext:
    """TLS of a client with a certificate of the cluster's authority, or without one."""
    tls = ssl.create_default_context(cafile=cluster.ca_certificate)
    if groups is not None:
        for name in ("ca.crt", "ca.key"):
            (directory / name).write_bytes((cluster.keys / name).read_bytes())
        Authority(directory).client("someone", "someone", groups)
        tls.load_cert_chain(directory / "someone.crt", directory / "someone.key")
    return tls


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param(None, id="without a certificate"),
        pytest.param([], id="with the certificate of an ordinary user of the cluster"),
    ],
)
async def test_others_than_the_api_server_may_not_ask_a_node(
    here: Stage, tmp_path: Path, groups: list[str] | None
) -> None:
    made = await here.pod("secretive", sh("echo inside; exec sleep 1000"))
    await here.until_ready("secretive")
    node = (await here.get(NODES, here.machine.name))["status"]
    address = next(each["address"] for each in node["addresses"] if each["type"] == "InternalIP")
    port = node["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    url = f"https://{address}:{port}/containerLogs/{here.namespace}/{made['metadata']['name']}/main"
    tls = client_tls(here.cluster, tmp_path, groups)
    async with aiohttp.ClientSession() as session:
        if groups is None:
            with pytest.raises(aiohttp.ClientError):
                await session.get(url, ssl=tls)
        else:
            async with session.get(url, ssl=tls) as answer:
                assert (answer.status, await answer.text()) == (
                    403,
                    "Only the API server of the cluster may ask a node.",
                )
