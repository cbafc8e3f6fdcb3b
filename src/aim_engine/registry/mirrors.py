"""Mirrors: the registries that are read from somewhere else, as AIM_REGISTRY_MIRRORS names them."""

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

import msgspec

from aim_engine.registry import reference
from aim_engine.registry.errors import InvalidSetting

VARIABLE = "AIM_REGISTRY_MIRRORS"
EXPECTED = "host=base-url[/prefix], such as ghcr.io=https://mirror.example/ghcr"
SCHEMES = ("https", "http")


class Mirror(msgspec.Struct, frozen=True):
    """Where a registry is read instead: an origin, and what stands before every repository there."""

    scheme: str
    host: str
    prefix: str = ""


def parse(text: str) -> Mapping[str, Mirror]:
    """The mirrors of a comma list, by the registry each stands for; raises InvalidSetting for the first wrong entry."""
    mirrors: dict[str, Mirror] = {}
    for number, entry in enumerate(text.split(","), start=1):
        if not entry.strip():
            continue
        registry, mirror = _parse_entry(number, entry.strip())
        if registry in mirrors:
            raise _refused(number, f"{registry} has a mirror already")
        mirrors[registry] = mirror
    return mirrors


def _parse_entry(number: int, entry: str) -> tuple[str, Mirror]:
    name, equals, address = entry.partition("=")
    registry = reference.normal_registry(name.strip())
    if not equals:
        raise _refused(number, "there is no '=' in it")
    if not reference.is_registry(registry):
        raise _refused(number, "what stands before '=' is not a host name with an optional port")
    try:
        url = urlsplit(address.strip())
        mirror = _mirror(number, url)
    except ValueError:  # an unbalanced bracket, or a port that is no number
        raise _refused(number, f"the address of the mirror of {registry} is no URL") from None
    return registry, mirror


def _mirror(number: int, url: SplitResult) -> Mirror:
    prefix = url.path.strip("/")
    if url.scheme not in SCHEMES or not url.hostname:
        raise _refused(number, "the address of the mirror does not begin with https:// or http:// and a host name")
    if "@" in url.netloc:
        raise _refused(number, "user name and password do not belong here, put them into a pull secret for the mirror")
    if url.query or url.fragment:
        raise _refused(number, "the address of the mirror has a '?' or '#' part")
    if not reference.is_registry(url.netloc.lower()):
        raise _refused(number, "the address of the mirror has no valid host name and port")
    if prefix == "v2" or prefix.startswith("v2/"):
        raise _refused(number, "leave /v2 out of the address, it is added before the prefix")
    if prefix and not reference.is_repository(prefix):
        raise _refused(number, "the path of the mirror is not made of lower-case words separated by '/'")
    return Mirror(url.scheme, url.netloc.lower(), prefix)


def _refused(number: int, why: str) -> InvalidSetting:
    # The entry itself is not repeated: someone may have written a password into it.
    return InvalidSetting(f"{VARIABLE}: entry {number} is wrong: {why}; expected {EXPECTED}")
