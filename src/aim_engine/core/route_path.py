"""The path under which a service is reached: a template with JSONPath placeholders, rendered and normalised.

`/ml/{.metadata.namespace}/{.metadata.labels['team']}/V1.0/` is `/ml/ml-team/r_d/v1.0` for a service with `team: R_D`.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import jsonpath
from jsonpath.exceptions import JSONPathError

from aim_engine.objects import Manifest

LONGEST = 200
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
BRACE = re.compile(r"[{}]")
WRITTEN = "write one as {.metadata.name}"
ENTRY = re.compile(r"""^\.metadata\.(label|annotation)s\[(?:'([^']*)'|"([^"]*)")\]$""")
ESCAPED_NAME = re.compile(r"\.((?:[^.\[\]\\]|\\.)*\\\.(?:[^.\[\]\\]|\\.)*)")


class InvalidPath(NamedTuple):
    """Why a template gives no path, in words for its author."""

    why: str


class Unrenderable(Exception):
    """Leaves the rendering with the reason; never leaves this module."""


def render(template: str | None, service: Manifest) -> str | InvalidPath:
    """The path of this service, or why the template gives none; an empty template means `/<namespace>/<uid>`."""
    metadata = service["metadata"]
    try:
        if not template:
            return normalised(f"/{metadata['namespace']}/{metadata['uid']}")
        if brace := BRACE.search(PLACEHOLDER.sub("", template)):
            raise Unrenderable(f'"{brace[0]}" belongs to no placeholder; {WRITTEN}')
        return normalised(PLACEHOLDER.sub(lambda found: value(found[1].strip(), service), template))
    except Unrenderable as reason:
        return InvalidPath(str(reason))


def value(expression: str, service: Manifest) -> str:
    """What the service says at this place; exactly one plain value."""
    if not expression:
        raise Unrenderable(f"{{}} names no field; {WRITTEN}")
    entry = ENTRY.match(expression)
    if entry:
        kind, key = entry[1], entry[2] if entry[2] is not None else entry[3]
        entries: dict[str, str] = service["metadata"].get(f"{kind}s") or {}
        if key not in entries:
            raise Unrenderable(f'{kind} "{key}" not found')
        return entries[key].strip()
    return plain(expression, found(expression, service))


def found(expression: str, service: Manifest) -> list[Any]:
    """All that the expression finds in the service."""
    try:
        return list(compiled(expression).findall(service))
    except JSONPathError as error:
        cause = str(error).splitlines()[0]
        raise Unrenderable(f"{{{expression}}} is no JSONPath expression: {cause}") from error


@lru_cache(maxsize=1024)
def compiled(expression: str) -> jsonpath.JSONPath | jsonpath.CompoundJSONPath:
    """The expression ready to be asked; few are written, and each is asked in every pass of many services."""
    query = ESCAPED_NAME.sub(lambda name: f"[{name[1].replace(chr(92), '')!r}]", expression)
    return jsonpath.compile(query if query.startswith("$") else f"${query}")


def plain(expression: str, values: list[Any]) -> str:
    """The one value as text, numbers and truth values as JSON writes them."""
    if not values or values == [None]:
        raise Unrenderable(f"{{{expression}}} is not set on the service")
    if len(values) > 1:
        raise Unrenderable(f"{{{expression}}} has {len(values)} values; a path takes one")
    if isinstance(values[0], dict | list):
        raise Unrenderable(f"{{{expression}}} is no plain value; name one field below it")
    return ("true" if values[0] else "false") if isinstance(values[0], bool) else str(values[0]).strip()


def comparable(path: str) -> str:
    """The path of a route that exists, as we would have written it; one that could not be ours stays as it is."""
    try:
        return normalised(unquote(path))
    except Unrenderable:
        return path


def normalised(path: str) -> str:
    """The path with lower-case, percent-encoded segments, single slashes and none at its end."""
    if not path.strip():
        raise Unrenderable("route template produced an empty path")
    segments = [quote(part.strip().lower(), safe="") for part in path.split("/") if part.strip()]
    if dots := next((segment for segment in segments if segment in (".", "..")), None):
        raise Unrenderable(f'route path has a segment "{dots}", which gateways refuse')
    joined = "/" + "/".join(segments)
    if len(joined) > LONGEST:
        raise Unrenderable(f'route path "{joined}" exceeds {LONGEST} characters')
    return joined
