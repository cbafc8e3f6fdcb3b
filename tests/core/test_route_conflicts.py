"""Two routes on one path: which one was there first."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.foreign import HTTPRoute
from aim_engine.api.runtime import ParentReference
from aim_engine.core import route_conflicts
from aim_engine.objects import Key

GATEWAY = ParentReference(name="g", namespace="gateways")
PLACE = route_conflicts.wanted(GATEWAY, "/same", "a")


def route(
    namespace: str, name: str, second: int = 0, hostnames: Any = (), parent: Any = None, path: str = "/same"
) -> HTTPRoute:
    content = {
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": {"aim.eai.amd.com/service": name},
            "creationTimestamp": f"2026-01-01T00:00:{second:02}Z",
        },
        "spec": {
            "parentRefs": [parent or {"name": "g", "namespace": "gateways"}],
            "hostnames": hostnames,
            "rules": [{"matches": [{"path": {"value": path}}]}],
        },
    }
    return msgspec.convert(content, HTTPRoute)


ROUTES = st.lists(
    st.builds(route, st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 2)),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one.metadata.key,
)


@given(ROUTES, st.randoms())
def test_of_all_routes_on_one_place_exactly_one_stays(routes: list[HTTPRoute], random: Any) -> None:
    stays = [one for one in routes if route_conflicts.holder(PLACE, one.metadata.key, routes) is None]
    assert len(stays) == 1
    oldest = min(routes, key=lambda one: (one.metadata.creation_timestamp, str(one.metadata.key)))
    assert stays == [oldest]
    shuffled = list(routes)
    random.shuffle(shuffled)
    newcomer = Key("z", "new")
    expected = f"{oldest.metadata.namespace}/{oldest.metadata.name}"
    assert route_conflicts.holder(PLACE, newcomer, shuffled) == expected, "whoever comes later is told of the first"


@pytest.mark.parametrize(
    ("gateway", "parent", "is_same"),
    [
        pytest.param(ParentReference(name="g"), {"name": "g"}, True, id="no namespace means the route's own"),
        pytest.param(ParentReference(name="g", namespace="b"), {"name": "g"}, False, id="of another namespace"),
        pytest.param(
            ParentReference(name="g", group="gateway.networking.k8s.io", kind="Gateway"),
            {"name": "g", "namespace": "a"},
            True,
            id="defaults written out",
        ),
        pytest.param(ParentReference(name="g", section_name="https"), {"name": "g"}, False, id="another section"),
        pytest.param(ParentReference(name="g", port=443), {"name": "g"}, False, id="another port"),
        pytest.param(ParentReference(name="h"), {"name": "g"}, False, id="another gateway"),
    ],
)
def test_what_is_one_place(gateway: ParentReference, parent: Any, is_same: bool) -> None:
    place = route_conflicts.wanted(gateway, "/same", "a")
    held = set(route_conflicts.places(route("a", "x", parent=parent)))
    assert (place in held) == is_same


@pytest.mark.parametrize(
    ("written", "is_same"),
    [
        pytest.param("/Same/", True, id="capitals and a slash at the end"),
        pytest.param("//same", True, id="slashes in a row"),
        pytest.param("/s%61me", True, id="encoded without need"),
        pytest.param("/same/below", False, id="a longer path"),
        pytest.param("/same/..", False, id="one that could not be ours"),
    ],
)
def test_the_path_of_a_route_counts_as_if_we_had_written_it(written: str, is_same: bool) -> None:
    held = route_conflicts.places(route("a", "x", path=written))
    assert (PLACE in held) == is_same


@pytest.mark.parametrize(
    ("some", "others", "share"),
    [
        pytest.param([], [], True, id="every host twice"),
        pytest.param([], ["a.example"], True, id="every host and one"),
        pytest.param(["a.example"], ["a.example", "b.example"], True, id="one in both"),
        pytest.param(["a.example"], ["b.example"], False, id="none in both"),
        pytest.param(["*.example"], ["a.example"], True, id="one below a wildcard"),
        pytest.param(["*.example"], ["example"], False, id="a wildcard is not its own parent"),
        pytest.param(["*.a.example"], ["*.example"], True, id="a wildcard below a wildcard"),
    ],
)
def test_hosts_in_common(some: list[str], others: list[str], share: bool) -> None:
    assert route_conflicts.share_hosts(some, others) == share
    assert route_conflicts.share_hosts(others, some) == share
