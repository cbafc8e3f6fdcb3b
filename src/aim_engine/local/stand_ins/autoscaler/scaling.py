"""How many replicas there should be: the rules of the HorizontalPodAutoscaler, values in, values out."""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

TOLERANCE: Final = 0.1
"""A metric that is off its target by less changes nothing."""


class Reading(NamedTuple):
    """What was measured over all pods, and what it should be."""

    total: float
    target: float
    per_pod: bool = True
    """Whether the target is an average over the pods."""


class Bounds(NamedTuple):
    fewest: int
    most: int


class Decision(NamedTuple):
    """How many replicas, and whether that is what the metrics asked for."""

    replicas: int
    reason: str
    message: str

    @property
    def limited(self) -> bool:
        return self.reason != "DesiredWithinRange"


def wanted(current: int, readings: Iterable[Reading]) -> int | None:
    """What the metrics ask for, the neediest deciding; None if there are none."""
    return max((_proposal(current, reading) for reading in readings), default=None)


def steadied(proposal: int, earlier: Sequence[tuple[float, int]], since: float) -> int:
    """Go down only to the most that was proposed since a moment; up goes at once."""
    return max([proposal, *(replicas for moment, replicas in earlier if moment >= since)])


def bounded(proposal: int, bounds: Bounds) -> Decision:
    """The proposal within the bounds."""
    if proposal < bounds.fewest:
        words = "the desired replica count is less than the minimum replica count"
        return Decision(bounds.fewest, "TooFewReplicas", words)
    if proposal > bounds.most:
        words = "the desired replica count is more than the maximum replica count"
        return Decision(bounds.most, "TooManyReplicas", words)
    return Decision(proposal, "DesiredWithinRange", "the desired count is within the acceptable range")


def _proposal(current: int, reading: Reading) -> int:
    if not current:
        return 0
    ratio = reading.total / (reading.target * (current if reading.per_pod else 1))
    if abs(1 - ratio) <= TOLERANCE:
        return current
    return math.ceil(ratio * current)
