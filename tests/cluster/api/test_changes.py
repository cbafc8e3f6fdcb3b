"""What may change after creation: immutable fields refuse it with a message that names them, all else admits it."""

from typing import Any, NamedTuple

import pytest
from tests.cluster.api.cases import CUSTOM, DOWNLOADS, SOURCE, TEMPLATES, refused
from tests.cluster.api.objects import MINIMAL, Objects

from aim_engine.objects import Manifest

MODEL = "model selection is immutable after creation"
TEMPLATE = "template selection is immutable after creation"
CACHING = "caching mode is immutable after creation"


class Change(NamedTuple):
    """Fields of a spec before and after, and the message of the refusal, if it is one."""

    kind: str
    before: Manifest
    after: Manifest
    path: str = ""
    message: str = ""


def change(
    title: str, kinds: tuple[str, ...] | str, before: Any, after: Any, path: str = "", message: str = ""
) -> list[Any]:
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    return [pytest.param(Change(kind, before, after, path, message), id=f"{kind}: {title}") for kind in kinds]


def parameter(name: str, before: Any, after: Any) -> list[Any]:
    """A runtime parameter, on templates and as an override of a service: fixed once given, but free to come and go."""
    message = f"{name} is immutable"
    return [
        *change(f"{name} changes", TEMPLATES, {name: before}, {name: after}, f"spec.{name}", message),
        *change(f"{name} stays", TEMPLATES, {name: before}, {name: before, "profileId": "new"}),
        *change(f"{name} is added", TEMPLATES, {}, {name: after}),
        *change(f"{name} is removed", TEMPLATES, {name: before}, {}),
        *change(
            f"{name} is overridden otherwise",
            "AIMService",
            {"overrides": {name: before}},
            {"overrides": {name: after}},
            f"spec.overrides.{name}",
            message,
        ),
        *change(f"an override of {name} is added", "AIMService", {"overrides": {}}, {"overrides": {name: after}}),
        *change(f"an override of {name} is removed", "AIMService", {"overrides": {name: before}}, {}),
    ]


REFUSED = [
    *change("another model", "AIMService", {}, {"model": {"name": "gemma"}}, "spec.model", MODEL),
    *change("the same model, spelled otherwise", "AIMService", {}, {"model": {"ref": "llama"}}, "spec.model", MODEL),
    *change(
        "a detail of a custom model",
        "AIMService",
        {"model": {"custom": CUSTOM}},
        {"model": {"custom": {**CUSTOM, "modelSources": [{**SOURCE, "size": "1Gi"}]}}},
        "spec.model",
        MODEL,
    ),
    *change(
        "another template",
        "AIMService",
        {"template": {"name": "a"}},
        {"template": {"name": "b"}},
        "spec.template",
        TEMPLATE,
    ),
    *change(
        "another choice of templates",
        "AIMService",
        {"template": {}},
        {"template": {"allowUnoptimized": True}},
        "spec.template",
        TEMPLATE,
    ),
    *change(
        "another caching mode",
        "AIMService",
        {"caching": {"mode": "Shared"}},
        {"caching": {"mode": "Never"}},
        "spec.caching",
        CACHING,
    ),
    *change(
        "away from the default mode",
        "AIMService",
        {"caching": {}},
        {"caching": {"mode": "Shared"}},
        "spec.caching",
        CACHING,
    ),
    *change("another model name", TEMPLATES, {}, {"modelName": "gemma"}, "spec.modelName", "model name is immutable"),
    *change(
        "another source", DOWNLOADS, {}, {"sourceUri": "hf://acme/gemma"}, "spec.sourceUri", "sourceUri is immutable"
    ),
]

PARAMETERS = [
    *parameter("metric", "latency", "throughput"),
    *parameter("precision", "fp8", "fp16"),
    *parameter("gpu", {"requests": 1}, {"requests": 2}),
    *parameter("hardware", {"gpu": {"requests": 1}}, {"gpu": {"requests": 2}}),
]

ADMITTED = [
    *change("a template is chosen later", "AIMService", {}, {"template": {"name": "a"}}),
    *change("a template is no longer chosen", "AIMService", {"template": {"name": "a"}}, {}),
    *change("caching is set later", "AIMService", {}, {"caching": {"mode": "Shared"}}),
    *change("caching is dropped", "AIMService", {"caching": {"mode": "Shared"}}, {}),
    *change("the default mode is written out", "AIMService", {"caching": {}}, {"caching": {"mode": "Auto"}}),
    *change(
        "everything else of a service",
        "AIMService",
        {"replicas": 1, "env": [{"name": "A"}], "cacheModel": True, "runtimeConfigName": "a"},
        {"replicas": 2, "env": [{"name": "B"}], "maxReplicas": 3, "storage": {}, "routing": {"enabled": True}},
    ),
    *change(
        "everything else of a template",
        TEMPLATES,
        {"env": [{"name": "A"}], "modelSources": [SOURCE], "type": "preview", "profileId": "a"},
        {"env": [{"name": "B"}], "modelSources": [{**SOURCE, "size": 1}], "type": "optimized", "profileId": "b"},
    ),
    *change(
        "everything of a model",
        ("AIMModel", "AIMClusterModel"),
        {"modelSources": [SOURCE], "custom": {"hardware": {"gpu": {"requests": 1}}}},
        {"image": "acme/aim:2", "customTemplates": [{"name": "a"}]},
    ),
    *change(
        "everything of a template cache",
        "AIMTemplateCache",
        {"mode": "Shared"},
        {"templateName": "b", "mode": "Dedicated"},
    ),
    *change(
        "everything else of a download",
        DOWNLOADS,
        {"size": "1Gi"},
        {"size": 0, "modelId": "a/b", "modelDownloadImage": ""},
    ),
    *change(
        "everything of a model source",
        "AIMClusterModelSource",
        {},
        {"filters": [{"image": "b"}], "registry": "ghcr.io"},
    ),
    *change(
        "everything of a runtime config",
        ("AIMRuntimeConfig", "AIMClusterRuntimeConfig"),
        {"storage": {"pvcHeadroomPercent": 5}, "model": {"autoDiscovery": True}},
        {"defaultStorageClassName": "a", "pvcHeadroomPercent": -3, "model": {"autoDiscovery": False}},
    ),
]


@pytest.mark.parametrize("change", [*REFUSED, *PARAMETERS, *ADMITTED])
def test_a_change(change: Change, objects: Objects) -> None:
    before = objects.new(change.kind, {**MINIMAL[change.kind], **change.before})
    objects.created(before)
    outcome = objects.update({**before, "spec": {**MINIMAL[change.kind], **change.after}})
    if change.message:
        refused(outcome, change.path, change.message)
    else:
        assert outcome[0] == 200, outcome
