"""The automatic choice of a template: what refuses a candidate, which one wins, and how that is explained."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from aim_engine.api.hardware import GpuRequirements, HardwareRequirements, Metric, Precision, RuntimeParameters
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


def any_template(name: str, **traits: Any) -> Template:
    """A template of which anything may be known or not."""
    labels = {"aim.eai.amd.com/origin": "derived"} if traits.pop("derived") else {}
    content = {
        "metadata": {"name": name, "namespace": "" if traits["cluster"] else "ml-team", "labels": labels},
        "spec": {"modelName": "m", **({"hardware": {"gpu": traits["hardware"]}} if traits["hardware"] else {})},
        "status": {"status": traits["state"], "profile": {"metadata": traits["profile"]}},
    }
    return msgspec.convert(content, AIMClusterServiceTemplate if traits["cluster"] else AIMServiceTemplate)


GPUS = some.sampled_from(["MI300X", "MI308X", "MI325X", "MI250X", "MI100", "AMD-ABCD", "Instinct MI300X (rev 2)"])
PROFILES = some.fixed_dictionaries(
    {},
    optional={
        "metric": some.sampled_from(["latency", "throughput"]),
        "precision": some.sampled_from(["fp4", "fp8", "auto"]),
        "type": some.sampled_from(["optimized", "preview", "unoptimized"]),
        "gpu": GPUS,
        "gpuCount": some.integers(0, 2),
    },
)
TEMPLATES = some.lists(
    some.builds(
        any_template,
        some.sampled_from("abcdef"),
        state=some.sampled_from(["Ready", "Ready", "Ready", "Failed", "Pending", None]),
        cluster=some.booleans(),
        derived=some.integers(0, 9).map(lambda number: number == 0),
        hardware=some.none() | some.fixed_dictionaries({}, optional={"model": GPUS, "requests": some.integers(0, 2)}),
        profile=PROFILES,
    ),
    max_size=6,
    unique_by=lambda one: (one.metadata.name, one.metadata.namespace),
)
WISHES = some.builds(
    Wish,
    some.builds(
        RuntimeParameters,
        metric=some.none() | some.sampled_from(Metric),
        precision=some.none() | some.sampled_from([Precision.FP8, Precision.AUTO]),
        hardware=some.none()
        | some.builds(
            HardwareRequirements,
            gpu=some.builds(GpuRequirements, requests=some.none() | some.integers(0, 2), model=some.none() | GPUS),
        ),
    ),
    allow_unoptimized=some.booleans(),
)


@given(TEMPLATES, WISHES, some.randoms())
def test_the_choice_does_not_depend_on_the_order_of_candidates(
    candidates: list[Template], wish: Wish, random: Any
) -> None:
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert selection.choose(shuffled, wish, OFFERED) == selection.choose(candidates, wish, OFFERED)


@given(TEMPLATES, WISHES)
def test_every_candidate_is_explained_and_the_explanation_agrees_with_the_choice(
    candidates: list[Template], wish: Wish
) -> None:
    choice = selection.choose(candidates, wish, OFFERED)
    told = {(one.template, one.namespaced): one for one in choice.verdicts}
    considered = [one for one in candidates if not one.metadata.labels]
    assert set(told) == {(one.metadata.name, isinstance(one, AIMServiceTemplate)) for one in considered}
    assert len(told) == len(choice.verdicts)
    best = [one for one in choice.verdicts if not one.reason]
    outranked = [one for one in choice.verdicts if one.reason == selection.LOWER_RANK]
    assert all(one.score == best[0].score for one in best), "those that tie are equal"
    assert all(one.score > best[0].score for one in outranked), "and better than all that were outranked"
    assert len({one.namespaced for one in (*best, *outranked)}) <= 1, "of one scope"
    assert all(bool(one.stage) == bool(one.reason) for one in choice.verdicts)
    assert sum(choice.counts.values()) + len(best) == len(choice.verdicts)
    if choice.template:
        assert choice.outcome is Outcome.CHOSEN
        assert [(one.template, one.namespaced) for one in best] == [
            (choice.template.metadata.name, isinstance(choice.template, AIMServiceTemplate))
        ]
    else:
        assert len(best) != 1
        assert (choice.outcome is Outcome.AMBIGUOUS) == bool(best)
        assert (choice.outcome is Outcome.NO_CANDIDATES) == (not told)


@given(TEMPLATES, WISHES)
def test_what_was_chosen_is_still_chosen_without_the_others(candidates: list[Template], wish: Wish) -> None:
    choice = selection.choose(candidates, wish, OFFERED)
    if choice.template:
        assert selection.choose([choice.template], wish, OFFERED).template == choice.template


@given(TEMPLATES)
def test_scores_are_a_total_order(candidates: list[Template]) -> None:
    scores = [selection.score(one) for one in candidates]
    assert all(len(score) == 4 for score in scores)
    assert all(one < other or other < one or one == other for one in scores for other in scores)


def test_a_gpu_nobody_knows_ranks_with_templates_that_name_none() -> None:
    offered = {**OFFERED, "AMD-ABCD": Offer()}
    choice = selection.choose([template("a", gpu="AMD-ABCD"), template("b", gpu=None)], Wish(), offered)
    assert choice.outcome is Outcome.AMBIGUOUS


def test_an_override_of_no_gpu_fits_no_template_with_gpus() -> None:
    choice = selection.choose([template("a")], gpu_wish(requests=0), OFFERED)
    assert choice.counts == {"ServiceOverridesNotMatched": 1}


def test_the_nearest_miss_came_furthest_and_is_the_best_of_those() -> None:
    candidates = [
        template("a", state="Failed"),
        template("b", type="unoptimized"),
        template("c", gpu="MI250X", metric="throughput"),
        template("d", gpu="MI250X"),
    ]
    choice = selection.choose(candidates, Wish(), OFFERED)
    assert choice.nearest is not None
    assert str(choice.nearest) == "d: RequiredGPUNotInCluster (GPU), score 0/6/0/2"
    assert [one.stage for one in choice.verdicts] == ["availability", "optimisation", "GPU", "GPU"]
