"""Every duration of the node agent in one value, so that tests can run with a tenth of them."""

import msgspec


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in seconds, as a kubelet has them by default."""

    restart_backoff: float = 10.0
    """Wait before the second restart of a container; doubles with each further one."""
    restart_backoff_limit: float = 300.0
    restart_backoff_reset: float = 600.0
    """A container that ran this long starts again from the first wait."""
    pull_backoff: float = 10.0
    pull_backoff_limit: float = 300.0
    retry: float = 5.0
    """Wait before the first new try of what the API server does not offer yet (a claim, a ConfigMap); doubles."""
    retry_limit: float = 60.0
    lease_renewal: float = 10.0
    lease_duration: float = 40.0
    node_status: float = 300.0
    """How often an unchanged node status is written again."""
    probe_unit: float = 1.0
    """What one second of a probe's `periodSeconds` and `initialDelaySeconds` lasts."""
    grace_unit: float = 1.0
    """What one second of a grace period or a deadline lasts."""
    leaving: float = 5.0
    """What containers get to end when the agent stops."""
    token_life: float = 0.8
    """The part of a service account token's life after which it is replaced."""

    def scaled(self, factor: float) -> "Timings":
        """The same durations times `factor`."""
        return Timings(**{name: getattr(self, name) * factor for name in self.__struct_fields__})
