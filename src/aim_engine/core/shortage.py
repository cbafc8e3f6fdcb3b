"""Why no node takes a pod: how many devices it needs, and how many are free."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from aim_engine.api import quantity
from aim_engine.api.foreign import Container, Node, Pod

INSUFFICIENT: Final = re.compile(r"Insufficient ([\w.-]+/[\w.-]*\w)")
"""How the scheduler names a device it finds too few of; CPU and memory have no slash."""
SHOWN: Final = 3
ENDED: Final = frozenset({"Succeeded", "Failed"})


def explained(pod: Pod, said: str, nodes: Iterable[Node], on_node: Callable[[str], Sequence[Pod]]) -> str:
    """What the pod needs and what is free of the first device the scheduler complains about; empty if of none.

    `on_node` tells which pods with devices are bound to a node.
    """
    lacking = INSUFFICIENT.search(said)
    if lacking is None:
        return ""
    device = lacking[1]
    offers = [(node.metadata.name, _amount(node.status.allocatable.get(device, 0))) for node in nodes]
    free = [(most - held(device, on_node(name)), most, name) for name, most in offers if most]
    if not free:
        return f"needs {requested(pod, device)} {device}, and no node has any"
    best = sorted(free, key=lambda one: (-one[0], one[2]))
    listed = ", ".join(f"{left} of {most} on {name}" for left, most, name in best[:SHOWN])
    more = f" and {len(best) - SHOWN} more nodes" if len(best) > SHOWN else ""
    return f"needs {requested(pod, device)} {device} on one node, free are {listed}{more}"


def held(device: str, pods: Iterable[Pod]) -> int:
    """How many of a device these pods keep from others."""
    return sum(requested(pod, device) for pod in pods if pod.status.phase not in ENDED)


def requested(pod: Pod, device: str) -> int:
    """How many of a device a pod needs: its containers together, or one of its init containers if that needs more."""
    at_once = sum(_wanted(container, device) for container in pod.spec.containers)
    return max([at_once, *(_wanted(container, device) for container in pod.spec.init_containers)])


def keeps_devices(pod: Pod) -> bool:
    """Whether a pod keeps any device from others."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any("/" in name for container in containers for name in container.resources.requests)


def _wanted(container: Container, device: str) -> int:
    return _amount(container.resources.requests.get(device, 0))


def _amount(value: int | str) -> int:
    return int(quantity.parse(value))
