"""What becomes of containers: order, ends, restarts, pulls, and how it is told."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import yaml
from tests.cluster.node_stage import CLAIMS, CONFIG_MAPS, Manifest, Stage, condition, container, sh, stage, waiting

from aim_engine.kube.resource import PODS
from aim_engine.local.control_plane import Cluster
from aim_engine.objects import Key

BOOK: Manifest = {
    "images": [
        {"image": "registry.example.com/private", "fault": {"pull": "unauthorized"}},
        {"image": "registry.example.com/slow", "entrypoint": ["/bin/sh"], "fault": {"pullSeconds": 1.5}},
        {"image": "registry.example.com/endless", "entrypoint": ["/bin/sh"], "fault": {"pullSeconds": 600}},
        {"image": "registry.example.com/greedy", "fault": {"oomKilledAfter": 0.2}},
        {"image": "registry.example.com/unlucky", "fault": {"evictedAfter": 0.2}},
        {"image": "registry.example.com/filler", "idle": True},
        {"image": "registry.example.com/tool", "programs": {"/check-size.sh": "check-size.sh"}},
    ]
}


@pytest.fixture
async def here(cluster: Cluster, namespace: str, tmp_path: Path) -> AsyncGenerator[Stage]:
    program = tmp_path / "check-size.sh"
    program.write_text("#!/bin/sh\necho checked $1\n")
    program.chmod(0o755)
    book = tmp_path / "book.yaml"
    book.write_text(yaml.safe_dump(BOOK))
    async with stage(cluster, namespace, books=[book]) as made:
        yield made


async def test_init_containers_run_in_order_before_the_main_ones(here: Stage) -> None:
    shared = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    first, second = sh("echo first >> /shared/order", **shared), sh("echo second >> /shared/order", **shared)
    await here.pod(
        "ordered",
        sh("cat /shared/order", **shared),
        initContainers=[{"name": "one", **first}, {"name": "two", **second}],
        volumes=[{"name": "shared", "emptyDir": {}}],
        restartPolicy="Never",
    )
    pod = await here.until_phase("ordered", "Succeeded")
    assert await here.logs("ordered") == "first\nsecond\n"
    assert [container(pod, name)["ready"] for name in ("one", "two")] == [True, True]
    assert condition(pod, "Initialized") == "True"
    assert pod["status"]["observedGeneration"] == 1
    assert pod["status"]["qosClass"] == "BestEffort"


async def test_an_init_container_that_fails_keeps_the_main_one_from_starting(here: Stage) -> None:
    await here.pod("stuck", sh("echo never"), initContainers=[{"name": "setup", **sh("exit 7")}], restartPolicy="Never")
    pod = await here.until_phase("stuck", "Failed")
    assert container(pod, "setup")["state"]["terminated"]["exitCode"] == 7
    assert waiting(pod) == "PodInitializing"


async def test_a_native_sidecar_starts_before_and_ends_after_the_main_container(here: Stage) -> None:
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    script = "trap 'echo sidecar ended >> /shared/log; exit 0' TERM; touch /shared/up; while :; do sleep 0.05; done"
    ready = {
        "exec": {"command": ["test", "-e", "/shared/up"]},
        "periodSeconds": 1,
        "timeoutSeconds": 20,
        "failureThreshold": 50,
    }
    sidecar = {"name": "proxy", "restartPolicy": "Always", "startupProbe": ready, **sh(script, **mount)}
    await here.pod(
        "accompanied",
        sh("test -e /shared/up && echo main saw the sidecar >> /shared/log", **mount),
        initContainers=[sidecar],
        volumes=[{"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}],
        restartPolicy="Never",
        terminationGracePeriodSeconds=3000,
    )
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    await here.create(CLAIMS, "shared", spec=claim)
    pod = await here.until_phase("accompanied", "Succeeded")
    assert container(pod)["state"]["terminated"]["exitCode"] == 0
    await here.pod(
        "reader",
        sh("cat /shared/log", **mount),
        volumes=[{"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}],
        restartPolicy="Never",
    )
    await here.until_phase("reader", "Succeeded")
    assert await here.logs("reader") == "main saw the sidecar\nsidecar ended\n"


async def test_a_container_that_keeps_failing_is_in_a_crash_loop(here: Stage) -> None:
    await here.pod("crashing", sh("echo try; exit 3"))
    pod = await here.until(PODS, "crashing", lambda seen: container(seen).get("restartCount", 0) >= 2)
    pod = await here.until(PODS, "crashing", lambda seen: waiting(seen) == "CrashLoopBackOff")
    main = container(pod)
    uid = pod["metadata"]["uid"]
    assert pod["status"]["phase"] == "Running"
    assert main["lastState"]["terminated"]["exitCode"] == 3
    assert (
        f"restarting failed container=main pod=crashing_{here.namespace}({uid})" in main["state"]["waiting"]["message"]
    )
    await here.until_event("crashing", "BackOff", "Back-off restarting failed container main in pod crashing_")
    assert condition(pod, "Ready") == "False"


async def test_on_failure_restarts_until_success(here: Stage) -> None:
    script = "test -e /shared/again && exit 0; touch /shared/again; exit 1"
    await here.pod(
        "second-try",
        sh(script, volumeMounts=[{"name": "shared", "mountPath": "/shared"}]),
        volumes=[{"name": "shared", "emptyDir": {}}],
        restartPolicy="OnFailure",
    )
    pod = await here.until_phase("second-try", "Succeeded")
    main = container(pod)
    assert (main["restartCount"], main["lastState"]["terminated"]["exitCode"]) == (1, 1)


@pytest.mark.parametrize(
    ("image", "said"),
    [
        pytest.param("example.com/nowhere:1", "example.com/nowhere:1: not found", id="an image that no book names"),
        pytest.param("registry.example.com/private:1", "401 Unauthorized", id="an image one may not pull"),
    ],
)
async def test_an_image_that_cannot_be_pulled(here: Stage, image: str, said: str) -> None:
    await here.pod("unpulled", {"image": image})
    pod = await here.until(PODS, "unpulled", lambda seen: waiting(seen) == "ErrImagePull")
    message = container(pod)["state"]["waiting"]["message"]
    assert f'failed to pull and unpack image "{image}": failed to resolve reference "{image}"' in message
    assert said in message
    assert pod["status"]["phase"] == "Pending"
    pod = await here.until(PODS, "unpulled", lambda seen: waiting(seen) == "ImagePullBackOff")
    assert container(pod)["state"]["waiting"]["message"].startswith(f'Back-off pulling image "{image}": ErrImagePull: ')
    await here.until_event("unpulled", "BackOff", f'Back-off pulling image "{image}"')
    told = await here.events("unpulled")
    assert ("Pulling", f'Pulling image "{image}"') in told
    assert ("Failed", "Error: ErrImagePull") in told
    assert any(reason == "Failed" and text.startswith(f'Failed to pull image "{image}": ') for reason, text in told)


async def test_an_image_that_must_not_be_pulled_and_is_not_there(here: Stage) -> None:
    await here.pod("absent", sh("true", imagePullPolicy="Never"))
    pod = await here.until(PODS, "absent", lambda seen: waiting(seen) == "ErrImageNeverPull")
    assert "is not present with pull policy of Never" in container(pod)["state"]["waiting"]["message"]


async def test_a_slow_pull_holds_the_container_back(here: Stage) -> None:
    await here.pod(
        "slow", {"image": "registry.example.com/slow:1", "args": ["-c", "echo pulled"]}, restartPolicy="Never"
    )
    await here.until_phase("slow", "Succeeded")
    taken = await here.until_event("slow", "Pulled")
    assert float(taken.partition(" in ")[2].partition("ms")[0]) >= 1500


async def test_a_container_that_runs_out_of_memory(here: Stage) -> None:
    await here.pod("greedy", {"image": "registry.example.com/greedy:1"}, restartPolicy="Never")
    ended = container(await here.until_phase("greedy", "Failed"))["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)


async def test_a_container_above_its_memory_limit_is_killed(here: Stage) -> None:
    hoard = "held = bytearray(300_000_000); held[::4096] = b'x' * len(held[::4096]); import time; time.sleep(1000)"
    limits = {"resources": {"limits": {"memory": "100Mi"}}}
    await here.pod("hoarder", {"image": "python", "args": ["-c", hoard], **limits}, restartPolicy="Never")
    ended = container(await here.until_phase("hoarder", "Failed"))["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)


async def test_a_container_that_must_not_be_root(here: Stage) -> None:
    context = {"securityContext": {"runAsNonRoot": True, "runAsUser": 0}}
    await here.pod("rooted", sh("true", **context))
    pod = await here.until(PODS, "rooted", lambda seen: waiting(seen) == "CreateContainerConfigError")
    assert container(pod)["state"]["waiting"]["message"].startswith(
        "container has runAsNonRoot and image will run as root"
    )


async def test_a_pod_can_be_deleted_while_its_image_is_pulled(here: Stage) -> None:
    await here.pod("endless", {"image": "registry.example.com/endless:1"})
    await here.until_event("endless", "Pulling")
    await here.until(PODS, "endless", lambda seen: waiting(seen) == "ContainerCreating")
    await here.delete("endless")
    await here.until_gone(PODS, "endless")


async def test_a_working_directory_and_a_command_looked_up_in_the_path(here: Stage) -> None:
    await here.pod(
        "placed", {"image": "busybox", "command": ["pwd"], "workingDir": "/work/here"}, restartPolicy="Never"
    )
    await here.until_phase("placed", "Succeeded")
    assert await here.logs("placed") == "/work/here\n"


async def test_an_evicted_pod(here: Stage) -> None:
    await here.pod("unlucky", {"image": "registry.example.com/unlucky:1"})
    pod = await here.until_phase("unlucky", "Failed")
    assert pod["status"]["reason"] == "Evicted"
    assert pod["status"]["message"].startswith("The node was low on resource: memory.")
    assert condition(pod, "DisruptionTarget") == "True"
    assert container(pod)["state"]["terminated"]["exitCode"] == 137
    await here.until_event("unlucky", "Evicted")


async def test_an_idle_image_is_running_and_ready_without_a_process(here: Stage) -> None:
    await here.pod("filler", {"image": "registry.example.com/filler:1"})
    pod = await here.until_ready("filler")
    assert pod["status"]["phase"] == "Running"
    assert not list((here.directory / "pods" / pod["metadata"]["uid"] / "runs").iterdir())
    await here.delete("filler")
    await here.until_gone(PODS, "filler")


async def test_a_program_that_is_a_path_of_the_image(here: Stage) -> None:
    await here.pod(
        "tool",
        {"image": "registry.example.com/tool:2", "command": ["/check-size.sh"], "args": ["$(SOURCE)"]}
        | {"env": [{"name": "SOURCE", "value": "hf://model"}]},
        restartPolicy="Never",
    )
    await here.until_phase("tool", "Succeeded")
    assert await here.logs("tool") == "checked hf://model\n"


async def test_a_program_that_is_not_in_the_image(here: Stage) -> None:
    await here.pod("lost", {"image": "busybox", "command": ["/no/such/program"]}, restartPolicy="Never")
    pod = await here.until_phase("lost", "Failed")
    ended = container(pod)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "/no/such/program" in ended["message"]


async def test_a_configmap_that_is_missing_is_named_and_waited_for(here: Stage) -> None:
    await here.pod("waiting", sh("echo $MODE", envFrom=[{"configMapRef": {"name": "settings"}}]), restartPolicy="Never")
    pod = await here.until(PODS, "waiting", lambda seen: waiting(seen) == "CreateContainerConfigError")
    assert container(pod)["state"]["waiting"]["message"] == 'configmap "settings" not found'
    await here.until_event("waiting", "Failed", 'Error: configmap "settings" not found')
    await here.create(CONFIG_MAPS, "settings", data={"MODE": "fast"})
    await here.until_phase("waiting", "Succeeded")
    assert await here.logs("waiting") == "fast\n"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("File", "", id="only the file counts by default"),
        pytest.param("FallbackToLogsOnError", "the reason\n", id="the log's end is taken on an error if asked for"),
    ],
)
async def test_last_words_of_a_container_that_fails(here: Stage, policy: str, expected: str) -> None:
    await here.pod("last", sh("echo the reason; exit 1", terminationMessagePolicy=policy), restartPolicy="Never")
    ended = container(await here.until_phase("last", "Failed"))["state"]["terminated"]
    assert ended.get("message", "") == expected


async def test_last_words_can_be_written_to_another_path(here: Stage) -> None:
    main = sh("mkdir -p /words; printf bye > /words/last", terminationMessagePath="/words/last")
    await here.pod("words", main, restartPolicy="Never")
    assert container(await here.until_phase("words", "Succeeded"))["state"]["terminated"]["message"] == "bye"


async def test_a_pod_past_its_deadline_fails(here: Stage) -> None:
    await here.pod("late", sh("exec sleep 1000"))
    await here.until_ready("late")
    await here.client.patch(PODS, Key(here.namespace, "late"), {"spec": {"activeDeadlineSeconds": 1}})
    pod = await here.until_phase("late", "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert pod["status"]["message"] == "Pod was active on the node longer than the specified deadline"
    assert container(pod)["state"]["terminated"]["exitCode"] in (137, 143)


async def test_containers_get_their_own_environment_and_never_the_agents(here: Stage) -> None:
    await here.pod("clean", sh("env; cat /proc/*/environ; exit 0"), restartPolicy="Never")
    pod = await here.until_phase("clean", "Succeeded")
    printed = await here.logs("clean")
    variables = dict(line.partition("=")[::2] for line in printed.splitlines() if "=" in line)
    server = here.cluster.server.removeprefix("https://")
    assert f"{variables['KUBERNETES_SERVICE_HOST']}:{variables['KUBERNETES_SERVICE_PORT']}" == server
    assert variables["POD_IP"] == pod["status"]["podIP"]
    assert "AIM_TESTS_DIRECTORY" not in printed
    assert "PYTEST" not in printed


async def test_an_annotation_added_later_does_not_disturb_the_pod(here: Stage) -> None:
    await here.pod("steady", sh("exec sleep 1000"))
    before = await here.until_ready("steady")
    await here.client.patch(PODS, Key(here.namespace, "steady"), {"metadata": {"annotations": {"note": "x"}}})
    after = await here.until(PODS, "steady", lambda seen: "note" in seen["metadata"].get("annotations", {}))
    assert container(after)["containerID"] == container(before)["containerID"]
