"""The proxies that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), as every other client takes them."""

from collections.abc import Mapping
from urllib.request import getproxies, proxy_bypass

from yarl import URL


class Proxies:
    """Read once; then says for each address by which proxy it is reached."""

    def __init__(self, named: Mapping[str, str] | None = None) -> None:
        self._named = dict(getproxies() if named is None else named)

    def on_the_way_to(self, url: URL) -> URL | None:
        """The proxy, or None for a direct connection."""
        proxy = self._named.get(url.scheme)
        if not proxy or proxy_bypass(url.host or "", self._named):
            return None
        return URL(proxy if "://" in proxy else f"http://{proxy}")
