"""Fields and resources of a pod as text, for its own environment and its own files."""

import math
import re
from collections.abc import Callable

import msgspec

from aim_engine.api import quantity
from aim_engine.local.node.container_spec import Container, FieldSelector, ResourceSelector
from aim_engine.local.node.errors import ConfigurationError
from aim_engine.local.node.pod_spec import Pod

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod runs, and what its node would give a container without limits."""

    node: str
    host_address: str
    pod_address: str
    allocatable: dict[str, str]


_FIELDS: dict[str, Callable[[Pod, Placement], str]] = {
    "metadata.name": lambda pod, _: pod.metadata.name,
    "metadata.namespace": lambda pod, _: pod.metadata.namespace,
    "metadata.uid": lambda pod, _: pod.metadata.uid,
    "metadata.labels": lambda pod, _: _lines(pod.metadata.labels),
    "metadata.annotations": lambda pod, _: _lines(pod.metadata.annotations),
    "spec.nodeName": lambda _, placement: placement.node,
    "spec.serviceAccountName": lambda pod, _: pod.spec.service_account_name,
    "status.hostIP": lambda _, placement: placement.host_address,
    "status.hostIPs": lambda _, placement: placement.host_address,
    "status.podIP": lambda _, placement: placement.pod_address,
    "status.podIPs": lambda _, placement: placement.pod_address,
}


def field(selector: FieldSelector, pod: Pod, placement: Placement) -> str:
    """Return the field's text; one that is not offered raises ConfigurationError."""
    subscript = _SUBSCRIPT.fullmatch(selector.field_path)
    if subscript is not None:
        values = pod.metadata.labels if subscript[1] == "labels" else pod.metadata.annotations
        return values.get(subscript[2], "")
    if selector.field_path not in _FIELDS:
        raise ConfigurationError(f"fieldPath {selector.field_path!r} is not offered by this node.")
    return _FIELDS[selector.field_path](pod, placement)


def resource(selector: ResourceSelector, pod: Pod, container: Container | None, placement: Placement) -> str:
    """Return a request or limit in units of the divisor, rounded up; without a limit it is the node's allocatable."""
    if selector.container_name:
        everyone = (*pod.spec.init_containers, *pod.spec.containers)
        container = next((each for each in everyone if each.name == selector.container_name), None)
    if container is None:
        raise ConfigurationError(
            f"resourceFieldRef names the container {selector.container_name!r}, which is not there."
        )
    side, _, name = selector.resource.partition(".")
    limits, requests = container.resources.limits, container.resources.requests
    limit = limits.get(name, placement.allocatable.get(name, "0"))
    amount = limit if side == "limits" else requests.get(name, "0")
    divisor = quantity.parse(selector.divisor) or quantity.parse("1")
    return str(math.ceil(quantity.parse(amount) / divisor))


def _lines(values: dict[str, str]) -> str:
    """One `key="value"` a line, sorted, escaped as Go's %q does for the characters that matter."""
    return "\n".join(f"{key}={_quoted(value)}" for key, value in sorted(values.items()))


def _quoted(value: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(character, character) for character in value) + '"'
