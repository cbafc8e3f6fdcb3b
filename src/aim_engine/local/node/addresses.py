"""Addresses of nodes and pods, all inside the 127.x.0.0/16 of the cluster.

127.x.1.n is node n (counted from 1); 127.x.2n.0/23 are its pods. A node keeps its range in `spec.podCIDR`, so that
the addresses stay apart however many agents serve one cluster.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network

from aim_engine.local.errors import LocalError

PREFIX = 23
MOST_NODES = 126


class NoAddress(LocalError):
    """Every address is taken."""


def node_address(cluster: IPv4Network, number: int) -> IPv4Address:
    """The address of node `number`, where its kubelet port is."""
    return cluster[256 + number]


def pod_range(cluster: IPv4Network, number: int) -> IPv4Network:
    """The addresses of the pods of node `number`."""
    return IPv4Network((int(cluster[512 * number]), PREFIX))


def number_of(cluster: IPv4Network, pods: str) -> int | None:
    """The number of the node that has this pod range; `None` for a range that is none of ours."""
    try:
        network = IPv4Network(pods)
    except ValueError:
        return None
    if network.prefixlen != PREFIX or not network.subnet_of(cluster):
        return None
    return (int(network[0]) - int(cluster[0])) // 512 or None


def free_number(taken: Iterable[int]) -> int:
    """The lowest number that no node has."""
    known = set(taken)
    number = next((number for number in range(1, MOST_NODES + 1) if number not in known), None)
    if number is None:
        raise NoAddress(f"The cluster has {MOST_NODES} nodes already, as many as it has addresses for.")
    return number


class PodAddresses:
    """The addresses of one node's pods: each has one holder at most, and a freed one comes last."""

    def __init__(self, pods: IPv4Network) -> None:
        self._free = dict.fromkeys(str(address) for address in pods.hosts())
        self._held: dict[str, str] = {}

    def take(self, holder: str, wanted: str = "") -> str:
        """Return the holder's address: the one it has, the one it had (`wanted`) if that is free, or the next one."""
        if holder in self._held:
            return self._held[holder]
        address = wanted if wanted in self._free else next(iter(self._free), None)
        if address is None:
            raise NoAddress("Every address for pods of this node is taken.")
        del self._free[address]
        self._held[holder] = address
        return address

    def give_back(self, holder: str) -> None:
        """Free the holder's address, if it has one."""
        address = self._held.pop(holder, None)
        if address is not None:
            self._free[address] = None
