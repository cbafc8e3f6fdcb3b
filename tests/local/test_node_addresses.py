"""Addresses of nodes and pods inside the cluster's part of the loopback network."""

import itertools
from ipaddress import IPv4Address, IPv4Network

import pytest

from aim_engine.local.node import addresses
from aim_engine.local.node.addresses import MOST_NODES, NoAddress, PodAddresses

CLUSTER = IPv4Network("127.17.0.0/16")


def test_no_two_nodes_share_an_address_and_the_control_plane_keeps_its_own() -> None:
    numbers = range(1, MOST_NODES + 1)
    ranges = [addresses.pod_range(CLUSTER, number) for number in numbers]
    hosts = [addresses.node_address(CLUSTER, number) for number in numbers]
    assert all(each.subnet_of(CLUSTER) for each in ranges)
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(ranges))
    assert len(set(hosts)) == MOST_NODES
    assert not any(host in each for host in hosts for each in ranges)
    control_plane = IPv4Network("127.17.0.0/24")
    assert not any(each.overlaps(control_plane) for each in ranges)
    assert not any(host in control_plane for host in hosts)


@pytest.mark.parametrize("number", [1, 2, 77, MOST_NODES])
def test_a_node_is_known_again_by_the_range_of_its_pods(number: int) -> None:
    assert addresses.number_of(CLUSTER, str(addresses.pod_range(CLUSTER, number))) == number


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="none"),
        pytest.param("10.0.0.0/24", id="of another network"),
        pytest.param("127.17.4.0/24", id="of another size"),
        pytest.param("127.17.0.0/23", id="of the control plane"),
    ],
)
def test_a_range_that_is_none_of_ours(text: str) -> None:
    assert addresses.number_of(CLUSTER, text) is None


def test_the_lowest_free_number_is_taken() -> None:
    assert addresses.free_number([1, 2, 4]) == 3
    with pytest.raises(NoAddress, match="126 nodes already"):
        addresses.free_number(range(1, MOST_NODES + 1))


def test_an_address_has_one_holder_and_comes_back_last() -> None:
    pods = PodAddresses(addresses.pod_range(CLUSTER, 1))
    first, second = pods.take("a"), pods.take("b")
    assert first != second
    assert pods.take("a") == first
    pods.give_back("a")
    assert pods.take("c") not in {first, second}
    assert pods.take("d", wanted=first) == first
    assert pods.take("e", wanted=first) != first


def test_five_hundred_pods_fit_on_a_node() -> None:
    pods = PodAddresses(addresses.pod_range(CLUSTER, MOST_NODES))
    taken = {pods.take(str(number)) for number in range(510)}
    assert len(taken) == 510
    assert all(IPv4Address(each) in CLUSTER for each in taken)
    with pytest.raises(NoAddress):
        pods.take("one too many")
