"""The proxy to the API server that the environment names, as every Kubernetes client takes it."""

from ipaddress import ip_address

import structlog
from yarl import URL

from aim_engine.proxies import Proxies

log = structlog.get_logger("proxy")


def on_the_way_to(server: str) -> str | None:
    """The proxy for an API server; None for a direct connection, as always to this machine."""
    url = URL(server)
    proxy = None if _is_loopback(url.host or "") else Proxies().on_the_way_to(url)
    if proxy and proxy.scheme != "http":
        log.warning("proxy of the environment left out, only http:// is spoken to one", server=server)
        return None
    return str(proxy) if proxy else None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
