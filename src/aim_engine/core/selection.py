"""Which template a service gets when it names none: stages that refuse with a reason, then an order of preference.

Everything that was considered is kept with the stage that refused it, so that the choice can be explained.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from aim_engine.api import names, quantity
from aim_engine.api.hardware import HardwareRequirements, Metric, ProfileType, RuntimeParameters
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import AIMServiceTemplate, ProfileMetadata, Template
from aim_engine.core import gpus, hardware
from aim_engine.core.node_gpus import Inventory

TYPES: Final = tuple(ProfileType)
METRICS: Final = tuple(Metric)
PRECISIONS: Final = ("fp4", "int4", "fp8", "int8", "fp16", "bf16", "fp32")
UNKNOWN: Final = 1000


class Wish(msgspec.Struct, frozen=True):
    """What a service asks of a template."""

    overrides: RuntimeParameters = RuntimeParameters()
    allow_unoptimized: bool = False


class Traits(msgspec.Struct, frozen=True):
    """What is known of a template, wherever it is written."""

    metric: str
    precision: str
    gpu: str
    """The normalised model; empty if it names none."""
    gpu_count: int
    type: str


Score: TypeAlias = tuple[int, int, int, int]
"""Places by type, GPU, metric and precision; the smallest wins."""


class Verdict(msgspec.Struct, frozen=True):
    """What became of one candidate."""

    template: str
    namespaced: bool
    reason: str
    """Why it was refused; empty for the chosen one and for those that tie with it."""
    score: Score

    @property
    def stage(self) -> str:
        """Which stage refused it; empty if none did."""
        return _STAGES[_stage(self.reason)] if self.reason else ""

    @property
    def where(self) -> str:
        return self.template if self.namespaced else f"{self.template} (cluster)"

    def __str__(self) -> str:
        fate = f"{self.reason} ({self.stage})" if self.reason else "best"
        return f"{self.where}: {fate}, score {'/'.join(map(str, self.score))}"


class Outcome(StrEnum):
    """How a selection ended."""

    CHOSEN = "chosen"
    NO_CANDIDATES = "no candidates"
    NOT_READY = "not ready"
    ONLY_UNOPTIMIZED = "only unoptimized"
    NO_MATCH = "no match"
    AMBIGUOUS = "ambiguous"


class Choice(msgspec.Struct, frozen=True):
    """The template, or why there is none, with a verdict on every candidate."""

    outcome: Outcome
    template: Template | None
    verdicts: tuple[Verdict, ...]
    unknown_gpus: tuple[str, ...] = ()
    """`template: model` for every candidate that was ranked by a GPU the product does not know."""

    @property
    def counts(self) -> dict[str, int]:
        """How many candidates were refused for each reason, most frequent first."""
        return dict(Counter(verdict.reason for verdict in self.verdicts if verdict.reason).most_common())

    @property
    def nearest(self) -> Verdict | None:
        """The refused candidate that came furthest; of several the one with the best score."""
        refused = [verdict for verdict in self.verdicts if verdict.reason]
        return min(refused, key=lambda verdict: (-_stage(verdict.reason), verdict.score, verdict.where), default=None)


def choose(candidates: Sequence[Template], wish: Wish, offered: Inventory) -> Choice:
    """The best of these templates for the wish and the cluster's GPUs."""
    eligible = [one for one in candidates if one.metadata.labels.get(names.LABEL_ORIGIN) != names.ORIGIN_DERIVED]
    refusals = {id(one): refusal(one, wish, offered) for one in eligible}
    left = [one for one in eligible if not refusals[id(one)]]
    if any(isinstance(one, AIMServiceTemplate) for one in left):
        for one in left:
            if not isinstance(one, AIMServiceTemplate):
                refusals[id(one)] = NAMESPACE_PREFERRED
        left = [one for one in left if isinstance(one, AIMServiceTemplate)]
    scores = {id(one): score(one) for one in eligible}
    best = min((scores[id(one)] for one in left), default=None)
    winners = [one for one in left if scores[id(one)] == best]
    refusals |= {id(one): LOWER_RANK for one in left if scores[id(one)] != best}
    verdicts = tuple(_verdict(one, refusals[id(one)], scores[id(one)]) for one in sorted(eligible, key=_name))
    if len(winners) == 1:
        return Choice(Outcome.CHOSEN, winners[0], verdicts, _unknown(left))
    return Choice(_why_none(verdicts, winners), None, verdicts, _unknown(left) if winners else ())


NAMESPACE_PREFERRED: Final = "NamespacedTemplatePreferred"
LOWER_RANK: Final = "LowerPreferenceRank"
UNOPTIMIZED: Final = "UnoptimizedTemplateFiltered"
OVERRIDES: Final = "ServiceOverridesNotMatched"
GPU_ABSENT: Final = "RequiredGPUNotInCluster"


def refusal(template: Template, wish: Wish, offered: Inventory) -> str:
    """Why a template cannot be taken, by the first stage that says no; empty if it can."""
    return next((reason for check in CHECKS if (reason := check(template, wish, offered))), "")


def _not_ready(template: Template, _: Wish, __: Inventory) -> str:
    state = template.status.status if template.status else None
    if state is AIMStatus.READY:
        return ""
    return f"Template{state}" if state else "TemplateNotReady"


def _unoptimized(template: Template, wish: Wish, _: Inventory) -> str:
    optimized = traits(template).type == ProfileType.OPTIMIZED
    return "" if wish.allow_unoptimized or optimized else UNOPTIMIZED


def _overrides(template: Template, wish: Wish, offered: Inventory) -> str:
    found, asked = traits(template), wish.overrides
    gpu = (hardware.effective(asked) or HardwareRequirements()).gpu
    fits = (
        (asked.metric is None or found.metric == asked.metric.lower())
        and (asked.precision is None or found.precision == asked.precision.lower())
        and (gpu is None or not gpu.model or not found.gpu or found.gpu == gpus.normalised(gpu.model))
        and (gpu is None or gpu.requests is None or not found.gpu_count or found.gpu_count == gpu.requests)
        and (gpu is None or gpu.min_vram is None or _has_memory(found.gpu, gpu.min_vram, offered))
    )
    return "" if fits else OVERRIDES


def _gpu_absent(template: Template, _: Wish, offered: Inventory) -> str:
    model = traits(template).gpu
    return "" if not model or model in offered else GPU_ABSENT


CHECKS: Final[tuple[Callable[[Template, Wish, Inventory], str], ...]] = (
    _not_ready,
    _unoptimized,
    _overrides,
    _gpu_absent,
)
_REFUSED_IN: Final = {UNOPTIMIZED: 1, OVERRIDES: 2, GPU_ABSENT: 3, NAMESPACE_PREFERRED: 4, LOWER_RANK: 5}
_STAGES: Final = ("availability", "optimisation", "overrides", "GPU", "scope", "preference")


def _stage(reason: str) -> int:
    """How far a candidate came that was refused for this reason; being not ready has many names."""
    return _REFUSED_IN.get(reason, 0)


def _has_memory(model: str, least: int | str, offered: Inventory) -> bool:
    if not model:
        return True
    known, offer = gpus.known(model), offered.get(model)
    vram = (offer.vram if offer else 0) or (known.vram * 1024**3 if known else 0)
    return quantity.parse(least) <= vram


def traits(template: Template) -> Traits:
    """What discovery found of a template, else what its spec says; for GPUs the other way round."""
    spec, status = template.spec, template.status
    profile = (status.profile.metadata if status and status.profile else None) or ProfileMetadata()
    asked = (hardware.effective(spec) if spec else None) or HardwareRequirements()
    model = (asked.gpu.model if asked.gpu else None) or profile.gpu or ""
    count = (asked.gpu.requests if asked.gpu else None) or profile.gpu_count or 0
    return Traits(
        metric=str(profile.metric or (spec.metric if spec else None) or "").lower(),
        precision=str(profile.precision or (spec.precision if spec else None) or "").lower(),
        gpu=gpus.normalised(model) if model.strip() else "",
        gpu_count=count,
        type=str(profile.type or "").lower(),
    )


def score(template: Template) -> Score:
    """Place in the order of preference; what nothing is known of comes last."""
    found = traits(template)
    return (
        _place(found.type, TYPES),
        gpus.rank(found.gpu) if gpus.known(found.gpu) else UNKNOWN,
        _place(found.metric, METRICS),
        _place(found.precision, PRECISIONS),
    )


def _place(value: str, order: Sequence[str]) -> int:
    return order.index(value) if value in order else len(order) + UNKNOWN


def _why_none(verdicts: Sequence[Verdict], winners: Sequence[Template]) -> Outcome:
    if winners:
        return Outcome.AMBIGUOUS
    if not verdicts:
        return Outcome.NO_CANDIDATES
    ready = [verdict.reason for verdict in verdicts if not verdict.reason.startswith("Template")]
    if not ready:
        return Outcome.NOT_READY
    return Outcome.ONLY_UNOPTIMIZED if set(ready) == {UNOPTIMIZED} else Outcome.NO_MATCH


def _verdict(template: Template, reason: str, place: Score) -> Verdict:
    return Verdict(template.metadata.name, isinstance(template, AIMServiceTemplate), reason, place)


def _unknown(ranked: Sequence[Template]) -> tuple[str, ...]:
    named = [(one.metadata.name, traits(one).gpu) for one in sorted(ranked, key=_name)]
    return tuple(f"{name}: {gpu}" for name, gpu in named if gpu and gpus.known(gpu) is None)


def _name(template: Template) -> tuple[str, str]:
    return template.metadata.name, template.metadata.namespace
