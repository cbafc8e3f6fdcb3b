"""Redirects of a registry: by whose proxy each is followed, what goes along, and where they end."""

import pytest
from aiohttp import web
from tests.registry.conftest import LIMITS
from tests.registry.peer import Respond, in_turn, says, serving
from yarl import URL

from aim_engine.proxies import Proxies
from aim_engine.registry import errors
from aim_engine.registry.exchange import Answer, Party, Question
from aim_engine.registry.transport import Transport, trusting

PARTY = Party("registry here.example", "here.example", "here.example", "here.example")
FORM = {"refresh_token": "secret"}
DIRECT = Proxies({})


def redirects(location: str, status: int = 307) -> Respond:
    return says({}, status, Location=location)


async def answer(url: str, proxies: Proxies = DIRECT, form: dict[str, str] | None = None) -> Answer:
    """What comes of a question with credentials."""
    headers = {"Authorization": "Bearer secret", "Accept": "*/*"}
    question = Question(party=PARTY, url=URL(url), subject="it", most_bytes=1000, headers=headers, form=form)
    async with Transport(LIMITS, trusting(None), proxies) as transport:
        return await transport.ask(question)


async def test_a_redirect_away_from_a_host_without_proxy_takes_the_proxy() -> None:
    async with serving(says("there")) as proxy, serving(redirects("http://storage.example/blob")) as registry:
        found = await answer(
            f"http://{registry.host}/v2/", Proxies({"http": f"http://{proxy.host}", "no": "127.0.0.1"})
        )
    assert found.body == b'"there"'
    assert [seen.headers["Host"] for seen in proxy.seen] == ["storage.example"]


async def test_a_redirect_to_a_host_without_proxy_does_not_take_it() -> None:
    async with serving(says("there")) as storage, serving(redirects(f"http://{storage.host}/blob")) as proxy:
        found = await answer(
            "http://registry.example/v2/", Proxies({"http": f"http://{proxy.host}", "no": "127.0.0.1"})
        )
    assert found.body == b'"there"'
    assert found.url == URL(f"http://{storage.host}/blob")
    assert [seen.headers["Host"] for seen in proxy.seen] == ["registry.example"]


@pytest.mark.parametrize(
    "location",
    [
        pytest.param("/v2/other?page=2", id="a path"),
        pytest.param("//{host}/v2/other?page=2", id="host and path"),
        pytest.param("http://{host}/v2/other?page=2", id="the whole address"),
    ],
)
async def test_at_the_same_host_the_credentials_go_along(location: str) -> None:
    async def respond(request: web.Request) -> web.StreamResponse:
        first = request.path == "/v2/"
        return await (redirects(location.format(host=request.host)) if first else says("there"))(request)

    async with serving(respond) as registry:
        found = await answer(f"http://{registry.host}/v2/")
    assert found.url == URL(f"http://{registry.host}/v2/other?page=2")
    assert [seen.headers["Authorization"] for seen in registry.seen] == ["Bearer secret"] * 2


async def test_another_host_gets_no_credentials() -> None:
    async with serving(says("there")) as storage, serving(redirects(f"http://{storage.host}/blob")) as registry:
        await answer(f"http://{registry.host}/v2/")
    assert "Authorization" not in storage.seen[0].headers
    assert storage.seen[0].headers["Accept"] == "*/*"


async def test_an_address_with_credentials_of_its_own_is_asked_with_those() -> None:
    async def respond(request: web.Request) -> web.StreamResponse:
        there = redirects(f"http://bob:hunter2@{request.host}/blob")
        return await (there if request.path == "/v2/" else says("there"))(request)

    async with serving(respond) as registry:
        await answer(f"http://{registry.host}/v2/")
    assert registry.seen[1].headers["Authorization"] == "Basic Ym9iOmh1bnRlcjI="


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        pytest.param(301, ("GET", {}), id="301"),
        pytest.param(302, ("GET", {}), id="302"),
        pytest.param(303, ("GET", {}), id="303"),
        pytest.param(307, ("POST", FORM), id="307"),
        pytest.param(308, ("POST", FORM), id="308"),
    ],
)
async def test_a_form_is_sent_again_only_where_the_status_says_so(status: int, asked: tuple[str, object]) -> None:
    async with serving(in_turn([redirects("/else", status), says("there")])) as registry:
        await answer(f"http://{registry.host}/token", form=FORM)
    assert (registry.seen[1].method, registry.seen[1].form) == asked


async def test_redirects_without_end_are_given_up() -> None:
    async with serving(redirects("/again")) as registry:
        with pytest.raises(errors.MalformedAnswer, match="redirects again and again"):
            await answer(f"http://{registry.host}/v2/")
    assert len(registry.seen) == LIMITS.redirects


@pytest.mark.parametrize("location", ["http://[bad/", "http://there:99999/", "ftp://there/", "mailto:bob"])
async def test_a_redirect_to_nowhere_is_told(location: str) -> None:
    async with serving(redirects(location)) as registry:
        with pytest.raises(errors.MalformedAnswer, match="redirects to an address that is none"):
            await answer(f"http://{registry.host}/v2/")
    assert len(registry.seen) == 1


async def test_a_redirect_that_names_no_address_is_an_answer() -> None:
    async with serving(says("nowhere", 307)) as registry:
        assert (await answer(f"http://{registry.host}/v2/")).status == 307
