"""Every duration and bound of reading registries, in one value."""

import msgspec

MEBIBYTE = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long, how often and how much; durations are in seconds, sizes in bytes."""

    request: float = 30.0
    """One request from the first byte sent to the last one read."""
    connect: float = 10.0
    """Opening one connection, TLS included."""
    retry_pauses: tuple[float, ...] = (1.0, 3.0)
    """Waits before the second and the third try; no try begins once `request` is over."""
    answer_lifetime: float = 60.0
    """How much older than the wish it serves an answer about a tag may be."""
    longest_wait: float = 600.0
    """Wishes are taken to be no older than this."""
    failure_lifetime: float = 5.0
    """The same for a failure: long enough for everyone who waits for the same image, short enough to mend it."""
    challenge_lifetime: float = 600.0
    """How long a registry is taken to want the same kind of credentials."""
    token_lifetime: float = 60.0
    """Of a token whose server does not say; the token specification's own default."""
    token_margin: float = 5.0
    """A token is renewed this long before it ends."""
    rate_limit_pause: float = 60.0
    """How long a registry is left alone that limits requests and does not say for how long."""
    longest_rate_limit_pause: float = 3600.0
    """More than this is not waited, whatever a registry says."""
    connections_per_host: int = 10
    page_size: int = 1000
    hub_page_size: int = 100
    pages: int = 1000
    """Of one listing; what lies beyond is reported as missing."""
    redirects: int = 5
    manifest_bytes: int = 4 * MEBIBYTE
    config_bytes: int = 4 * MEBIBYTE
    page_bytes: int = 16 * MEBIBYTE
    token_bytes: int = MEBIBYTE
    cache_bytes: int = 32 * MEBIBYTE
    """Of labels kept; the least recently used are forgotten first."""
