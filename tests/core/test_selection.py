"""The automatic choice of a template: what refuses a candidate, which one wins, and how that is explained."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from aim_engine.api.hardware import GpuRequirements, HardwareRequirements, RuntimeParameters
from aim_engine.api.template import AIMClusterServiceTemplate, AIMServiceTemplate, Template
from aim_engine.core import selection
from aim_engine.core.node_gpus import Offer
from aim_engine.core.selection import Outcome, Wish

GI = 1024**3
OFFERED = {"MI300X": Offer(192 * GI), "MI325X": Offer(256 * GI)}
OPTIMIZED = {"metric": "latency", "precision": "fp8", "type": "optimized", "gpu": "MI300X", "gpuCount": 1}


def template(name: str, *, state: str = "Ready", cluster: bool = False, labels: Any = None, **profile: Any) -> Template:
    content = {
        "metadata": {"name": name, "namespace": "" if cluster else "ml-team", "labels": labels or {}},
        "spec": {"modelName": "m"},
        "status": {"status": state, "profile": {"metadata": {**OPTIMIZED, **profile}}},
    }
    return msgspec.convert(content, AIMClusterServiceTemplate if cluster else AIMServiceTemplate)


def chosen(candidates: list[Template], wish: Wish | None = None) -> str | None:
    choice = selection.choose(candidates, wish or Wish(), OFFERED)
    return choice.template.metadata.name if choice.template else None


def gpu_wish(**gpu: Any) -> Wish:
    return Wish(RuntimeParameters(hardware=HardwareRequirements(gpu=GpuRequirements(**gpu))))


@pytest.mark.parametrize(
    ("candidates", "wish", "expected"),
    [
        pytest.param([template("a", gpu="MI325X"), template("b")], Wish(), "a", id="the better GPU"),
        pytest.param([template("a", metric="throughput"), template("b")], Wish(), "b", id="latency before throughput"),
        pytest.param([template("a", precision="fp16"), template("b")], Wish(), "b", id="the smaller precision"),
        pytest.param(
            [template("a", precision="auto"), template("b", precision="fp32")], Wish(), "b", id="auto ranks as unknown"
        ),
        pytest.param(
            [template("a", type="preview", gpu="MI325X"), template("b", type="unoptimized", gpu="MI325X")],
            Wish(allow_unoptimized=True),
            "a",
            id="preview before unoptimized",
        ),
        pytest.param(
            [template("a", cluster=True, gpu="MI325X"), template("b")],
            Wish(),
            "b",
            id="the namespace before the cluster",
        ),
        pytest.param([template("a", cluster=True)], Wish(), "a", id="a cluster template when there is no other"),
        pytest.param([template("a", gpu="MI250X"), template("b")], Wish(), "b", id="not a GPU the cluster lacks"),
        pytest.param([template("a", gpu="Instinct MI300X (rev 2)")], Wish(), "a", id="GPU names are normalised"),
        pytest.param(
            [template("a"), template("b", metric="throughput")],
            Wish(RuntimeParameters(metric="throughput")),  # pyright: ignore[reportArgumentType]
            "b",
            id="an override narrows",
        ),
        pytest.param([template("a"), template("b", gpuCount=2)], gpu_wish(requests=2), "b", id="GPU count by override"),
        pytest.param(
            [template("a"), template("b", gpu="MI325X", metric="throughput")],
            gpu_wish(min_vram="200Gi"),
            "b",
            id="memory by override",
        ),
        pytest.param(
            [template("a", labels={"aim.eai.amd.com/origin": "derived"}), template("b", precision="fp32")],
            Wish(),
            "b",
            id="derived templates are nobody's choice but their service's",
        ),
    ],
)
def test_the_best_template_is_chosen(candidates: list[Template], wish: Wish, expected: str) -> None:
    assert chosen(candidates, wish) == expected


@pytest.mark.parametrize(
    ("candidates", "outcome", "reasons"),
    [
        pytest.param([], Outcome.NO_CANDIDATES, {}, id="no template at all"),
        pytest.param(
            [template("a", state="Failed"), template("b", state="NotAvailable")],
            Outcome.NOT_READY,
            {"TemplateFailed": 1, "TemplateNotAvailable": 1},
            id="none is ready",
        ),
        pytest.param(
            [template("a", type="unoptimized"), template("b", type="preview")],
            Outcome.ONLY_UNOPTIMIZED,
            {"UnoptimizedTemplateFiltered": 2},
            id="only unoptimized ones",
        ),
        pytest.param(
            [template("a", gpu="MI250X")], Outcome.NO_MATCH, {"RequiredGPUNotInCluster": 1}, id="only for absent GPUs"
        ),
        pytest.param([template("a"), template("b")], Outcome.AMBIGUOUS, {}, id="two of equal rank"),
    ],
)
def test_no_choice_is_explained(candidates: list[Template], outcome: Outcome, reasons: dict[str, int]) -> None:
    choice = selection.choose(candidates, Wish(), OFFERED)
    assert (choice.outcome, choice.template, choice.counts) == (outcome, None, reasons)


def test_a_gpu_nobody_knows_is_usable_ranks_last_and_is_reported() -> None:
    offered = {**OFFERED, "AMD-ABCD": Offer()}
    choice = selection.choose([template("a", gpu="AMD-ABCD"), template("b")], Wish(), offered)
    assert choice.template is not None
    assert choice.template.metadata.name == "b"
    assert choice.unknown_gpus == ("a: AMD-ABCD",)


some_templates = some.lists(
    some.builds(
        template,
        some.sampled_from("abcdef"),
        state=some.sampled_from(["Ready", "Failed", "Pending"]),
        cluster=some.booleans(),
        gpu=some.sampled_from(["MI300X", "MI325X", "MI250X"]),
        precision=some.sampled_from(["fp8", "fp16", "auto"]),
        type=some.sampled_from(["optimized", "preview", "unoptimized"]),
    ),
    max_size=6,
    unique_by=lambda one: (one.metadata.name, one.metadata.namespace),
)


@given(some_templates, some.randoms())
def test_the_choice_does_not_depend_on_the_order_and_explains_every_candidate(
    candidates: list[Template], random: Any
) -> None:
    choice = selection.choose(candidates, Wish(), OFFERED)
    shuffled = list(candidates)
    random.shuffle(shuffled)
    again = selection.choose(shuffled, Wish(), OFFERED)
    assert again == choice
    assert len(choice.verdicts) == len(candidates)
    assert [verdict.reason for verdict in choice.verdicts].count("") == {
        Outcome.CHOSEN: 1,
        Outcome.AMBIGUOUS: max(2, [verdict.reason for verdict in choice.verdicts].count("")),
    }.get(choice.outcome, 0)
