"""Durations of the runtime for tests that must not wait as long as users may."""

from dataclasses import replace

from aim_engine.kube.timings import Timings


def shortened(share: float) -> Timings:
    """A share of all durations but of those that a busy machine would miss: answers, passes and leases have time."""
    whole = Timings()
    return replace(
        whole.scaled(share),
        connect=whole.connect,
        call=whole.call,
        lease=whole.lease,
        renew_deadline=whole.renew_deadline,
        lease_retry=whole.lease_retry,
        release=60.0,
        one_pass=whole.one_pass,
    )
