"""Pauses that double, with jitter, so that those who failed together don't come back together."""

import random
from dataclasses import dataclass


def pause(attempt: int, first: float, most: float) -> float:
    """The pause after failure number `attempt` (from 0): first x 2^attempt up to `most`, or down to half of that."""
    whole = min(most, first * 2.0 ** min(attempt, 64))
    return random.uniform(whole / 2, whole)


@dataclass(slots=True)
class Backoff:
    """Counts failures in a row."""

    first: float
    most: float
    failures: int = 0

    def next(self) -> float:
        self.failures += 1
        return pause(self.failures - 1, self.first, self.most)

    def reset(self) -> None:
        self.failures = 0
