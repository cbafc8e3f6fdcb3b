"""What containers find at their mount paths, and how claims get their directories."""

import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cluster.node_stage import (
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    QUICK,
    SECRETS,
    VOLUMES,
    Manifest,
    Stage,
    sh,
    stage,
    until,
)

from aim_engine.kube.resource import PODS
from aim_engine.local.control_plane import Cluster
from aim_engine.objects import Key


@pytest.fixture
async def here(cluster: Cluster, namespace: str) -> AsyncGenerator[Stage]:
    async with stage(cluster, namespace) as made:
        yield made


def mounted(script: str, path: str, **mount: Any) -> Manifest:
    """A container that runs a script and sees the volume `it` at a path."""
    return sh(script, volumeMounts=[{"name": "it", "mountPath": path, **mount}])


async def printed(here: Stage, name: str, main: Manifest, volume: Manifest, **spec: Any) -> str:
    """What a pod with one volume prints."""
    await here.pod(name, main, volumes=[{"name": "it", **volume}], restartPolicy="Never", **spec)
    await here.until_phase(name, "Succeeded")
    return await here.logs(name)


async def test_a_configmap_as_files(here: Stage) -> None:
    await here.create(CONFIG_MAPS, "settings", data={"a.txt": "one", "b.txt": "two"})
    volume = {"configMap": {"name": "settings", "items": [{"key": "b.txt", "path": "deep/b", "mode": 0o440}]}}
    script = "cat /etc/app/deep/b; stat -Lc ' %a' /etc/app/deep/b; touch /etc/app/x 2>/dev/null || echo read-only"
    assert await printed(here, "config", mounted(script, "/etc/app"), volume) == "two 440\nread-only\n"


async def test_a_secret_with_the_modes_asked_for(here: Stage) -> None:
    await here.create(SECRETS, "token", stringData={"key": "hidden"})
    script = "cat /creds/key; stat -Lc ' %a' /creds/key"
    volume = {"secret": {"secretName": "token", "defaultMode": 0o600}}
    assert await printed(here, "secret", mounted(script, "/creds"), volume) == "hidden 600\n"
    assert not [path for path in here.directory.rglob("*") if path.name == "key"], "a Secret is left on the disk"


async def test_one_key_of_a_configmap_by_subpath(here: Stage) -> None:
    await here.create(CONFIG_MAPS, "settings", data={"app.conf": "mode=fast"})
    main = mounted("cat /etc/app.conf; ls /etc/passwd", "/etc/app.conf", subPath="app.conf")
    assert await printed(here, "sub", main, {"configMap": {"name": "settings"}}) == "mode=fast/etc/passwd\n"


async def test_a_service_account_token_speaks_to_the_api_server_for_its_pod(here: Stage) -> None:
    script = (
        "import json,os,ssl,urllib.request as r,pathlib as p;"
        "d=p.Path('/var/run/secrets/kubernetes.io/serviceaccount');"
        "t=d.joinpath('token').read_text();"
        "u='https://%s:%s'%(os.environ['KUBERNETES_SERVICE_HOST'],os.environ['KUBERNETES_SERVICE_PORT']);"
        "b=json.dumps({'apiVersion':'authentication.k8s.io/v1','kind':'SelfSubjectReview'}).encode();"
        "q=r.Request(u+'/apis/authentication.k8s.io/v1/selfsubjectreviews',b,"
        "{'Authorization':'Bearer '+t,'Content-Type':'application/json'});"
        "c=ssl.create_default_context(cafile=d/'ca.crt');c.verify_flags&=~ssl.VERIFY_X509_STRICT;"
        "print(json.dumps([json.load(r.urlopen(q,context=c))['status']['userInfo'],d.joinpath('namespace').read_text()]))"
    )
    made = await here.pod("who", {"image": "python", "args": ["-c", script]}, restartPolicy="Never")
    await here.until_phase("who", "Succeeded")
    user, namespace = json.loads(await here.logs("who"))
    assert user["username"] == f"system:serviceaccount:{here.namespace}:default"
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == ["who"]
    assert user["extra"]["authentication.kubernetes.io/pod-uid"] == [made["metadata"]["uid"]]
    assert namespace == here.namespace


async def test_a_token_is_replaced_before_it_ends(cluster: Cluster, namespace: str) -> None:
    timings = msgspec.structs.replace(QUICK, token_life=0.002)
    token = {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 600}}
    async with stage(cluster, namespace, timings=timings) as here:
        await here.pod(
            "renewed",
            mounted("while :; do md5sum /t/token; sleep 0.1; done", "/t"),
            volumes=[{"name": "it", "projected": {"sources": [token]}}],
        )

        async def renewed() -> bool:
            return len(set((await here.logs("renewed")).splitlines())) >= 2

        await here.until_ready("renewed")
        await until(renewed)


async def test_an_empty_directory_is_shared_by_the_containers_of_a_pod(here: Stage) -> None:
    writer = {"name": "writer", **mounted("echo ping > /one/file; exec sleep 1000", "/one")}
    reader = {"name": "reader", **mounted("until grep . /two/file 2>/dev/null; do sleep 0.05; done", "/two")}
    await here.pod("pair", writer, reader, volumes=[{"name": "it", "emptyDir": {}}], restartPolicy="Never")

    async def read() -> bool:
        return await here.logs("pair", "reader") == "ping\n"

    await here.until(PODS, "pair", lambda pod: pod["status"].get("phase") == "Running")
    await until(read)


async def test_files_about_the_pod_itself(here: Stage) -> None:
    items = [
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"}},
    ]
    main = mounted("cat /about/name /about/cpu; echo", "/about") | {"resources": {"limits": {"cpu": "250m"}}}
    assert await printed(here, "about", main, {"downwardAPI": {"items": items}}) == "about250\n"


async def test_a_host_path_is_refused_with_a_sentence(here: Stage) -> None:
    await here.pod("curious", mounted("true", "/host"), volumes=[{"name": "it", "hostPath": {"path": "/"}}])
    message = await here.until_event("curious", "FailedMount")
    assert message.startswith('MountVolume.SetUp failed for volume "it" : hostPath volumes are refused by this node')
    pod = await here.get(PODS, "curious")
    assert pod["status"]["phase"] == "Pending"


async def test_a_volume_that_is_missing_is_told_and_waited_for(here: Stage) -> None:
    volumes = [{"name": "it", "secret": {"secretName": "later"}}]
    await here.pod("patient", mounted("cat /s/key; echo", "/s"), volumes=volumes, restartPolicy="Never")
    message = await here.until_event("patient", "FailedMount")
    assert message == 'MountVolume.SetUp failed for volume "it" : secret "later" not found'
    await here.create(SECRETS, "later", stringData={"key": "here"})
    await here.until_phase("patient", "Succeeded")
    assert await here.logs("patient") == "here\n"


async def test_a_user_and_a_group_of_the_pod_own_its_volume(here: Stage) -> None:
    context = {"runAsUser": 1234, "runAsGroup": 2345, "fsGroup": 3456}
    script = "id -u; id -g; id -G; touch /data/file && stat -c %g /data/file; ls /data"
    output = await printed(here, "owner", mounted(script, "/data"), {"emptyDir": {}}, securityContext=context)
    user, group, groups, file_group, name = output.splitlines()
    assert (user, group, name) == ("1234", "2345", "file")
    if os.geteuid() == 0:
        assert file_group == "3456"
        assert "3456" in groups.split()
    else:
        assert file_group == group, "without root a container has one group only, and may write to its volume by that"


def claim(storage_class: str | None = None, modes: tuple[str, ...] = ("ReadWriteOnce",)) -> Manifest:
    named = {} if storage_class is None else {"storageClassName": storage_class}
    return {"accessModes": list(modes), "resources": {"requests": {"storage": "10Gi"}}, **named}


async def test_a_claim_of_the_default_class_waits_for_its_first_pod(here: Stage) -> None:
    await here.create(CLAIMS, "data", spec=claim(modes=("ReadWriteMany",)))
    await here.until_event("data", "WaitForFirstConsumer")
    seen = await here.get(CLAIMS, "data")
    assert (seen["status"]["phase"], seen["spec"]["storageClassName"]) == ("Pending", "local")
    volume = {"persistentVolumeClaim": {"claimName": "data"}}
    await printed(here, "first", mounted("echo kept > /data/file", "/data"), volume)
    bound = await here.get(CLAIMS, "data")
    assert (bound["status"]["phase"], bound["status"]["accessModes"]) == ("Bound", ["ReadWriteMany"])
    await here.until_event("data", "ProvisioningSucceeded")
    assert await printed(here, "second", mounted("cat /data/file", "/data"), volume) == "kept\n"
    read_only = {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}}
    script = "touch /data/x 2>/dev/null || echo read-only"
    assert await printed(here, "third", mounted(script, "/data"), read_only) == "read-only\n"


async def test_the_directory_of_a_claim_goes_with_it(here: Stage) -> None:
    await here.create(CLAIMS, "data", spec=claim())
    await printed(here, "user", mounted("touch /data/x", "/data"), {"persistentVolumeClaim": {"claimName": "data"}})
    name = (await here.get(CLAIMS, "data"))["spec"]["volumeName"]
    directory = Path(here.cluster.directory, "volumes", name)
    assert (directory / "x").exists()
    await here.delete("user")
    await here.until_gone(PODS, "user")
    await here.client.delete(CLAIMS, Key(here.namespace, "data"))
    await here.until_gone(VOLUMES, name)

    async def removed() -> bool:
        return not directory.exists()

    await until(removed)  # the agent of another test may make it once more before it hears that the claim is gone


async def test_a_claim_made_for_one_pod_goes_with_it(here: Stage) -> None:
    volume = {"ephemeral": {"volumeClaimTemplate": {"spec": claim()}}}
    assert await printed(here, "own", mounted("echo x > /data/x; cat /data/x", "/data"), volume) == "x\n"
    await here.delete("own")
    await here.until_gone(CLAIMS, "own-it")


async def test_a_class_that_binds_at_once(here: Stage) -> None:
    name = f"at-once-{here.namespace}"
    await here.create(CLASSES, name, provisioner="local.aim.eai.amd.com", volumeBindingMode="Immediate")
    await here.create(CLAIMS, "data", spec=claim(name))
    bound = await here.until(CLAIMS, "data", lambda seen: seen["status"]["phase"] == "Bound")
    volume = await here.get(VOLUMES, bound["spec"]["volumeName"])
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    await here.client.delete(CLASSES, Key("", name))


async def test_a_class_that_does_not_exist_leaves_the_claim_pending(here: Stage) -> None:
    await here.create(CLAIMS, "data", spec=claim("fast-ssd"))
    message = await here.until_event("data", "ProvisioningFailed")
    assert message == 'storageclass.storage.k8s.io "fast-ssd" not found'
    assert (await here.get(CLAIMS, "data"))["status"]["phase"] == "Pending"
    volumes = [{"name": "it", "persistentVolumeClaim": {"claimName": "data"}}]
    await here.pod("stuck", mounted("true", "/data"), volumes=volumes)
    await here.until_event("stuck", "FailedScheduling", "unbound immediate PersistentVolumeClaims")
