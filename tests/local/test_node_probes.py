"""How answers to probes are judged, how stops are asked for, and the durations of a node."""

import asyncio
from datetime import UTC, datetime

import pytest

from aim_engine.local.errors import LocalError
from aim_engine.local.node import log_options
from aim_engine.local.node.container_spec import Probe
from aim_engine.local.node.probes import Verdict
from aim_engine.local.node.stopping import Stop
from aim_engine.local.node.timings import Timings


@pytest.mark.parametrize(
    ("answers", "healthy"),
    [
        pytest.param("", False, id="nothing was asked yet"),
        pytest.param("+", False, id="one success of two is not enough"),
        pytest.param("++", True, id="two successes in a row"),
        pytest.param("+-+", False, id="a failure between starts the count anew"),
        pytest.param("++--", True, id="two failures of three are forgiven"),
        pytest.param("++---", False, id="three failures in a row"),
        pytest.param("++--+--", True, id="a success between starts the count of failures anew"),
    ],
)
def test_thresholds(answers: str, healthy: bool) -> None:
    verdict = Verdict(Probe(success_threshold=2, failure_threshold=3), healthy=False)
    for answer in answers:
        verdict.take(success=answer == "+")
    assert verdict.healthy is healthy


async def test_a_deadline_can_come_nearer_but_never_moves_away() -> None:
    stop = Stop()
    assert not await stop.within(0.01)
    stop.ask(60)
    stop.ask(120)
    assert 0 < stop.remaining <= 60
    waiting = asyncio.create_task(stop.deadline())
    await asyncio.sleep(0)
    stop.ask(0)
    async with asyncio.timeout(120):
        await waiting
    assert stop.remaining == 0


def test_the_durations_are_a_kubelets() -> None:
    timings = Timings()
    assert (timings.restart_backoff, timings.restart_backoff_limit, timings.restart_backoff_reset) == (10, 300, 600)
    assert (timings.pull_backoff, timings.pull_backoff_limit) == (10, 300)
    assert (timings.lease_renewal, timings.lease_duration, timings.node_status) == (10, 40, 300)
    assert (timings.probe_unit, timings.grace_unit) == (1, 1)
    assert timings.scaled(0.1).restart_backoff == 1


def test_options_of_a_request_for_logs() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    asked = log_options.selection({"follow": "true", "tailLines": "5", "sinceSeconds": "5"}, now)
    assert (asked.follow, asked.tail, asked.since) == (True, 5, datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC))
    with pytest.raises(LocalError, match="tailLines=-1 is not a number"):
        log_options.selection({"tailLines": "-1"}, now)
    with pytest.raises(LocalError, match="sinceTime=yesterday is not a time"):
        log_options.selection({"sinceTime": "yesterday"}, now)
