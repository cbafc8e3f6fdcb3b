"""Whole objects on the real API server: kept without loss, completed by defaults, cleaned of what is unknown."""

import json
from typing import Any

import msgspec
import pytest
from tests.api.manifests import NAMINGS, full, label
from tests.cluster.api.objects import MINIMAL, Objects

from aim_engine.api import kinds
from aim_engine.objects import Manifest

FULL = [manifest for naming in NAMINGS for manifest in full(naming)]
RESOURCE_STATES = ("Pending", "Progressing", "Ready", "Degraded", "Failed", "NotAvailable")
ALL_STATES = (*RESOURCE_STATES, "Starting", "Running")
STATES = {
    **dict.fromkeys(
        ("AIMModel", "AIMClusterModel", "AIMServiceTemplate", "AIMClusterServiceTemplate"), RESOURCE_STATES
    ),
    **dict.fromkeys(("AIMTemplateCache", "AIMArtifact", "AIMModelCache"), RESOURCE_STATES),
    "AIMService": ("Pending", "Starting", "Running", "Degraded", "Failed"),
    "AIMClusterModelSource": ALL_STATES,
}
DOWNLOADER = "ghcr.io/silogen/aim-artifact-downloader:0.2.0"


@pytest.mark.parametrize("written", FULL, ids=label)
def test_a_full_object_comes_back_without_loss_and_decodes_into_its_type_and_back(
    written: Manifest, objects: Objects
) -> None:
    manifest = objects.new(written["kind"], written["spec"])
    status, refusal = objects.create(manifest, fieldValidation="Strict")
    assert status == 201, refusal
    status, refusal = objects.report(manifest, written["status"])
    assert status == 200, refusal
    status, refusal = objects.update(manifest, fieldValidation="Strict")
    assert status == 200, refusal

    stored = objects.read(manifest)
    assert (stored["spec"], stored["status"]) == (written["spec"], written["status"])

    decoded = msgspec.json.decode(json.dumps(stored), type=kinds.BY_NAME[written["kind"]].type)
    again = kinds.manifest(decoded)
    assert (again["spec"], again["status"]) == (written["spec"], written["status"])
    kept = {key: value for key, value in stored["metadata"].items() if key != "managedFields"}
    assert again["metadata"] == kept


@pytest.mark.parametrize("kind", MINIMAL)
def test_an_object_without_a_spec_is_accepted(kind: str, objects: Objects) -> None:
    assert "spec" not in objects.created(objects.new(kind, None))


GATEWAY = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "inference"}


@pytest.mark.parametrize(
    ("kind", "given", "stored"),
    [
        pytest.param("AIMModel", {}, {}, id="a model by itself gets no discovery block"),
        pytest.param(
            "AIMModel",
            {"discovery": {}},
            {"discovery": {"extractMetadata": True, "createServiceTemplates": True}},
            id="a discovery block does both",
        ),
        pytest.param(
            "AIMClusterModel",
            {"customTemplates": [{"hardware": {"gpu": {}}}]},
            {"customTemplates": [{"type": "unoptimized", "hardware": {"gpu": {"resourceName": "amd.com/gpu"}}}]},
            id="a custom template is unoptimized and asks for amd.com/gpu",
        ),
        pytest.param(
            "AIMClusterModelSource",
            {},
            {"registry": "docker.io", "syncInterval": "1h", "maxModels": 100},
            id="a source scans Docker Hub every hour for up to 100 models",
        ),
        pytest.param(
            "AIMServiceTemplate", {"caching": {}}, {"caching": {"enabled": False}}, id="a template caches when told to"
        ),
        pytest.param(
            "AIMClusterServiceTemplate", {"caching": {"enabled": True}}, {}, id="a cluster template cannot cache"
        ),
        pytest.param("AIMService", {}, {"replicas": 1}, id="a service has one replica and no caching block"),
        pytest.param(
            "AIMService", {"caching": {}}, {"caching": {"mode": "Auto"}, "replicas": 1}, id="a caching block is Auto"
        ),
        pytest.param(
            "AIMService",
            {"storage": {}, "routing": {"gatewayRef": {"name": "inference"}}},
            {"storage": {"pvcHeadroomPercent": 10}, "routing": {"gatewayRef": GATEWAY}, "replicas": 1},
            id="storage gets headroom and a gateway its kind",
        ),
        pytest.param(
            "AIMService",
            {"imagePullSecrets": [{}], "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]},
            {
                "imagePullSecrets": [{"name": ""}],
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k", "name": ""}}}],
                "replicas": 1,
            },
            id="references get an empty name, as in pods",
        ),
        pytest.param("AIMTemplateCache", {}, {"mode": "Shared"}, id="a template cache is shared"),
        pytest.param("AIMArtifact", {}, {"modelDownloadImage": DOWNLOADER}, id="an artifact has its downloader"),
        pytest.param(
            "AIMModelCache",
            {},
            {"modelDownloadImage": "kserve/storage-initializer:v0.16.0"},
            id="a model cache has KServe's downloader",
        ),
        pytest.param(
            "AIMRuntimeConfig",
            {"storage": {}, "labelPropagation": {}},
            {"storage": {"pvcHeadroomPercent": 10}, "labelPropagation": {"enabled": False}},
            id="a config gets headroom and propagates nothing",
        ),
        pytest.param("AIMClusterRuntimeConfig", {}, {}, id="an empty config stays empty"),
    ],
)
def test_defaults_appear(kind: str, given: Manifest, stored: Manifest, objects: Objects) -> None:
    written = objects.new(kind, {**MINIMAL[kind], **given})
    expected = {**MINIMAL[kind], **given, **stored}
    if kind == "AIMClusterServiceTemplate":
        del expected["caching"]
    assert objects.created(written)["spec"] == expected


@pytest.mark.parametrize("kind", MINIMAL)
def test_unknown_fields_are_pruned_and_refused_by_strict_validation(kind: str, objects: Objects) -> None:
    written = objects.new(kind, {**MINIMAL[kind], "novelty": {"deep": 1}})
    assert "novelty" not in objects.created(written)["spec"]
    status, answer = objects.create(objects.new(kind, written["spec"]), fieldValidation="Strict")
    assert (status, 'unknown field "spec.novelty"' in answer["message"]) == (400, True), answer


@pytest.mark.parametrize(
    ("kind", "value"),
    [pytest.param(kind, state, id=f"{kind} {state}") for kind, states in STATES.items() for state in states],
)
def test_every_allowed_state_can_be_written(kind: str, value: str, objects: Objects) -> None:
    written = objects.new(kind, MINIMAL[kind])
    objects.created(written)
    status, answer = objects.report(written, {"status": value})
    assert (status, answer.get("status")) == (200, {"status": value})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param(kind, state, id=f"{kind} {state}")
        for kind, states in STATES.items()
        for state in (*ALL_STATES, "Unknown", "")
        if state not in states
    ],
)
def test_any_other_state_is_refused(kind: str, value: str, objects: Objects) -> None:
    written = objects.new(kind, MINIMAL[kind])
    objects.created(written)
    status, answer = objects.report(written, {"status": value})
    assert (status, "status.status: Unsupported value" in answer["message"]) == (422, True), answer


@pytest.mark.parametrize("kind", STATES)
def test_a_status_begins_as_pending(kind: str, objects: Objects) -> None:
    written = objects.new(kind, MINIMAL[kind])
    assert "status" not in objects.created(written)
    _, answer = objects.report(written, {"observedGeneration": 1})
    expected = {} if kind == "AIMClusterModelSource" else {"status": "Pending"}
    assert answer["status"] == {"observedGeneration": 1, **expected}


STATUS_WORDS: list[Any] = [
    ("AIMModel", "sourceType", ("Image", "Custom")),
    ("AIMArtifact", "mode", ("Dedicated", "Shared")),
    ("AIMModelCache", "mode", ("Dedicated", "Shared")),
]


@pytest.mark.parametrize(("kind", "field", "values"), STATUS_WORDS)
def test_other_words_of_a_status(kind: str, field: str, values: tuple[str, ...], objects: Objects) -> None:
    written = objects.new(kind, MINIMAL[kind])
    objects.created(written)
    for value in values:
        status, answer = objects.report(written, {field: value})
        assert status == 200, answer
    status, answer = objects.report(written, {field: "Novelty"})
    assert (status, f"status.{field}: Unsupported value" in answer["message"]) == (422, True), answer


def test_two_managers_can_own_one_variable_each(objects: Objects) -> None:
    service = objects.new("AIMService", None)
    for manager in ("alice", "bob"):
        spec = {"model": {"name": "llama"}, "env": [{"name": manager.upper(), "value": "1"}]}
        status, answer = objects.apply({**service, "spec": spec}, manager)
        assert status in (200, 201), answer
    assert [variable["name"] for variable in objects.read(service)["spec"]["env"]] == ["ALICE", "BOB"]


def test_other_lists_belong_to_one_manager(objects: Objects) -> None:
    service = objects.new("AIMService", None)
    outcomes = [
        objects.apply(
            {**service, "spec": {"model": {"name": "llama"}, "imagePullSecrets": [{"name": manager}]}}, manager
        )
        for manager in ("alice", "bob")
    ]
    assert [status for status, _ in outcomes] == [201, 409]
    assert 'conflict with "alice"' in outcomes[1][1]["message"]
