"""The client against a peer that answers as told."""

import pytest
import structlog
from tests.durations import shortened
from tests.kube.peer import hangs_up, peer, refuses, says, waits

from aim_engine.kube import errors
from aim_engine.kube.client import Client
from aim_engine.kube.errors import Fenced, Timeout, TooManyRequests, Unparsable, Unreachable
from aim_engine.kube.resource import PODS, Resource
from aim_engine.kube.selection import Selection
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key, ObjectMeta, Wire

KEY = Key("team", "web")
FAST = Timings().scaled(0.01)
POD = {"metadata": {"namespace": "team", "name": "web", "labels": {"app": "web"}}}


class Pod(Wire):
    metadata: ObjectMeta


async def test_an_object_comes_as_the_type_asked_for_or_as_plain_dicts():
    async with peer(says(POD)) as server, Client(server.connection) as client:
        typed = await client.get(PODS, KEY, Pod)
        plain = await client.get(PODS, KEY)
    assert typed.metadata.labels == {"app": "web"}
    assert plain == POD
    assert server.seen[0].path == "/api/v1/namespaces/team/pods/web"
    assert server.seen[0].headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        pytest.param(400, "BadRequest", errors.BadRequest, id="a malformed request"),
        pytest.param(401, "Unauthorized", errors.Unauthorized, id="bad credentials"),
        pytest.param(403, "Forbidden", errors.Forbidden, id="missing rights"),
        pytest.param(404, "NotFound", errors.NotFound, id="no such object"),
        pytest.param(409, "Conflict", errors.Conflict, id="another writer was faster"),
        pytest.param(409, "AlreadyExists", errors.AlreadyExists, id="the name is taken"),
        pytest.param(410, "Expired", errors.Gone, id="the version is too old"),
        pytest.param(422, "Invalid", errors.Invalid, id="the schema says no"),
        pytest.param(429, "TooManyRequests", errors.TooManyRequests, id="too many requests"),
        pytest.param(418, "", errors.Refused, id="an unknown refusal"),
        pytest.param(500, "InternalError", errors.ServerError, id="the server failed"),
        pytest.param(503, "ServiceUnavailable", errors.ServerError, id="the server is starting"),
        pytest.param(504, "Timeout", errors.Timeout, id="the server gave up waiting"),
    ],
)
async def test_a_refusal_is_the_error_of_its_code(code: int, reason: str, kind: type[errors.KubeError]):
    async with peer(refuses(code, reason, "so it is")) as server, Client(server.connection) as client:
        with pytest.raises(errors.KubeError) as raised:
            await client.get(PODS, KEY)
    assert type(raised.value) is kind
    assert (raised.value.code, raised.value.reason) == (code, reason)
    assert str(raised.value) == "can't get pods team/web: so it is"


RBAC_SAYS = 'pods "web" is forbidden: User "system:serviceaccount:a:b" cannot get resource "pods" in API group ""'
QUOTA_SAYS = 'pods "web" is forbidden: exceeded quota: small'


async def test_a_right_that_a_role_lacks_is_logged_once_and_a_quota_is_not():
    script = (refuses(403, "Forbidden", said) for said in (QUOTA_SAYS, RBAC_SAYS, RBAC_SAYS))
    async with peer(*script) as server, Client(server.connection) as client:
        with structlog.testing.capture_logs() as logged:
            for _ in range(3):
                with pytest.raises(errors.Forbidden):
                    await client.get(PODS, KEY)
    assert [(line["event"], line["verb"], line["resource"]) for line in logged] == [
        ("a role lacks a right", "get", "pods")
    ]
    assert RBAC_SAYS in logged[0]["error"]


async def test_a_refusal_without_a_status_still_says_what_came():
    async with peer(says("<html>bad gateway", 502)) as server, Client(server.connection) as client:
        with pytest.raises(errors.ServerError, match="bad gateway"):
            await client.get(PODS, KEY)


async def test_the_wait_the_server_asks_for_is_kept():
    script = (refuses(429, Retry_After="1"), refuses(503, Retry_After="0"), says(POD))
    async with peer(*script) as server, Client(server.connection) as client:
        assert await client.get(PODS, KEY) == POD
    assert len(server.seen) == 3


async def test_a_wait_longer_than_our_patience_is_raised_with_its_length():
    async with peer(refuses(429, Retry_After="30")) as server, Client(server.connection, shortened(0.01)) as client:
        with pytest.raises(TooManyRequests) as raised:
            await client.get(PODS, KEY)
    assert raised.value.retry_after == 30
    assert len(server.seen) == 1


async def test_a_slow_answer_is_a_timeout():
    async with peer(waits(60, says(POD))) as server, Client(server.connection, FAST) as client:
        with pytest.raises(Timeout, match="can't get pods team/web"):
            await client.get(PODS, KEY)


async def test_a_connection_that_breaks_is_unreachable():
    async with peer(hangs_up) as server, Client(server.connection) as client:
        with pytest.raises(Unreachable):
            await client.create(PODS, POD)


async def test_nobody_listening_is_unreachable():
    async with peer(says(POD)) as server:
        pass
    async with Client(server.connection) as client:
        with pytest.raises(Unreachable, match=server.connection.server):
            await client.get(PODS, KEY)


async def test_an_answer_that_does_not_fit_says_where():
    async with peer(says({"metadata": {"labels": 7}})) as server, Client(server.connection) as client:
        with pytest.raises(Unparsable, match=r"metadata\.labels"):
            await client.get(PODS, KEY, Pod)


class Closed:
    """A fence that lets nothing through."""

    def check(self) -> None:
        raise Fenced("closed")


async def test_a_closed_fence_holds_back_writes_and_lets_reads_through():
    async with peer(says(POD)) as server, Client(server.connection, fence=Closed()) as client:
        await client.get(PODS, KEY)
        for write in (
            client.create(PODS, POD),
            client.apply(PODS, POD, manager="me"),
            client.replace(PODS, POD),
            client.patch(PODS, KEY, {}),
            client.delete(PODS, KEY),
        ):
            with pytest.raises(Fenced):
                await write
    assert [seen.method for seen in server.seen] == ["GET"]


class ClosesLate:
    """A fence that closes after the first look, as when a process is frozen between the look and the write."""

    def __init__(self) -> None:
        self.looks = 0

    def check(self) -> None:
        self.looks += 1
        if self.looks > 1:
            raise Fenced("closed")


async def test_a_fence_that_closes_while_the_connection_is_made_holds_the_write_back():
    async with peer(says(POD)) as server, Client(server.connection, fence=ClosesLate()) as client:
        with pytest.raises(Fenced):
            await client.create(PODS, POD)
    assert server.seen == []


async def test_a_list_comes_page_by_page():
    first = {"metadata": {"resourceVersion": "5", "continue": "more"}, "items": [POD]}
    second = {"metadata": {"resourceVersion": "5"}, "items": [POD]}
    async with peer(says(first), says(second)) as server, Client(server.connection) as client:
        listing = await client.list(PODS, Selection("team", labels="app=web", fields="spec.nodeName=n1"), Pod)
    assert (len(listing.items), listing.resource_version) == (2, "5")
    assert server.seen[0].query == {"limit": "500", "labelSelector": "app=web", "fieldSelector": "spec.nodeName=n1"}
    assert server.seen[1].query["continue"] == "more"


async def test_a_list_that_grows_old_between_pages_is_taken_whole():
    first = {"metadata": {"resourceVersion": "5", "continue": "more"}, "items": [POD, POD]}
    whole = {"metadata": {"resourceVersion": "9"}, "items": [POD]}
    async with peer(says(first), refuses(410), says(whole)) as server, Client(server.connection) as client:
        listing = await client.list(PODS)
    assert (len(listing.items), listing.resource_version) == (1, "9")
    assert "limit" not in server.seen[2].query


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(PODS.path(), "/api/v1/pods", id="all of a core kind"),
        pytest.param(PODS.path("team", "web", "log"), "/api/v1/namespaces/team/pods/web/log", id="a subresource"),
        pytest.param(Resource("", "v1", "nodes", "Node", False).path("x", "n1"), "/api/v1/nodes/n1", id="no namespace"),
        pytest.param(
            Resource("apps", "v1", "deployments", "Deployment").path("team"),
            "/apis/apps/v1/namespaces/team/deployments",
            id="a kind of a group",
        ),
        pytest.param(PODS.path("team", "a/../b"), "/api/v1/namespaces/team/pods/a%2F..%2Fb", id="a hostile name"),
    ],
)
def test_paths(path: str, expected: str):
    assert path == expected
