"""Who is let in: passwords, tokens, certificates, and what is said to whom."""

import asyncio
import base64
import json
import ssl
import traceback
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from tests.registry import servers
from tests.registry.conftest import LIMITS, TokenServer
from tests.registry.peer import Peer, Respond, gate, says, serving
from tests.registry.pushing import Pusher
from tests.registry.servers import PASSWORD, USER, Authority

from aim_engine.proxies import Proxies
from aim_engine.registry import credentials, errors, mirrors
from aim_engine.registry.authorization import Permit
from aim_engine.registry.client import Registry
from aim_engine.registry.credentials import Keychain, PullSecret
from aim_engine.registry.limits import Limits

LABELS = {"is": "here"}


def keychain(*entries: tuple[str, str, str], name: str = "regcred", **more: str) -> Keychain:
    """The keychain of one pull secret with (host, user, password) entries; an empty user gives an entry without any."""
    auths = {
        host: {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()} | more if user or more else {}
        for host, user, password in entries
    }
    data = {".dockerconfigjson": json.dumps({"auths": auths}).encode()}
    return credentials.keychain([PullSecret(name, "kubernetes.io/dockerconfigjson", data)])


@pytest.fixture
async def push_locked(locked: str, repository: str) -> None:
    async with Pusher(f"http://{locked}", headers={"Authorization": servers.BASIC}) as pusher:
        await pusher.image(repository, "1.0", LABELS)


@pytest.fixture
async def push_tokened(tokened: str, authority: Authority, repository: str) -> str:
    """A private image, and a public one beside it."""
    for name in (repository, f"public/{repository}"):
        access = [{"type": "repository", "name": name, "actions": ["pull", "push"]}]
        headers = {"Authorization": f"Bearer {authority.token(access)}"}
        async with Pusher(f"http://{tokened}", headers=headers) as pusher:
            await pusher.image(name, "1.0", LABELS)
    return repository


@pytest.mark.usefixtures("push_locked")
async def test_a_password_of_a_pull_secret_opens(locked: str, repository: str) -> None:
    async with gate(locked) as front, Registry(limits=LIMITS) as registry:
        image = await registry.image(f"{front.host}/{repository}:1.0", keychain((front.host, USER, PASSWORD)))
        assert dict(image.labels) == LABELS
        assert front.kinds() == ["blobs", "manifests"]


@pytest.mark.usefixtures("push_locked")
async def test_the_operators_own_docker_config_helps_where_no_secret_does(
    locked: str, repository: str, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"auths": {locked: {"username": USER, "password": PASSWORD}}}))
    async with Registry(limits=LIMITS, own=credentials.read_docker_config(file)) as registry:
        other = keychain(("elsewhere.example", "a", "b"))
        assert dict((await registry.image(f"{locked}/{repository}:1.0", other)).labels) == LABELS
        with pytest.raises(errors.Unauthorized, match='pull secret "regcred"'):
            await registry.image(f"{locked}/{repository}:1.0", keychain((locked, USER, "wrong")))
    assert credentials.read_docker_config(tmp_path / "none") == Keychain()


@pytest.mark.usefixtures("push_locked")
async def test_credentials_that_fit_are_tried_in_turn(locked: str, repository: str) -> None:
    both = Keychain(
        keychain((locked, USER, "old"), name="first").entries
        + keychain((locked, USER, PASSWORD), name="second").entries
    )
    async with Registry(limits=LIMITS) as registry:
        assert dict((await registry.image(f"{locked}/{repository}:1.0", both)).labels) == LABELS


@pytest.mark.usefixtures("push_locked")
async def test_nothing_that_is_made_of_credentials_shows(locked: str, repository: str) -> None:
    """Neither in the text nor in the variables of our own frames, which some logs show."""
    password = "guess-4711"
    async with Registry(limits=LIMITS) as registry:
        with pytest.raises(errors.Unauthorized) as failure:
            await registry.image(f"{locked}/{repository}:1.0", keychain((locked, USER, password)))
    stack = traceback.TracebackException.from_exception(failure.value, capture_locals=True).stack
    variables = [frame.locals or {} for frame in stack if "aim_engine/registry" in frame.filename]
    assert any("keychain" in names for names in variables)
    shown = f"{failure.value!r} {failure.value} {variables} {Permit(f'Basic {password}', fresh=True)}"
    assert password not in shown
    assert base64.b64encode(f"{USER}:{password}".encode()).decode() not in shown


@pytest.mark.usefixtures("push_locked")
async def test_nobody_reads_through_what_another_was_shown(locked: str, repository: str) -> None:
    async with Registry(limits=LIMITS) as registry:
        name = f"{locked}/{repository}:1.0"
        await registry.image(name, keychain((locked, USER, PASSWORD)))
        with pytest.raises(errors.Unauthorized):
            await registry.image(name)


@pytest.mark.usefixtures("push_locked")
async def test_sentences_on_refused_access(locked: str, repository: str) -> None:
    async with Registry(limits=LIMITS) as registry:
        name = f"{locked}/{repository}:1.0"
        with pytest.raises(errors.Unauthorized) as nobody:
            await registry.image(name)
        with pytest.raises(errors.Unauthorized) as stranger:
            await registry.image(name, keychain((locked, USER, "guess-4711")))
        opaque = credentials.keychain([PullSecret("mine", "Opaque", {})])
        with pytest.raises(errors.Unauthorized) as mistyped:
            await registry.image(name, opaque)
    assert str(nobody.value) == (
        f"registry {locked} wants credentials for {repository}:1.0 and there are none for it: "
        f"check that it exists, or add a pull secret for {locked}"
    )
    assert str(stranger.value) == (
        f'registry {locked} refused the credentials of pull secret "regcred" for {repository}:1.0: '
        "check its user name and password"
    )
    assert '"mine" did not count' in str(mistyped.value)
    assert "kubernetes.io/dockerconfigjson" in str(mistyped.value)


async def test_a_token_opens_and_is_kept(tokened: str, tokens: Peer, push_tokened: str) -> None:
    async with gate(tokened) as front, Registry(limits=LIMITS) as registry:
        user = keychain((front.host, USER, PASSWORD))
        names = [f"{front.host}/{push_tokened}:1.0"] * 50
        images = await asyncio.gather(*(registry.image(name, user) for name in names))
        assert all(dict(image.labels) == LABELS for image in images)
        assert front.kinds() == ["blobs", "manifests"]
        assert [(seen.query["service"], seen.query["scope"]) for seen in tokens.seen] == [
            (servers.SERVICE, f"repository:{push_tokened}:pull")
        ]
        assert tokens.seen[0].headers["Authorization"] == servers.BASIC


async def test_the_password_goes_to_the_token_server_only(tokened: str, push_tokened: str) -> None:
    async with gate(tokened) as front, Registry(limits=LIMITS) as registry:
        await registry.image(f"{front.host}/{push_tokened}:1.0", keychain((front.host, USER, PASSWORD)))
        sent = [seen.headers.get("Authorization", "none").split()[0] for seen in front.seen]
    assert sent == ["none", "Bearer", "Bearer"]


async def test_everyone_gets_a_token_for_what_is_public(tokened: str, tokens: Peer, push_tokened: str) -> None:
    async with Registry(limits=LIMITS) as registry:
        assert dict((await registry.image(f"{tokened}/public/{push_tokened}:1.0")).labels) == LABELS
        assert "Authorization" not in tokens.seen[0].headers
        with pytest.raises(errors.Unauthorized, match="there are none for it"):
            await registry.image(f"{tokened}/{push_tokened}:1.0")


async def test_a_wrong_password_is_told_by_the_token_server(tokened: str, tokens: Peer, push_tokened: str) -> None:
    async with Registry(limits=LIMITS) as registry:
        with pytest.raises(errors.Unauthorized) as refusal:
            await registry.image(f"{tokened}/{push_tokened}:1.0", keychain((tokened, USER, "guess-4711")))
    assert str(refusal.value) == (
        f"the token server {tokens.host} of registry {tokened} refused the credentials of pull secret "
        f'"regcred" for {push_tokened}:1.0: check its user name and password'
    )


async def test_an_identity_token_is_exchanged(tokened: str, tokens: Peer, push_tokened: str) -> None:
    async with Registry(limits=LIMITS) as registry:
        user = keychain((tokened, "00000000", ""), identitytoken=servers.IDENTITY_TOKEN)
        assert dict((await registry.image(f"{tokened}/{push_tokened}:1.0", user)).labels) == LABELS
    assert (tokens.seen[0].method, tokens.seen[0].form["grant_type"]) == ("POST", "refresh_token")


@pytest.mark.parametrize(
    ("seconds", "requests"),
    [
        pytest.param(300, 1, id="a token is used again while it lasts"),
        pytest.param(4, 2, id="not once it is about to end"),
        pytest.param(None, 1, id="one that does not say lasts a minute"),
    ],
)
async def test_how_long_a_token_is_used(
    tokened: str, tokens: Peer, token_server: TokenServer, push_tokened: str, seconds: int | None, requests: int
) -> None:
    token_server.seconds = seconds
    async with Registry(limits=LIMITS) as registry:
        user = keychain((tokened, USER, PASSWORD))
        await registry.tags(tokened, push_tokened, user)
        await registry.tags(tokened, push_tokened, user)
    assert len(tokens.seen) == requests


async def test_a_token_that_is_no_longer_taken_is_replaced(tokened: str, tokens: Peer, push_tokened: str) -> None:
    challenge = (
        f'Bearer realm="http://{tokens.host}/token",service="{servers.SERVICE}",'
        f'scope="repository:{push_tokened}:pull",error="invalid_token"'
    )
    refusals = [says({}, 401, WWW_Authenticate=challenge)]
    async with Registry(limits=LIMITS) as registry:

        def before(request: web.Request) -> Respond | None:
            return refusals.pop() if refusals and len(front.seen) > 2 and request.path != "/v2/" else None

        async with gate(tokened, before=before) as front:
            user = keychain((front.host, USER, PASSWORD))
            assert (await registry.tags(front.host, push_tokened, user)).failure is None
            assert (await registry.tags(front.host, push_tokened, user)).names == ("1.0",)
    assert not refusals
    assert len(tokens.seen) == 2


@pytest.mark.parametrize(
    ("realm", "words"),
    [
        pytest.param("http://tokens.example/token", "plain http", id="a token server without TLS far away"),
        pytest.param("tokens", "no http or https address", id="no address"),
        pytest.param("https://user:x@tokens.example/", "no http or https address", id="an address with a password"),
    ],
)
async def test_a_token_server_that_cannot_be_trusted_gets_nothing(plain: str, realm: str, words: str) -> None:
    refusal = says({}, 401, WWW_Authenticate=f'Bearer realm="{realm}",service="s"')
    async with gate(plain, before=lambda _: refusal) as front, Registry(limits=LIMITS) as registry:
        with pytest.raises(errors.MalformedAnswer, match=words):
            await registry.image(f"{front.host}/acme/aim:1.0", keychain((front.host, USER, PASSWORD)))


@pytest.mark.parametrize("answer", [pytest.param(says({}), id="no token"), pytest.param(says([1]), id="another JSON")])
async def test_an_answer_without_a_token_is_malformed(plain: str, answer: Respond) -> None:
    async with serving(answer) as tokens:
        refusal = says({}, 401, WWW_Authenticate=f'Bearer realm="http://{tokens.host}/",service="s"')
        async with gate(plain, before=lambda _: refusal) as front, Registry(limits=LIMITS) as registry:
            with pytest.raises(errors.MalformedAnswer, match="no token in its answer"):
                await registry.image(f"{front.host}/acme/aim:1.0")


async def test_a_forbidden_image(plain: str) -> None:
    refusal = says({"errors": [{"code": "DENIED", "message": "secret"}]}, 403)
    async with (
        gate(plain, before=lambda r: refusal if r.path != "/v2/" else None) as front,
        Registry(limits=LIMITS) as registry,
    ):
        with pytest.raises(errors.Forbidden) as failure:
            await registry.image(f"{front.host}/acme/aim:1.0", keychain((front.host, USER, PASSWORD)))
    assert str(failure.value) == (
        f'registry {front.host} does not let the user of pull secret "regcred" read acme/aim:1.0: grant it pull access'
    )


async def test_a_redirect_to_another_host_takes_no_credentials_along(locked: str, repository: str) -> None:
    async with Pusher(f"http://{locked}", headers={"Authorization": servers.BASIC}) as pusher:
        await pusher.image(repository, "1.0", LABELS)

    async def serve_blob(request: web.Request) -> web.StreamResponse:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://{locked}{request.path}", headers={"Authorization": servers.BASIC}) as response,
        ):
            return web.Response(body=await response.read())

    async with serving(serve_blob) as storage:

        def before(request: web.Request) -> Respond | None:
            there = says({}, 307, Location=f"http://{storage.host}{request.path}")
            return there if "/blobs/" in request.path else None

        async with gate(locked, before=before) as front, Registry(limits=LIMITS) as registry:
            image = await registry.image(f"{front.host}/{repository}:1.0", keychain((front.host, USER, PASSWORD)))
    assert dict(image.labels) == LABELS
    assert "Authorization" not in storage.seen[0].headers


class TestCertificates:
    @pytest.fixture
    async def image(self, encrypted: str, trust: ssl.SSLContext, repository: str) -> str:
        async with Pusher(f"https://{encrypted}", trust=trust) as pusher:
            await pusher.image(repository, "1.0", LABELS)
        return f"{encrypted}/{repository}:1.0"

    async def test_a_ca_file_adds_trust(self, image: str, authority: Authority) -> None:
        async with Registry(limits=LIMITS, ca_file=authority.ca_file) as registry:
            assert dict((await registry.image(image)).labels) == LABELS

    async def test_an_unknown_certificate_is_refused_and_never_leads_to_plain_http(self, image: str) -> None:
        async with Registry(limits=LIMITS) as registry:
            with pytest.raises(errors.CertificateRefused) as refusal:
                await registry.image(image)
        assert str(refusal.value) == (
            f"the certificate of registry {image.partition('/')[0]} is not trusted (unable to get local issuer "
            "certificate): name its CA with AIM_REGISTRY_CA_FILE, or renew it"
        )

    async def test_a_certificate_for_another_name_is_refused(self, image: str, authority: Authority) -> None:
        other = image.replace("127.0.0.1", "localhost")
        async with Registry(limits=LIMITS, ca_file=authority.ca_file) as registry:
            with pytest.raises(errors.CertificateRefused, match="localhost"):
                await registry.image(other)

    async def test_a_registry_that_begins_to_speak_tls_is_found_again(
        self, plain: str, push: Pusher, repository: str
    ) -> None:
        await push.image(repository, "1.0", LABELS)
        refusals = [says({}, 400)]
        async with (
            gate(plain, before=lambda r: refusals.pop() if refusals and r.path != "/v2/" else None) as front,
            Registry(limits=LIMITS) as registry,
        ):
            with pytest.raises(errors.ServerFailed, match="status 400"):
                await registry.image(f"{front.host}/{repository}:1.0")
            await registry.image(f"{front.host}/{repository}:1.0")
            assert front.paths().count("/v2/") == 2

    async def test_https_towards_plain_http(self, plain: str) -> None:
        """A mirror says which scheme it speaks, so no other is tried."""
        mirrored = mirrors.parse(f"ghcr.io=https://{plain}")
        async with Registry(limits=LIMITS, mirrors=mirrored) as registry:
            with pytest.raises(errors.InsecureConnection, match="check that https is served") as failure:
                await registry.image("ghcr.io/acme/aim:1.0")
        assert not isinstance(failure.value, errors.CertificateRefused)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(None, "cannot be read: No such file", id="no file"),
            pytest.param(b"", "holds no CA certificates", id="an empty file"),
            pytest.param(b"not a certificate", "holds no CA certificates", id="another text"),
        ],
    )
    def test_a_wrong_ca_file_is_named(self, tmp_path: Path, content: bytes | None, words: str) -> None:
        file = tmp_path / "ca.pem"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(errors.InvalidSetting, match=f"AIM_REGISTRY_CA_FILE: {file} {words}"):
            Registry(ca_file=file)


class TestUnreachable:
    async def test_nobody_listens(self) -> None:
        async with serving(says({})) as gone:
            pass
        async with Registry(limits=LIMITS) as registry:
            with pytest.raises(errors.ConnectionRefused, match="refused the connection"):
                await registry.image(f"{gone.host}/acme/aim:1.0")

    async def test_a_name_that_does_not_exist(self) -> None:
        async with Registry(limits=LIMITS) as registry:
            with pytest.raises(errors.NameNotResolved) as failure:
                await registry.image("registry.invalid/acme/aim:1.0")
        assert str(failure.value) == (
            "the host name registry.invalid of registry registry.invalid cannot be resolved: "
            "check its spelling and the cluster's DNS"
        )

    async def test_something_else_than_http(self) -> None:
        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"220 mail.example ESMTP\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        async with server, Registry(limits=LIMITS, mirrors=mirrors.parse(f"ghcr.io=http://{host}:{port}")) as registry:
            with pytest.raises(errors.MalformedAnswer, match="does not answer as registry"):
                await registry.image("ghcr.io/acme/aim:1.0")


class TestMirrors:
    async def test_a_mirror_is_read_below_its_prefix_and_names_stay(
        self, plain: str, push: Pusher, repository: str
    ) -> None:
        await push.image(f"ghcr/{repository}", "1.0", LABELS)
        async with gate(plain) as front:
            mirrored = mirrors.parse(f"ghcr.io=http://{front.host}/ghcr")
            async with Registry(limits=LIMITS, mirrors=mirrored) as registry:
                image = await registry.image(f"ghcr.io/{repository}:1.0")
                with pytest.raises(errors.NotFound) as failure:
                    await registry.image(f"ghcr.io/{repository}:2.0")
            assert front.paths()[:2] == ["/v2/", f"/v2/ghcr/{repository}/manifests/1.0"]
        assert dict(image.labels) == LABELS
        assert str(image.reference) == f"ghcr.io/{repository}:1.0"
        assert str(failure.value).startswith(
            f"registry ghcr.io (read from its mirror {front.host}) has no {repository}:2.0"
        )
        assert (failure.value.registry, failure.value.host) == ("ghcr.io", front.host)

    @pytest.mark.parametrize(
        ("entries", "opens"),
        [
            pytest.param([("MIRROR", USER, PASSWORD)], True, id="an entry for the mirror serves it"),
            pytest.param([("ghcr.io", USER, PASSWORD)], False, id="those of the registry are not sent to it"),
            pytest.param(
                [("ghcr.io", USER, PASSWORD), ("MIRROR", "", "")], True, id="unless the secret names the mirror too"
            ),
            pytest.param(
                [("ghcr.io", "a", "b"), ("MIRROR", USER, PASSWORD)], True, id="with credentials of its own those count"
            ),
        ],
    )
    @pytest.mark.usefixtures("push_locked")
    async def test_whose_credentials_reach_a_mirror(
        self, locked: str, repository: str, entries: list[tuple[str, str, str]], opens: bool
    ) -> None:
        async with gate(locked) as front:
            user = keychain(*((host.replace("MIRROR", front.host), *pair) for host, *pair in entries))
            mirrored = mirrors.parse(f"ghcr.io=http://{front.host}")
            async with Registry(limits=LIMITS, mirrors=mirrored) as registry:
                if opens:
                    assert dict((await registry.image(f"ghcr.io/{repository}:1.0", user)).labels) == LABELS
                else:
                    with pytest.raises(errors.Unauthorized, match=f"add a pull secret for {front.host}"):
                        await registry.image(f"ghcr.io/{repository}:1.0", user)
                    assert not any("Authorization" in seen.headers for seen in front.seen)


async def test_the_proxy_of_the_environment_is_used(plain: str, push: Pusher, repository: str) -> None:
    await push.image(repository, "1.0", LABELS)
    async with gate(plain) as proxy:
        proxies = Proxies({"http": f"http://{proxy.host}", "no": "direct.example"})
        mirrored = mirrors.parse("ghcr.io=http://registry.example")
        async with Registry(limits=LIMITS, mirrors=mirrored, proxies=proxies) as registry:
            assert dict((await registry.image(f"ghcr.io/{repository}:1.0")).labels) == LABELS
    assert proxy.seen[0].headers["Host"] == "registry.example"


class TestRateLimits:
    @pytest.mark.parametrize(
        ("status", "headers", "seconds"),
        [
            pytest.param(429, {"Retry_After": "120"}, 120, id="429 that says how long"),
            pytest.param(429, {}, 60, id="429 that does not"),
            pytest.param(429, {"Retry_After": "999999"}, 3600, id="no longer than an hour"),
            pytest.param(403, {"Retry_After": "30"}, 30, id="403 with a time, as GitHub does"),
        ],
    )
    async def test_the_registry_is_left_alone_as_long_as_it_wants(
        self, plain: str, status: int, headers: dict[str, str], seconds: int
    ) -> None:
        refusal = says({}, status, **headers)
        async with (
            gate(plain, before=lambda r: refusal if r.path != "/v2/" else None) as front,
            Registry(limits=LIMITS) as registry,
        ):
            for tag in ("1.0", "2.0"):
                with pytest.raises(errors.RateLimited) as failure:
                    await registry.image(f"{front.host}/acme/aim:{tag}")
                assert seconds - 20 < failure.value.retry_after <= seconds
            assert front.kinds() == ["manifests"]
        assert str(failure.value) == (
            f"registry {front.host} takes no more requests for now, it limits how many it answers: "
            f"wait, or add a pull secret for {front.host} to get a higher limit"
        )

    async def test_another_user_has_a_limit_of_his_own(self, plain: str, push: Pusher, repository: str) -> None:
        await push.image(repository, "1.0", LABELS)
        refusals = [says({}, 429, Retry_After="100")]
        async with (
            gate(plain, before=lambda r: refusals.pop() if refusals and r.path != "/v2/" else None) as front,
            Registry(limits=LIMITS) as registry,
        ):
            with pytest.raises(errors.RateLimited):
                await registry.image(f"{front.host}/{repository}:1.0")
            user = keychain((front.host, USER, PASSWORD))
            assert dict((await registry.image(f"{front.host}/{repository}:1.0", user)).labels) == LABELS

    async def test_after_the_pause_it_is_asked_again(self, plain: str, push: Pusher, repository: str) -> None:
        await push.image(repository, "1.0", LABELS)
        refusals = [says({}, 429)]
        limits = Limits(rate_limit_pause=0.1)
        async with (
            gate(plain, before=lambda r: refusals.pop() if refusals and r.path != "/v2/" else None) as front,
            Registry(limits=limits) as registry,
        ):
            async with asyncio.timeout(120):
                while True:
                    try:
                        await registry.image(f"{front.host}/{repository}:1.0")
                        break
                    except errors.RateLimited as failure:
                        await asyncio.sleep(failure.retry_after)
            assert front.kinds() == ["blobs", "manifests", "manifests"]
