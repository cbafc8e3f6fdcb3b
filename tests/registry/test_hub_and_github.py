"""Docker Hub's and GitHub's listings, from scripted servers: there is no real one to run."""

import json

import pytest
from aiohttp import web
from tests.registry.peer import Respond, breaks_off, hangs_up, in_turn, says, sends, serving, stays_silent
from tests.registry.test_access import keychain

from aim_engine.registry import errors
from aim_engine.registry.client import Registry
from aim_engine.registry.credentials import Credential, Entry, Keychain
from aim_engine.registry.limits import Limits

LIMITS = Limits(request=6.0, retry_pauses=(0.01, 0.02), hub_page_size=100)
TOKEN = "ghp_0123456789"
FAULTS = [
    pytest.param(says({}, 500), errors.ServerFailed, id="500"),
    pytest.param(says({}, 404), errors.NotFound, id="404"),
    pytest.param(says({}, 401), errors.Unauthorized, id="401"),
    pytest.param(says({}, 403), errors.Forbidden, id="403"),
    pytest.param(says({}, 429, Retry_After="77"), errors.RateLimited, id="429"),
    pytest.param(hangs_up, errors.ConnectionLost, id="the connection is reset"),
    pytest.param(breaks_off, errors.ConnectionLost, id="the connection is cut in the middle of a page"),
    pytest.param(stays_silent, errors.TimedOut, id="nothing comes"),
    pytest.param(sends(b"<html>busy</html>"), errors.MalformedAnswer, id="no JSON"),
    pytest.param(says({"message": "hello"}), errors.MalformedAnswer, id="another JSON"),
]


def hub(pages: list[list[str]], fault: Respond | None = None) -> Respond:
    """Docker Hub's listing in pages; the fault comes in place of the page after the last."""

    async def respond(request: web.Request) -> web.StreamResponse:
        number = int(request.query.get("page", "1"))
        if number > len(pages):
            assert fault
            return await fault(request)
        more = number < len(pages) or fault is not None
        query = f"page={number + 1}&page_size={request.query['page_size']}"
        body = {
            "count": sum(map(len, pages)),
            "next": f"http://{request.host}{request.path}?{query}" if more else None,
            "previous": None,
            "results": [{"name": name, "namespace": "acme", "is_private": False} for name in pages[number - 1]],
        }
        return web.json_response(body)

    return respond


def github(total: int, fault: Respond | None = None) -> Respond:
    """GitHub's packages of an organisation; with a fault the second page fails."""

    async def respond(request: web.Request) -> web.StreamResponse:
        page, size = int(request.query["page"]), int(request.query["per_page"])
        if fault and page == 2:
            return await fault(request)
        numbers = range((page - 1) * size, min(page * size, total))
        return web.json_response([{"id": n, "name": f"aim-{n}", "package_type": "container"} for n in numbers])

    return respond


class TestDockerHub:
    async def test_all_pages_of_a_namespace(self) -> None:
        async with (
            serving(hub([["aim-a", "aim-b"], ["aim-c"], ["base"]])) as peer,
            Registry(limits=LIMITS, docker_hub=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("docker.io", "acme")
        assert (listing.names, listing.failure) == (("acme/aim-a", "acme/aim-b", "acme/aim-c", "acme/base"), None)
        assert set(peer.paths()) == {"/v2/namespaces/acme/repositories"}
        assert [seen.query.get("page") for seen in peer.seen] == [None, "2", "3"]
        assert {seen.query["page_size"] for seen in peer.seen} == {"100"}

    async def test_it_is_asked_anonymously_whoever_asks(self) -> None:
        async with (
            serving(hub([["aim"]])) as peer,
            Registry(limits=LIMITS, docker_hub=f"http://{peer.host}") as registry,
        ):
            user = keychain(("https://index.docker.io/v1/", "user", "password"))
            assert (await registry.repositories("docker.io", "acme", user)).names == ("acme/aim",)
        assert "Authorization" not in peer.seen[0].headers

    @pytest.mark.parametrize(("fault", "kind"), FAULTS)
    async def test_a_broken_page(self, fault: Respond, kind: type[errors.RegistryError]) -> None:
        async with (
            serving(hub([["aim-a"], ["aim-b"]], fault)) as peer,
            Registry(limits=LIMITS, docker_hub=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("docker.io", "acme")
        assert listing.names == ("acme/aim-a", "acme/aim-b")
        assert type(listing.failure) is kind
        assert "Docker Hub's listing" in str(listing.failure)

    async def test_a_passing_fault_is_retried(self) -> None:
        async with (
            serving(in_turn([says({}, 503), says({}, 502), hub([["aim"]])])) as peer,
            Registry(limits=LIMITS, docker_hub=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("docker.io", "acme")
        assert (listing.names, listing.failure) == (("acme/aim",), None)

    async def test_a_next_page_at_another_host_is_not_followed(self) -> None:
        page = says({"next": "http://else.example/v2/", "results": [{"name": "aim"}]})
        async with (
            serving(page) as peer,
            Registry(limits=LIMITS, docker_hub=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("docker.io", "acme")
        assert listing.names == ("acme/aim",)
        assert "another host" in str(listing.failure)

    @pytest.mark.parametrize("namespace", ["", "*", "a/b", "..", "a?b"])
    async def test_a_pattern_must_begin_with_a_namespace(self, namespace: str) -> None:
        async with Registry(limits=LIMITS, docker_hub="http://127.0.0.1:1") as registry:
            listing = await registry.repositories("docker.io", namespace)
        assert isinstance(listing.failure, errors.InvalidReference)
        assert "first segment" in str(listing.failure)


class TestGitHub:
    @pytest.mark.parametrize(
        ("total", "pages"),
        [
            pytest.param(0, 1, id="none"),
            pytest.param(99, 1, id="less than a page"),
            pytest.param(100, 2, id="a full page may not be the last"),
            pytest.param(250, 3, id="several"),
        ],
    )
    async def test_all_packages_of_an_organisation(self, total: int, pages: int) -> None:
        async with (
            serving(github(total)) as peer,
            Registry(limits=LIMITS, github=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("ghcr.io", "acme", keychain(("ghcr.io", "user", TOKEN)))
        assert listing.names == tuple(f"acme/aim-{number}" for number in range(total))
        assert listing.failure is None
        assert len(peer.seen) == pages
        first = peer.seen[0]
        assert first.path == "/orgs/acme/packages"
        assert first.query == {"package_type": "container", "per_page": "100", "page": "1"}
        assert first.headers["Accept"] == "application/vnd.github+json"
        assert first.headers["X-GitHub-Api-Version"] == "2022-11-28"
        assert first.headers["Authorization"] == f"Bearer {TOKEN}"

    @pytest.mark.parametrize(("fault", "kind"), FAULTS)
    async def test_a_broken_page(self, fault: Respond, kind: type[errors.RegistryError]) -> None:
        async with (
            serving(github(150, fault)) as peer,
            Registry(limits=LIMITS, github=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("ghcr.io", "acme", keychain(("ghcr.io", "user", TOKEN)))
        assert len(listing.names) == 100
        assert type(listing.failure) is kind
        assert TOKEN not in str(listing.failure)

    async def test_an_exhausted_quota_is_a_rate_limit(self) -> None:
        refusal = says({}, 403, X_RateLimit_Remaining="0", X_RateLimit_Reset="4102444800")
        async with (
            serving(refusal) as peer,
            Registry(limits=LIMITS, github=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("ghcr.io", "acme", keychain(("ghcr.io", "user", TOKEN)))
        assert isinstance(listing.failure, errors.RateLimited)
        assert listing.failure.retry_after == LIMITS.longest_rate_limit_pause

    async def test_a_token_that_is_not_taken_gives_way_to_the_next(self) -> None:
        async def respond(request: web.Request) -> web.StreamResponse:
            known = request.headers["Authorization"] == f"Bearer {TOKEN}"
            return await (github(1) if known else says({}, 401))(request)

        entries = keychain(("ghcr.io", "u", "old")).entries + keychain(("ghcr.io", "u", TOKEN), name="new").entries
        async with serving(respond) as peer, Registry(limits=LIMITS, github=f"http://{peer.host}") as registry:
            listing = await registry.repositories("ghcr.io", "acme", type(keychain())(entries))
        assert (listing.names, listing.failure) == (("acme/aim-0",), None)

    @pytest.mark.parametrize("token", [f"{TOKEN}\n", f"{TOKEN}\r\nX: y", "\x00"])
    async def test_a_token_that_no_header_can_carry_is_told_by_its_secret(self, token: str) -> None:
        entry = Entry("ghcr.io", "", Credential('pull secret "regcred"', "user", token))
        async with (
            serving(github(1)) as peer,
            Registry(limits=LIMITS, github=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("ghcr.io", "acme", Keychain((entry,)))
        assert not peer.seen
        assert type(listing.failure) is errors.InvalidCredentials
        assert str(listing.failure) == (
            'the password of pull secret "regcred" cannot be sent to GitHub\'s package listing: there is a line break '
            "in it, or another character that no token has; write the secret anew without it"
        )

    async def test_a_token_that_no_header_can_carry_gives_way_to_the_next(self) -> None:
        first, second = keychain(("ghcr.io", "u", "old\n")), keychain(("ghcr.io", "u", TOKEN), name="new")
        async with serving(github(1)) as peer, Registry(limits=LIMITS, github=f"http://{peer.host}") as registry:
            listing = await registry.repositories("ghcr.io", "acme", Keychain(first.entries + second.entries))
        assert (listing.names, listing.failure) == (("acme/aim-0",), None)

    async def test_without_a_token_it_is_not_asked(self) -> None:
        async with (
            serving(github(1)) as peer,
            Registry(limits=LIMITS, github=f"http://{peer.host}") as registry,
        ):
            listing = await registry.repositories("ghcr.io", "acme", keychain(("docker.io", "user", "password")))
        assert not peer.seen
        assert isinstance(listing.failure, errors.MissingCredentials)
        assert str(listing.failure) == (
            "listing the packages of ghcr.io needs a token, also for public ones: add a pull secret for ghcr.io "
            "whose password is a GitHub token that may read packages"
        )


async def test_a_rate_limit_stops_the_next_listing_too() -> None:
    async with (
        serving(says({}, 429, Retry_After="77")) as peer,
        Registry(limits=LIMITS, docker_hub=f"http://{peer.host}") as registry,
    ):
        for namespace in ("acme", "other"):
            listing = await registry.repositories("docker.io", namespace)
            assert isinstance(listing.failure, errors.RateLimited)
    assert len(peer.seen) == 1


async def test_a_page_is_bounded() -> None:
    page = sends(json.dumps({"results": [{"name": "x" * 2000}]}).encode())
    async with serving(page) as peer:
        limits = Limits(page_bytes=1000)
        async with Registry(limits=limits, docker_hub=f"http://{peer.host}") as registry:
            listing = await registry.repositories("docker.io", "acme")
    assert "larger than 1000 bytes" in str(listing.failure)
