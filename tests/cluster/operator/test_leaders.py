"""Of two operators one works; when it is killed or frozen the other takes over, and the first never writes again."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.operator.proxy import Proxy
from tests.cluster.operator.stage import Operator, config, create, is_seen, plural, until

from aim_engine.local.control_plane import Cluster

LEASE_SECONDS = 15
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/3be10d2f.eai.amd.com"


class Pair:
    """A leader and its stand-by, each behind a proxy of its own.

    Their durations are those of users: on a busy machine a leader with shorter ones would lose its lease by itself.
    """

    def __init__(self, server: ApiServer, namespace: str, proxies: tuple[Proxy, Proxy], directory: Path) -> None:
        self.server, self.namespace = server, namespace
        self.proxies = proxies
        self.first = self.start(proxies[0], directory, "first")
        until(lambda: self.holder() == "first", "the first one leads")
        self.second = self.start(proxies[1], directory, "second").wait_ready()

    def start(self, proxy: Proxy, directory: Path, identity: str) -> Operator:
        variables = {"AIM_SYSTEM_NAMESPACE": self.namespace, "POD_NAME": identity, "AIM_TESTS_PACE": "1"}
        return Operator(proxy.kubeconfig(directory), directory, "--leader-elect", **variables)

    def holder(self) -> str:
        status, lease = self.server.request("GET", LEASE.format(self.namespace))
        return lease["spec"].get("holderIdentity", "") if status == 200 else ""

    def write_something(self, name: str) -> Any:
        """Give the leader work; return the object when the work is done."""
        create(self.server, self.namespace, config(name))
        return self.server.wait_until(f"{plural(self.namespace, 'AIMRuntimeConfig')}/{name}", is_seen)

    def took_over(self) -> float:
        """When the stand-by wrote its name into the lease."""
        return next(one.moment for one in self.proxies[1].writes if "/leases/" in one.path and one.status < 300)


@pytest.fixture
def pair(own_cluster: Cluster, own_server: ApiServer, own_namespace: str, tmp_path: Path) -> Iterator[Pair]:
    with (
        Proxy(own_cluster) as one,
        Proxy(own_cluster) as other,
        ended(Pair(own_server, own_namespace, (one, other), tmp_path)) as pair,
    ):
        yield pair


@contextmanager
def ended(pair: Pair) -> Iterator[Pair]:
    with pair.first, pair.second:
        yield pair


def test_the_stand_by_is_ready_and_writes_nothing(pair: Pair) -> None:
    pair.write_something("before")
    pair.second.wait_ready()
    assert [one for one in pair.proxies[1].writes if one.of_object] == []

    pair.first.send(signal.SIGTERM)
    assert pair.first.wait() == 0
    assert pair.first.lines(msg="operator stopped")
    released = pair.proxies[0].writes[-1]
    assert "/leases/" in released.path, "the last thing the leader does is to give the lease back"
    pair.write_something("after")
    assert pair.took_over() - released.moment < LEASE_SECONDS, "a lease that was given back need not be waited for"


def test_a_killed_leader_is_replaced(pair: Pair) -> None:
    pair.write_something("before")
    pair.first.send(signal.SIGKILL)
    pair.write_something("after")
    assert pair.holder() == "second"


def test_a_frozen_leader_that_wakes_up_does_not_write(pair: Pair) -> None:
    pair.write_something("before")
    pair.first.send(signal.SIGSTOP)
    until(lambda: pair.holder() == "second", "the second one leads")
    for number in range(5):
        pair.write_something(f"meanwhile-{number}")
    pair.first.send(signal.SIGCONT)
    for number in range(5):
        create(pair.server, pair.namespace, config(f"awake-{number}"))
    assert pair.first.wait() == 1
    log = pair.first.log.read_text()
    assert log.splitlines()[-1].startswith("aim operator: lost the leader lease")
    assert "Traceback" not in log
    late = [one for one in pair.proxies[0].writes if one.moment > pair.took_over()]
    assert [one for one in late if one.status < 300] == []
    for number in range(5):
        path = f"{plural(pair.namespace, 'AIMRuntimeConfig')}/awake-{number}"
        pair.server.wait_until(path, is_seen)
