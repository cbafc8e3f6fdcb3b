"""The proxies that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), as every other client takes them."""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.request import getproxies, proxy_bypass

from yarl import URL


class Proxies:
    """Read once; then says for each address by which proxy it is reached."""

    def __init__(self, named: Mapping[str, str] | None = None) -> None:
        self._named = dict(getproxies() if named is None else named)

    def on_the_way_to(self, url: URL) -> URL | None:
        """The proxy, or None for a direct connection."""
        proxy = self._named.get(url.scheme)
        if not proxy or self._is_excepted(url):
            return None
        return URL(proxy if "://" in proxy else f"http://{proxy}")

    def _is_excepted(self, url: URL) -> bool:
        """Whether NO_PROXY has the host: its name or an ending of it, its address or a network."""
        if proxy_bypass(url.host_port_subcomponent or "", self._named):
            return True
        return any(_is_in(url.host or "", exception.strip()) for exception in self._named.get("no", "").split(","))


def _is_in(host: str, network: str) -> bool:
    """Whether the address is in a network such as `10.0.0.0/8`, which Python's own reading of NO_PROXY passes over."""
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
