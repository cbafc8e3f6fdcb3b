"""By which template a service runs, as a decision on values."""

from typing import Any

import msgspec
import pytest

from aim_engine.api.hardware import RuntimeParameters
from aim_engine.api.service import AIMServiceSpec
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import AIMServiceTemplate
from aim_engine.core import service_template
from aim_engine.core.problems import Category


def template(word: str | None = "Ready", kind: Any = AIMServiceTemplate, **spec: Any) -> Any:
    ready = {"type": "Ready", "status": "False", "reason": "X", "message": "no such GPU"}
    content = {
        "metadata": {"name": "fast", "namespace": "ml-team" if kind is AIMServiceTemplate else "", "uid": "u"},
        "spec": {"modelName": "m", **spec},
        "status": {"status": word, "conditions": [ready]} if word else {},
    }
    return msgspec.convert(content, kind)


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        pytest.param(None, "my-template", id="none"),
        pytest.param({}, "my-template", id="nothing in them"),
        pytest.param({"hardware": {"gpu": {"resourceName": "amd.com/gpu"}}}, "my-template", id="only a default"),
        pytest.param({"metric": "latency"}, "my-template-ovr-latency-817c", id="a metric"),
        pytest.param(
            {
                "metric": "throughput",
                "precision": "fp8",
                "hardware": {"gpu": {"model": "MI300X", "requests": 4}},
            },
            "my-template-ovr-mi300x-4gpu-fp8-throughput-b295",
            id="everything that shows",
        ),
        pytest.param(
            {"metric": "throughput", "precision": "fp8", "gpu": {"model": "MI300X", "requests": 4}},
            "my-template-ovr-mi300x-4gpu-fp8-throughput-b295",
            id="in the earlier naming",
        ),
    ],
)
def test_overrides_make_a_name(overrides: Any, name: str) -> None:
    spec = msgspec.convert({"model": {"name": "m"}, "overrides": overrides}, AIMServiceSpec)
    assert service_template.final_name("my-template", spec) == name


def test_what_shows_in_no_name_shows_in_its_hash() -> None:
    hidden = (
        {"hardware": {"gpu": {"minVram": "192Gi"}}},
        {"hardware": {"gpu": {"resourceName": "amd.com/cpx"}}},
        {"hardware": {"cpu": {"requests": "4"}}},
        {"hardware": {"cpu": {"requests": "4", "limits": "8"}}},
    )
    specs = [msgspec.convert({"model": {"name": "m"}, "overrides": one}, AIMServiceSpec) for one in hidden]
    names = {service_template.final_name("t", spec) for spec in specs}
    assert len(names) == len(hidden)
    assert all(name.startswith("t-ovr-") and len(name) == len("t-ovr-1234") for name in names)


def test_only_a_template_that_is_ready_is_usable() -> None:
    assert service_template.found(template()).usable is not None
    for word in ("Pending", "Progressing", "NotAvailable", "Degraded", "Failed", None):
        assert service_template.found(template(word)).usable is None


def test_a_template_in_trouble_says_why_and_blocks_nothing() -> None:
    gone = service_template.found(template("NotAvailable")).component
    assert gone.effective_message == "AIMServiceTemplate fast is not available (no matching GPUs): no such GPU"
    assert (gone.effective_state, gone.problems) == (AIMStatus.NOT_AVAILABLE, ())


def test_a_template_that_was_named_and_is_missing_blocks() -> None:
    (problem,) = service_template.missing("fast").component.problems
    assert (problem.category, problem.message) == (Category.MISSING_UPSTREAM, 'template "fast" not found')


def test_nothing_is_derived_from_what_is_not_ready() -> None:
    assert service_template.derive("x", template("Progressing")).derivation is None
    derived = service_template.derive("x", template()).derivation
    assert derived is not None
    assert derived.name == "x"


def test_without_overrides_no_wish_is_open() -> None:
    assert not service_template.open_wishes(template(), None)
    assert not service_template.open_wishes(template(), RuntimeParameters())
