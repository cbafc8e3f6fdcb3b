"""Listings of real registries: all pages, none twice, and a broken one never taken for a whole one."""

import pytest
from aiohttp import web
from tests.registry import servers
from tests.registry.conftest import LIMITS
from tests.registry.peer import Peer, Respond, breaks_off, gate, hangs_up, says, sends, serving, stays_silent
from tests.registry.pushing import Pusher
from tests.registry.servers import PASSWORD, USER, Authority
from tests.registry.test_access import keychain

from aim_engine.registry import errors, mirrors
from aim_engine.registry.client import Registry
from aim_engine.registry.limits import Limits

TAGS = tuple(f"1.{number}" for number in range(7))
SMALL_PAGES = Limits(page_size=3, retry_pauses=(0.01,), request=60.0)


@pytest.fixture
async def tagged(push: Pusher, repository: str) -> str:
    """A repository with seven tags."""
    for tag in TAGS:
        await push.image(repository, tag, {})
    return repository


@pytest.mark.parametrize(
    ("size", "pages"),
    [
        pytest.param(1000, 1, id="one page"),
        pytest.param(3, 3, id="the last one is not full"),
        pytest.param(7, 2, id="exactly full pages"),
    ],
)
async def test_all_tags_of_a_repository(plain: str, tagged: str, size: int, pages: int) -> None:
    async with gate(plain) as front, Registry(limits=Limits(page_size=size)) as registry:
        listing = await registry.tags(front.host, tagged)
        assert (listing.names, listing.failure) == (TAGS, None)
        assert len(front.kinds()) <= pages
        assert front.seen[1].query["n"] == str(size)


async def test_tags_of_a_repository_that_is_not_there(plain: str) -> None:
    async with Registry(limits=LIMITS) as registry:
        listing = await registry.tags(plain, "acme/none")
    assert listing.names == ()
    assert isinstance(listing.failure, errors.NotFound)
    assert str(listing.failure) == (
        f"registry {plain} has no acme/none (NAME_UNKNOWN): check the name, or publish it there"
    )


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        pytest.param(says({}, 500), errors.ServerFailed, id="500"),
        pytest.param(says({}, 429, Retry_After="77"), errors.RateLimited, id="429"),
        pytest.param(says({}, 401), errors.Unauthorized, id="401"),
        pytest.param(hangs_up, errors.ConnectionLost, id="the connection is reset"),
        pytest.param(breaks_off, errors.ConnectionLost, id="the connection is cut in the middle of a page"),
        pytest.param(stays_silent, errors.TimedOut, id="nothing comes"),
        pytest.param(sends(b"<html>"), errors.MalformedAnswer, id="no JSON"),
        pytest.param(says({"tags": "1.0"}), errors.MalformedAnswer, id="another JSON"),
        pytest.param(sends(b"[" * 100_000), errors.MalformedAnswer, id="JSON without an end"),
    ],
)
async def test_what_came_before_a_broken_page_is_kept_and_the_failure_told(
    plain: str, tagged: str, fault: Respond, kind: type[errors.RegistryError]
) -> None:
    async with (
        gate(plain, before=lambda r: fault if "last" in r.query else None) as front,
        Registry(limits=Limits(page_size=3, retry_pauses=(0.01,), request=6.0)) as registry,
    ):
        listing = await registry.tags(front.host, tagged)
    assert listing.names == TAGS[:3]
    assert type(listing.failure) is kind
    if isinstance(listing.failure, errors.RateLimited):
        assert listing.failure.retry_after == 77


@pytest.mark.parametrize(
    ("link", "words"),
    [
        pytest.param('</v2/acme/aim/tags/list?n=3>; rel="next"', "in a circle", id="a page that leads to itself"),
        pytest.param('<http://else.example/v2/>; rel="next"', "another host", id="a page elsewhere"),
        pytest.param('<http://[>; rel="next"', "another host", id="no address"),
    ],
)
async def test_pages_that_lead_astray(plain: str, link: str, words: str) -> None:
    page = says({"tags": ["1.0"]}, Link=link)
    async with (
        gate(plain, before=lambda r: page if "/tags/" in r.path else None) as front,
        Registry(limits=SMALL_PAGES) as registry,
    ):
        listing = await registry.tags(front.host, "acme/aim")
    assert listing.names == ("1.0",)
    assert words in str(listing.failure)
    assert not any("else.example" in seen.headers["Host"] for seen in front.seen)


async def test_a_page_at_another_host_is_asked_for_without_credentials(plain: str) -> None:
    page = says({"tags": ["1.0"]}, Link='</v2/acme/aim/tags/list?last=1.0>; rel="next"')
    async with serving(page) as storage:

        def before(request: web.Request) -> Respond | None:
            if "last" in request.query:
                return says({"tags": ["2.0"]})
            refusal = says({}, 401, WWW_Authenticate='Basic realm="test"')
            return says({}, 307, Location=f"http://{storage.host}/") if "/tags/" in request.path else refusal

        async with gate(plain, before=before) as front, Registry(limits=SMALL_PAGES) as registry:
            listing = await registry.tags(front.host, "acme/aim", keychain((front.host, USER, PASSWORD)))
    assert (listing.names, listing.failure) == (("1.0", "2.0"), None)
    assert [seen.path for seen in front.seen if "Authorization" in seen.headers] == ["/v2/acme/aim/tags/list"] * 2
    assert not any("Authorization" in seen.headers for seen in storage.seen)


async def test_a_listing_without_end_ends(plain: str) -> None:
    def before(request: web.Request) -> Respond | None:
        number = int(request.query.get("last", "0")) + 1
        link = f'</v2/acme/aim/tags/list?last={number}>; rel="next"'
        return says({"tags": [f"{number}"]}, Link=link) if "/tags/" in request.path else None

    async with gate(plain, before=before) as front, Registry(limits=Limits(pages=20)) as registry:
        listing = await registry.tags(front.host, "acme/aim")
    assert len(listing.names) == 20
    assert "too many pages" in str(listing.failure)


async def test_tags_of_several_repositories_fail_each_for_itself(plain: str, tagged: str) -> None:
    async with gate(plain) as front, Registry(limits=LIMITS) as registry:
        listings = await registry.tags_of(front.host, [tagged, "acme/none", "Not A Repository"])
        assert front.paths().count("/v2/") == 1
    assert listings[tagged].names == TAGS
    assert isinstance(listings["acme/none"].failure, errors.NotFound)
    assert isinstance(listings["Not A Repository"].failure, errors.InvalidReference)


class TestCatalog:
    @pytest.fixture
    async def names(self, push: Pusher, repository: str) -> list[str]:
        """Five repositories below the test's own."""
        names = [f"{repository}/{number}" for number in range(5)]
        for name in names:
            await push.image(name, "1.0", {})
        return names

    async def test_all_repositories_of_a_registry(self, plain: str, names: list[str]) -> None:
        async with gate(plain) as front, Registry(limits=SMALL_PAGES) as registry:
            listing = await registry.repositories(front.host, "ignored")
            assert listing.failure is None
            assert set(names) <= set(listing.names)
            assert len(set(listing.names)) == len(listing.names)
            assert {seen.path for seen in front.seen} == {"/v2/", "/v2/_catalog"}
            assert front.seen[1].query == {"n": "3"}

    async def test_a_mirror_is_listed_below_its_prefix(self, plain: str, names: list[str], repository: str) -> None:
        mirrored = mirrors.parse(f"quay.io=http://{plain}/{repository}")
        async with Registry(limits=SMALL_PAGES, mirrors=mirrored) as registry:
            listing = await registry.repositories("quay.io", "")
            assert listing.names == ("0", "1", "2", "3", "4")
            assert (await registry.tags("quay.io", "3")).names == ("1.0",)
        assert names

    @pytest.mark.parametrize("registry_name", ["docker.io", "index.docker.io", "hub.docker.com"])
    async def test_with_a_mirror_docker_hub_is_not_asked(
        self, plain: str, names: list[str], repository: str, registry_name: str
    ) -> None:
        mirrored = mirrors.parse(f"docker.io=http://{plain}/{repository}")
        async with Registry(limits=SMALL_PAGES, mirrors=mirrored, docker_hub="http://127.0.0.1:1") as registry:
            listing = await registry.repositories(registry_name, "acme")
        assert len(listing.names) == len(names)
        assert listing.failure is None

    async def test_a_mirror_of_ghcr_is_listed_for_those_with_credentials(
        self, plain: str, names: list[str], repository: str
    ) -> None:
        mirrored = mirrors.parse(f"ghcr.io=http://{plain}/{repository}")
        async with Registry(limits=SMALL_PAGES, mirrors=mirrored, github="http://127.0.0.1:1") as registry:
            for_ghcr = await registry.repositories("ghcr.io", "acme", keychain(("ghcr.io", "user", "token")))
            for_mirror = await registry.repositories("ghcr.io", "acme", keychain((plain, "user", "token")))
            nobody = await registry.repositories("ghcr.io", "acme")
        assert len(for_ghcr.names) == len(for_mirror.names) == len(names)
        assert isinstance(nobody.failure, errors.MissingCredentials)

    async def test_the_catalog_behind_tokens_wants_its_own_scope(
        self, tokened: str, tokens: Peer, authority: Authority
    ) -> None:
        access = [{"type": "repository", "name": "acme/aim", "actions": ["pull", "push"]}]
        headers = {"Authorization": f"Bearer {authority.token(access)}"}
        async with Pusher(f"http://{tokened}", headers=headers) as pusher:
            await pusher.image("acme/aim", "1.0", {})
        async with gate(tokened) as front, Registry(limits=LIMITS) as registry:
            listing = await registry.repositories(front.host, "", keychain((front.host, USER, PASSWORD)))
            stranger = await registry.repositories(front.host, "")
            assert front.kinds() == ["_catalog", "_catalog"]
        assert (listing.names, listing.failure) == (("acme/aim",), None)
        assert isinstance(stranger.failure, errors.Unauthorized)
        assert tokens.seen[0].query["scope"] == "registry:catalog:*"

    async def test_credentials_are_tried_in_turn(self, locked: str) -> None:
        both = keychain((locked, USER, "old"), name="first").entries + keychain((locked, USER, PASSWORD)).entries
        async with Pusher(f"http://{locked}", headers={"Authorization": servers.BASIC}) as pusher:
            await pusher.image("acme/aim", "1.0", {})
        async with Registry(limits=LIMITS) as registry:
            user = type(keychain())(both)
            assert "acme/aim" in (await registry.repositories(locked, "", user)).names
            assert (await registry.tags(locked, "acme/aim", user)).names == ("1.0",)

    async def test_a_registry_without_a_catalog(self, plain: str) -> None:
        gone = says({"errors": [{"code": "UNSUPPORTED"}]}, 404)
        async with (
            gate(plain, before=lambda r: gone if "_catalog" in r.path else None) as front,
            Registry(limits=LIMITS) as registry,
        ):
            listing = await registry.repositories(front.host, "")
        assert isinstance(listing.failure, errors.NotFound)
        assert "its catalog" in str(listing.failure)

    async def test_names_that_cannot_be_asked_for_are_left_out(self, plain: str) -> None:
        odd = says({"repositories": ["acme/aim", "../etc", "A b", "", "acme/aim"]})
        async with (
            gate(plain, before=lambda r: odd if "_catalog" in r.path else None) as front,
            Registry(limits=LIMITS) as registry,
        ):
            assert (await registry.repositories(front.host, "")).names == ("acme/aim",)
