"""Rules that hold at any time: what they admit and what they refuse, on create and on update, and what they say."""

from typing import Any

import pytest
from tests.cluster.api.cases import CUSTOM, HARDWARE, MODELS, SOURCE, TEMPLATES, Case, case, check
from tests.cluster.api.objects import MINIMAL, Objects

ONE_OF = "exactly one of name, image, or custom must be specified"
SOMETHING = "at least one of gpu or cpu must be specified"
MODEL_OR_MEMORY = (
    "model and minVram are mutually exclusive; specify either a specific GPU model"
    " OR a minimum VRAM requirement, not both"
)
POSITIVE = "cpu requests must be greater than 0"
HARDWARE_NEEDED = (
    "when using modelSources, hardware must be specified: set custom.hardware (inherited by all templates)"
    " or set hardware on each template individually"
)


def hardware(title: str, good: Any, bad: Any, where: str, message: str) -> list[Any]:
    """The same rule wherever a spec says hardware; `where` is the faulty part below it."""
    source = {"modelSources": [SOURCE]}
    return [
        *case(
            title,
            MODELS,
            {"custom": {"hardware": good}},
            {"custom": {"hardware": bad}},
            f"spec.custom.hardware{where}",
            message,
        ),
        *case(
            title,
            MODELS,
            {**source, "customTemplates": [{"hardware": good}]},
            {**source, "customTemplates": [{"hardware": bad}]},
            f"spec.customTemplates[0].hardware{where}",
            message,
        ),
        *case(title, TEMPLATES, {"hardware": good}, {"hardware": bad}, f"spec.hardware{where}", message),
        *case(
            title,
            "AIMService",
            {"overrides": {"hardware": good}},
            {"overrides": {"hardware": bad}},
            f"spec.overrides.hardware{where}",
            message,
        ),
        *case(
            title,
            "AIMService",
            {"model": {"custom": {**CUSTOM, "hardware": good}}},
            {"model": {"custom": {**CUSTOM, "hardware": bad}}},
            f"spec.model.custom.hardware{where}",
            message,
        ),
    ]


RULES = [
    *case("a model is given", "AIMService", {"model": {"ref": "llama"}}, {"model": {}}, "spec.model", ONE_OF),
    *case(
        "name or image",
        "AIMService",
        {"model": {"image": "a"}},
        {"model": {"name": "a", "image": "b"}},
        "spec.model",
        ONE_OF,
    ),
    *case(
        "name or ref",
        "AIMService",
        {"model": {"name": "a"}},
        {"model": {"name": "a", "ref": "a"}},
        "spec.model",
        ONE_OF,
    ),
    *case(
        "image or custom",
        "AIMService",
        {"model": {"custom": CUSTOM}},
        {"model": {"image": "a", "custom": CUSTOM}},
        "spec.model",
        ONE_OF,
    ),
    *case(
        "a custom model has a source",
        "AIMService",
        {"model": {"custom": CUSTOM}},
        {"model": {"custom": {**CUSTOM, "modelSources": []}}},
        "spec.model.custom",
        "at least one model source must be specified",
    ),
    *hardware("hardware is something", {"cpu": {"requests": 1}}, {}, "", SOMETHING),
    *hardware(
        "a GPU is chosen by model or memory",
        {"gpu": {"model": "MI300X"}},
        {"gpu": {"model": "MI300X", "minVram": "64Gi"}},
        ".gpu",
        MODEL_OR_MEMORY,
    ),
    *hardware(
        "an empty GPU model is none",
        {"gpu": {"model": "", "minVram": "64Gi"}},
        {"gpu": {"model": "a", "minVram": 1}},
        ".gpu",
        MODEL_OR_MEMORY,
    ),
    *hardware("some CPU, as text", {"cpu": {"requests": "1m"}}, {"cpu": {"requests": "0.0"}}, ".cpu", POSITIVE),
    *hardware("some CPU, as number", {"cpu": {"requests": 1}}, {"cpu": {"requests": 0}}, ".cpu", POSITIVE),
    *hardware("no negative CPU", {"cpu": {"requests": "1e-3"}}, {"cpu": {"requests": "-1Ki"}}, ".cpu", POSITIVE),
    *case(
        "weights of one's own need hardware",
        MODELS,
        {"modelSources": [SOURCE], "custom": {"hardware": HARDWARE}},
        {"modelSources": [SOURCE]},
        "spec",
        HARDWARE_NEEDED,
    ),
    *case(
        "hardware on templates counts if each has it",
        MODELS,
        {"modelSources": [SOURCE], "customTemplates": [{"hardware": HARDWARE}, {"hardware": HARDWARE}]},
        {"modelSources": [SOURCE], "customTemplates": [{"hardware": HARDWARE}, {"name": "bare"}]},
        "spec",
        HARDWARE_NEEDED,
    ),
    *case(
        "templates without hardware inherit the model's",
        MODELS,
        {"modelSources": [SOURCE], "custom": {"hardware": HARDWARE}, "customTemplates": [{"name": "bare"}]},
        {"modelSources": [SOURCE], "custom": {"type": "preview"}, "customTemplates": []},
        "spec",
        HARDWARE_NEEDED,
    ),
    *case(
        "without weights no hardware is needed",
        MODELS,
        {"modelSources": [], "customTemplates": [{"name": "bare"}]},
        {"modelSources": [SOURCE], "customTemplates": [{"name": "bare"}]},
        "spec",
        HARDWARE_NEEDED,
    ),
]


@pytest.mark.parametrize("case", RULES)
def test_a_rule(case: Case, objects: Objects) -> None:
    check(case, objects)


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_status_is_judged_less_than_a_spec(kind: str, objects: Objects) -> None:
    template = objects.new(kind, MINIMAL[kind])
    objects.created(template)

    both = {"gpu": {"model": "MI300X", "minVram": "64Gi", "resourceName": "amd.com/gpu"}, "cpu": {"requests": 0}}
    status, answer = objects.report(template, {"status": "Ready", "resolvedHardware": both})
    assert (status, answer.get("status")) == (200, {"status": "Ready", "resolvedHardware": both})

    status, answer = objects.report(template, {"resolvedHardware": {}})
    assert (status, SOMETHING in answer["message"]) == (422, True), answer
