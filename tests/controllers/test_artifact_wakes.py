"""Which download objects a change in the cluster wakes."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from tests.controllers.world import NAMESPACE, World

from aim_engine.api.foreign import Event
from aim_engine.controllers import artifact_wakes
from aim_engine.core.download_kinds import ARTIFACT, MODEL_CACHE
from aim_engine.kube.informer import Informer
from aim_engine.kube.store import Change
from aim_engine.objects import Key

GROUP = {"apiVersion": "aim.eai.amd.com/v1alpha1"}
LONG = "weights-" * 10 + "of-a-name-that-no-label-can-hold"


def weights(kind: str, name: str, config: str | None = None, namespace: str = NAMESPACE) -> dict[str, Any]:
    spec = {"sourceUri": "hf://acme/tiny", **({"runtimeConfigName": config} if config else {})}
    return {**GROUP, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


EVERYTHING = (
    weights("AIMArtifact", "one"),
    weights("AIMArtifact", "two", config="team"),
    weights("AIMArtifact", "one", namespace="other"),
    weights("AIMArtifact", LONG),
    weights("AIMModelCache", "one"),
    weights("AIMModelCache", "old", config="team"),
)


def owned_by(kind: str, name: str) -> list[dict[str, Any]]:
    return [{**GROUP, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


def pod(cache_type: str, cache_name: str, phase: str, namespace: str = NAMESPACE) -> dict[str, Any]:
    labels = {"aim.eai.amd.com/cache.type": cache_type, "aim.eai.amd.com/cache.name": cache_name}
    metadata = {"name": "pod", "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": phase}}


def child(api_version: str, kind: str, owners: list[dict[str, Any]], name: str = "child") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "ownerReferences": owners}}


def event(name: str) -> dict[str, Any]:
    about = {"namespace": NAMESPACE, "name": name}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "event"}, "involvedObject": about}


def binding(name: str) -> dict[str, Any]:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    group = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding"}
    return {**group, "metadata": {"name": name}, "roleRef": role}


def config(kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    return {**GROUP, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": {"env": []}}


CLAIM = child("v1", "PersistentVolumeClaim", owned_by("AIMArtifact", "one"), "claim")
ALL_HERE = ["one", "two", LONG]


@pytest.mark.parametrize(
    ("before", "where", "changed", "artifacts", "model_caches"),
    [
        pytest.param((), "claims", CLAIM, ["one"], [], id="a claim wakes its owner"),
        pytest.param(
            (),
            "jobs",
            child("batch/v1", "Job", owned_by("AIMModelCache", "one")),
            [],
            ["one"],
            id="so does a Job, by kind",
        ),
        pytest.param((), "jobs", child("batch/v1", "Job", []), [], [], id="a Job of nobody wakes nobody"),
        pytest.param((), "pods", pod("artifact", "one", "Failed"), ["one"], [], id="a pod of an artifact"),
        pytest.param(
            (), "pods", pod("model-cache", "one", "Failed"), [], ["one"], id="a pod of a model cache of that name"
        ),
        pytest.param(
            (), "pods", pod("artifact", LONG[:63], "Failed"), [LONG], [], id="a pod whose label had to be cut"
        ),
        pytest.param((), "pods", pod("artifact", "three", "Failed"), [], [], id="a pod of an object that is gone"),
        pytest.param((), "pods", pod("artifact", "one", "Pending"), [], [], id="a pod that has nothing to tell"),
        pytest.param(
            (pod("artifact", "one", "Pending"),), "pod_events", event("pod"), ["one"], [], id="what is said of a pod"
        ),
        pytest.param((), "pod_events", event("pod"), [], [], id="what is said of a pod that nobody knows"),
        pytest.param((CLAIM,), "claim_events", event("claim"), ["one"], [], id="what is said of a claim"),
        pytest.param(
            (),
            "role_bindings",
            binding("aim-engine-artifact-status-updater"),
            ALL_HERE,
            [],
            id="the right to report, everyone here",
        ),
        pytest.param(
            (),
            "role_bindings",
            binding("aim-engine-modelcache-status-updater"),
            [],
            ["old", "one"],
            id="the same of the other kind",
        ),
        pytest.param((), "role_bindings", binding("something-else"), [], [], id="another right"),
        pytest.param(
            (),
            "runtime_configs",
            config("AIMRuntimeConfig", "team", NAMESPACE),
            ["two"],
            ["old"],
            id="a config, by those who name it",
        ),
        pytest.param(
            (),
            "runtime_configs",
            config("AIMRuntimeConfig", "default", NAMESPACE),
            ["one", LONG],
            ["one"],
            id="and by the others",
        ),
        pytest.param(
            (), "runtime_configs", config("AIMRuntimeConfig", "team", "other"), [], [], id="not in another namespace"
        ),
        pytest.param(
            (),
            "cluster_runtime_configs",
            config("AIMClusterRuntimeConfig", "team"),
            ["two"],
            ["old"],
            id="one of the cluster, in all of them",
        ),
    ],
)
def test_a_change_wakes(
    before: Iterable[Any], where: str, changed: dict[str, Any], artifacts: list[str], model_caches: list[str]
) -> None:
    world = World(*EVERYTHING, *before)
    cluster = world.cluster
    wakes_of = (
        artifact_wakes.wakes(cluster, cluster.artifacts, ARTIFACT),
        artifact_wakes.wakes(cluster, cluster.model_caches, MODEL_CACHE),
    )
    informer: Informer[Any] = getattr(cluster, where)
    change = learned(informer, changed)
    woken = [{key for wake in wakes if wake.informer is informer for key in wake.keys(change)} for wakes in wakes_of]
    expected = [{Key(NAMESPACE, name) for name in names} for names in (artifacts, model_caches)]
    assert woken == expected


def learned(informer: Informer[Any], manifest: dict[str, Any]) -> Change[Any]:
    """The change by which an informer comes to know an object; events are never stored by what we write."""
    scope = {"namespace": NAMESPACE} if informer.resource.namespaced else {}
    metadata = {**scope, "uid": "uid", "resourceVersion": "1000", **manifest["metadata"]}
    whole = msgspec.json.encode({**manifest, "metadata": metadata})
    informer.learn(msgspec.Raw(whole))
    key = Key(metadata.get("namespace", ""), metadata["name"])
    said = msgspec.json.decode(whole, type=Event) if manifest["kind"] == "Event" else None
    return Change(key, None, said or informer.store.get(key))
