"""How many replicas the autoscaler wants, from what was measured and what was wanted before."""

from collections.abc import Sequence

import pytest

from aim_engine.local.stand_ins.autoscaler import scaling
from aim_engine.local.stand_ins.autoscaler.measuring import OPERATIONS
from aim_engine.local.stand_ins.autoscaler.scaling import Bounds, Reading


@pytest.mark.parametrize(
    ("current", "readings", "wanted"),
    [
        pytest.param(1, [Reading(5, 2)], 3, id="five requests, two per pod"),
        pytest.param(3, [Reading(2, 2)], 1, id="less to do"),
        pytest.param(4, [Reading(8.5, 2)], 4, id="a tenth off the target changes nothing"),
        pytest.param(2, [Reading(2, 2), Reading(9, 3)], 3, id="the neediest metric decides"),
        pytest.param(2, [Reading(10, 5, per_pod=False)], 4, id="a total that is twice its target"),
        pytest.param(0, [Reading(5, 1)], 0, id="nothing runs, so nothing is known"),
        pytest.param(2, [], None, id="nothing was measured"),
    ],
)
def test_metrics_ask_for_replicas(current: int, readings: list[Reading], wanted: int | None) -> None:
    assert scaling.wanted(current, readings) == wanted


@pytest.mark.parametrize(
    ("proposal", "replicas", "reason"),
    [
        pytest.param(0, 1, "TooFewReplicas", id="never fewer than the fewest"),
        pytest.param(9, 3, "TooManyReplicas", id="never more than the most"),
        pytest.param(2, 2, "DesiredWithinRange", id="as asked"),
    ],
)
def test_bounds_hold(proposal: int, replicas: int, reason: str) -> None:
    decision = scaling.bounded(proposal, Bounds(1, 3))
    assert (decision.replicas, decision.reason) == (replicas, reason)
    assert decision.limited == (reason != "DesiredWithinRange")


def test_going_down_waits_for_the_most_that_was_wanted_lately() -> None:
    earlier = [(10.0, 9), (50.0, 4), (60.0, 2)]
    assert scaling.steadied(1, earlier, since=40.0) == 4
    assert scaling.steadied(1, earlier, since=60.5) == 1


@pytest.mark.parametrize(
    ("operation", "result"),
    [("last_one", 6.0), ("avg", 3.0), ("min", 1.0), ("max", 6.0), ("count", 3.0), ("rate", 0.5)],
)
def test_operations_over_time(operation: str, result: float) -> None:
    samples: Sequence[tuple[float, float]] = [(0.0, 1.0), (4.0, 2.0), (10.0, 6.0)]
    assert OPERATIONS[operation](samples) == result
