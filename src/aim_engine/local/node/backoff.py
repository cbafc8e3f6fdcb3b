"""How long to wait before the next try."""


def restart_delay(previous: float | None, ran: float, *, first: float, limit: float, reset: float) -> float:
    """Return the wait before a container starts again; `previous` is the wait before the run that just ended.

    The first restart comes at once, as does one after a run of at least `reset` seconds.
    """
    if previous is None or ran >= reset:
        return 0.0
    return doubled(previous, first=first, limit=limit)


def doubled(previous: float, *, first: float, limit: float) -> float:
    """Return `first`, then twice the wait before, up to `limit`."""
    return min(previous * 2, limit) if previous else first
