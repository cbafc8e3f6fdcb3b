"""The proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), as every Kubernetes client takes it."""

from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import structlog

log = structlog.get_logger("proxies")


def on_the_way_to(server: str) -> str | None:
    """The proxy for an API server; None for a direct connection, as always to this machine."""
    url, named = urlsplit(server), getproxies()
    proxy = named.get(url.scheme)
    if not proxy or _is_loopback(url.hostname or "") or _is_excepted(url, named.get("no", "")):
        return None
    whole = proxy if "://" in proxy else f"http://{proxy}"
    if not whole.startswith("http://"):
        log.warning("proxy of the environment left out, only http:// is spoken to one", server=server)
        return None
    return whole


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_excepted(url: SplitResult, exceptions: str) -> bool:
    """Whether NO_PROXY has the host: its name or an ending of it, with or without port, its address or its network."""
    by_name = proxy_bypass(url.netloc.rpartition("@")[2])
    return by_name or any(_is_in(url.hostname or "", exception.strip()) for exception in exceptions.split(","))


def _is_in(host: str, network: str) -> bool:
    """Whether the address is in a network such as `10.0.0.0/8`, which Python's own reading of NO_PROXY passes over."""
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
