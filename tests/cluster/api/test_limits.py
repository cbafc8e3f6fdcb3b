"""Limits of single fields: what they admit and what they refuse, on create and on update."""

from typing import Any

import pytest
from tests.cluster.api.cases import (
    CONFIGS,
    CUSTOM,
    DOWNLOADS,
    HARDWARE,
    MODELS,
    SOURCE,
    TEMPLATES,
    Case,
    case,
    check,
    refused,
)
from tests.cluster.api.objects import MINIMAL, Objects

from aim_engine.objects import Manifest

SHORT = "should be at least"
MATCH = "should match"
WORD = "Unsupported value"
REQUIRED = "Required value"
SCANNED = "AIMClusterModelSource"
EVERY_ENV = ("AIMService", "AIMTemplateCache", *CONFIGS, *DOWNLOADS, *MODELS, *TEMPLATES)


def at_least(number: int) -> str:
    return f"should be greater than or equal to {number}"


def at_most(number: int) -> str:
    return f"should be less than or equal to {number}"


def field(title: str, kinds: tuple[str, ...] | str, path: str, good: Any, bad: Any, message: str) -> list[Any]:
    """A limit of one field, at a path such as `storage.pvcHeadroomPercent`."""
    return case(title, kinds, nested(path, good), nested(path, bad), f"spec.{path}", message)


def nested(path: str, value: Any) -> Manifest:
    for step in reversed(path.split(".")):
        value = {step: value}
    return value


def item(title: str, kinds: tuple[str, ...] | str, path: str, good: Any, bad: Any, message: str) -> list[Any]:
    """A limit of one field of the items of a list, at a path such as `filters.image`."""
    items, name = path.split(".")
    seen = f"spec.{items}[0].{name}"
    return case(title, kinds, {items: [{name: good}]}, {items: [{name: bad}]}, seen, message)


def source(title: str, name: str, good: str, bad: str) -> list[Any]:
    admitted, refused = ({"modelSources": [{**SOURCE, name: value}]} for value in (good, bad))
    return case(title, TEMPLATES, admitted, refused, f"spec.modelSources[0].{name}", MATCH)


def gateway(title: str, name: str, good: Any, bad: Any, message: str) -> list[Any]:
    admitted, refused = ({"routing": {"gatewayRef": {"name": "a", name: value}}} for value in (good, bad))
    return case(title, ("AIMService", *CONFIGS), admitted, refused, f"spec.routing.gatewayRef.{name}", message)


def own_sources(number: int) -> Manifest:
    return {"modelSources": [SOURCE] * number, "custom": {"hardware": HARDWARE}}


def inline_sources(number: int) -> Manifest:
    return {"model": {"custom": {**CUSTOM, "modelSources": [SOURCE] * number}}}


def metric(**parts: Any) -> Manifest:
    return {"autoScaling": {"metrics": [{"type": "PodMetric", **parts}]}}


def target(**target: Any) -> Manifest:
    return metric(podmetric={"metric": {}, "target": target})


def variables(*names: str) -> list[Manifest]:
    return [{"name": name} for name in names]


MANY = [f"A{number}" for number in range(65)]
METRIC = "spec.autoScaling.metrics[0]"

LIMITS = [
    *field("an image is needed", MODELS, "image", "a", None, REQUIRED),
    *field("an image has a name", MODELS, "image", "a", "", SHORT),
    *field("16 custom templates", MODELS, "customTemplates", [{}] * 16, [{}] * 17, "Too many: 17"),
    *item("names of 63 characters", MODELS, "customTemplates.name", "a" * 63, "a" * 64, "Too long"),
    *item("64 variables", MODELS, "customTemplates.env", variables(*MANY[1:]), variables(*MANY), "Too many: 65"),
    *item("known profile types", MODELS, "customTemplates.type", "preview", "fast", WORD),
    *case("one source", MODELS, own_sources(1), own_sources(2), "spec.modelSources", "Too many: 2"),
    *field("known default types", MODELS, "custom.type", "preview", "fast", WORD),
    *field("a filter", SCANNED, "filters", [{"image": "a"}], [], "should have at least 1 items"),
    *field("100 filters", SCANNED, "filters", [{"image": "a"}] * 100, [{"image": "a"}] * 101, "Too many: 101"),
    *item("filters of 512 characters", SCANNED, "filters.image", "a" * 512, "a" * 513, "Too long"),
    *field("one model", SCANNED, "maxModels", 1, 0, at_least(1)),
    *field("10000 models", SCANNED, "maxModels", 10000, 10001, at_most(10000)),
    *field("a model name", TEMPLATES, "modelName", "a", "", SHORT),
    *field("known metrics", TEMPLATES, "metric", "latency", "speed", WORD),
    *field("known precisions", TEMPLATES, "precision", "int8", "fp64", WORD),
    *field("known types", TEMPLATES, "type", "optimized", "custom", WORD),
    *field("no negative GPUs", TEMPLATES, "gpu.requests", 0, -1, at_least(0)),
    *field("GPU models of 64 characters", TEMPLATES, "gpu.model", "a" * 64, "a" * 65, "Too long"),
    *field("memory is a quantity", TEMPLATES, "gpu.minVram", "64Gi", "much", MATCH),
    *case(
        "the earlier gpu takes model and memory",
        TEMPLATES,
        {"gpu": {"model": "MI300X", "minVram": 1}},
        {"gpu": {"model": "MI300X", "minVram": "-"}},
        "spec.gpu.minVram",
        MATCH,
    ),
    *case(
        "cpu needs requests",
        TEMPLATES,
        {"hardware": {"cpu": {"requests": 1}}},
        {"hardware": {"cpu": {"limits": 1}}},
        "spec.hardware.cpu.requests",
        REQUIRED,
    ),
    *case(
        "any number of complete sources",
        TEMPLATES,
        {"modelSources": [SOURCE] * 5},
        {"modelSources": [{"modelId": "a/b"}]},
        "spec.modelSources[0].sourceUri",
        REQUIRED,
    ),
    *source("ids of two parts", "modelId", "a-b/c.d", "a.b/c"),
    *source("ids of no more parts", "modelId", "a/b", "a/b/c"),
    *source("from Hugging Face or S3", "sourceUri", "s3://a", "https://a"),
    *field("known caching modes", "AIMService", "caching.mode", "Never", "Sometimes", WORD),
    *field("any number of replicas", "AIMService", "replicas", 0, "1", "must be of type integer"),
    *field("a replica at least", "AIMService", "minReplicas", 1, 0, at_least(1)),
    *field("a replica at most", "AIMService", "maxReplicas", 1, 0, at_least(1)),
    *case(
        "one source",
        "AIMService",
        inline_sources(1),
        inline_sources(2),
        "spec.model.custom.modelSources",
        "Too many: 2",
    ),
    *case("known metric sources", "AIMService", metric(), metric(type="Resource"), f"{METRIC}.type", WORD),
    *case(
        "known targets",
        "AIMService",
        target(type="Utilization"),
        target(type="Most"),
        f"{METRIC}.podmetric.target.type",
        WORD,
    ),
    *case(
        "a target has a type",
        "AIMService",
        target(type="Value"),
        target(value="1"),
        f"{METRIC}.podmetric.target.type",
        REQUIRED,
    ),
    *field("no negative headroom", ("AIMService", *CONFIGS), "storage.pvcHeadroomPercent", 0, -1, at_least(0)),
    *case(
        "a variable once",
        EVERY_ENV,
        {"env": variables("A", "B")},
        {"env": variables("A", "A")},
        "spec.env[1]",
        "Duplicate value",
    ),
    *gateway("a gateway has a name", "name", "a", "", SHORT),
    *gateway("a gateway port", "port", 65535, 65536, at_most(65535)),
    *gateway("a gateway namespace", "namespace", "a-1", "A", MATCH),
    *gateway("a gateway group", "group", "", "a..b", MATCH),
    *gateway("a gateway kind", "kind", "Service", "1", MATCH),
    *gateway("a gateway section", "sectionName", "a.b", "", SHORT),
    *field("a template name", "AIMTemplateCache", "templateName", "a", "", SHORT),
    *field("known template scopes", "AIMTemplateCache", "templateScope", "Unknown", "World", WORD),
    *field("known cache modes", "AIMTemplateCache", "mode", "Dedicated", "Auto", WORD),
    *field("from Hugging Face or S3", DOWNLOADS, "sourceUri", "hf://acme/llama", "hf://a b", MATCH),
    *field("ids of two parts", DOWNLOADS, "modelId", "a/b", "a/b/c", MATCH),
    *field("a size is a quantity", DOWNLOADS, "size", "1.5Gi", "big", MATCH),
]


@pytest.mark.parametrize("case", LIMITS)
def test_a_limit(case: Case, objects: Objects) -> None:
    check(case, objects)


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        pytest.param("profile.metadata.metric", "speed", WORD, id="metrics"),
        pytest.param("profile.metadata.precision", "fp64", WORD, id="precisions"),
        pytest.param("profile.metadata.type", "custom", WORD, id="profile types"),
        pytest.param("resolvedModel.scope", "World", WORD, id="scopes"),
        pytest.param("resolvedHardware.gpu.requests", -1, at_least(0), id="GPUs"),
    ],
)
def test_a_status_is_limited_too(kind: str, path: str, value: Any, message: str, objects: Objects) -> None:
    template = objects.new(kind, MINIMAL[kind])
    objects.created(template)
    refused(objects.report(template, nested(path, value)), f"status.{path}", message)


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_status_has_whole_sources_and_conditions(kind: str, objects: Objects) -> None:
    template = objects.new(kind, MINIMAL[kind])
    objects.created(template)
    one_word = {"modelSources": [{**SOURCE, "modelId": "gpt2"}]}
    refused(objects.report(template, one_word), "status.modelSources[0].modelId", MATCH)
    unexplained = {"conditions": [{"type": "Ready", "status": "True"}]}
    refused(objects.report(template, unexplained), "status.conditions[0].reason", REQUIRED)
