"""The durations that are promises."""

from dataclasses import asdict

from aim_engine.kube.timings import Timings


def test_the_promised_durations():
    timings = Timings()
    assert (timings.lease, timings.renew_deadline, timings.lease_retry) == (15, 10, 2)
    assert (timings.retry, timings.retry_most, timings.resync) == (0.005, 1000, 10 * 3600)
    assert (timings.lock, timings.lock_poll) == (30, 0.1)
    assert (timings.event_window, timings.event_refill) == (600, 300)
    assert timings.shutdown + timings.release <= 10, "the end of a process, the release of its lease included"
    assert timings.renew_deadline < timings.lease


def test_all_durations_can_be_scaled_together():
    whole, tenth = asdict(Timings()), asdict(Timings().scaled(0.1))
    assert tenth == {name: seconds * 0.1 for name, seconds in whole.items()}
