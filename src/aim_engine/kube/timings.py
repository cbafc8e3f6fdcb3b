"""Every duration of the runtime in one place, in seconds, so that tests can run with a tenth of them."""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Timings:
    """The defaults are what a cluster gets."""

    connect: float = 5.0
    """Until a connection is made, TLS included."""
    call: float = 30.0
    """Until one call is answered, its body included."""
    patience: float = 60.0
    """How long one call may wait in all because the server asks it to come back later."""
    plugin: float = 60.0
    """Until a credential plugin has answered; a person may have to log in."""

    watch: float = 300.0
    """The length of a watch asked from the server; each takes up to twice of it, so that they don't all end at once."""
    silence: float = 75.0
    """A watch without a byte for this long is cut and resumed. Bookmarks come every minute; when the server leaves one
    out, which it does for idle kinds, that costs a call."""
    reconnect: float = 0.1
    """The first pause after a watch or list failed; it doubles."""
    reconnect_most: float = 30.0
    absent: float = 10.0
    """How often a kind that is not installed is looked for."""

    retry: float = 0.005
    """The first pause after a failed pass; it doubles."""
    retry_most: float = 1000.0
    resync: float = 36_000.0
    """How often every object is looked at although nothing happened."""
    one_pass: float = 300.0
    """A pass that takes longer is ended and tried again."""

    lease: float = 15.0
    """How long others respect a lease that is not renewed."""
    renew_deadline: float = 10.0
    """How long after its last renewal the holder stops by itself."""
    lease_retry: float = 2.0
    """Between two attempts to take or renew the lease."""
    release: float = 2.0
    """Until the lease is given back when the process ends; after that it is left to expire."""

    lock: float = 30.0
    """How long a short-lived lock is respected, and how long it is waited for."""
    lock_poll: float = 0.1

    event_window: float = 600.0
    """Events that differ only in their message are counted over this long."""
    event_refill: float = 300.0
    """After a burst of events an object gets one more per this long."""

    shutdown: float = 8.0
    """What running passes get to finish when the process has to end."""

    def scaled(self, factor: float) -> "Timings":
        """The same proportions, faster or slower."""
        return replace(self, **{field.name: getattr(self, field.name) * factor for field in fields(self)})
