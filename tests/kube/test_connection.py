"""Finding the API server and being let in, while credentials rotate."""

import base64
import json
import os
import ssl
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from tests.kube.certificates import Authority, Pair
from tests.kube.peer import peer, refuses, says

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Certificate, Connection
from aim_engine.kube.errors import Misconfigured, Unauthorized, Unreachable
from aim_engine.kube.kubeconfig import discover, from_kubeconfig, in_cluster
from aim_engine.kube.plugin import Plugin
from aim_engine.kube.resource import PODS
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key

KEY = Key("team", "web")


def config(directory: Path, user: dict[str, Any] | None = None, **cluster: Any) -> Path:
    """A kubeconfig with one context."""
    path = directory / "config"
    content = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


async def authorization(connection: Connection) -> str | None:
    return dict((await connection.access()).headers).get("Authorization")


def replace(path: Path, content: str | bytes) -> None:
    """Swap a file as Kubernetes does with projected volumes."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content if isinstance(content, bytes) else content.encode())
    fresh.rename(path)


async def test_a_rotated_token_file_counts_from_the_next_call_on(tmp_path: Path):
    token = tmp_path / "token"
    token.write_text("first\n")
    async with peer(says({})) as server, Client(server.connected(token_file=token)) as client:
        await client.get(PODS, KEY)
        replace(token, "second")
        await client.get(PODS, KEY)
        token.unlink()
        await client.get(PODS, KEY)
    assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer first", "Bearer second", "Bearer second"]


async def test_a_token_file_that_never_was_is_a_sentence(tmp_path: Path):
    with pytest.raises(Misconfigured, match=r"can't use .*/token for the connection"):
        await Connection(server="http://x", token_file=tmp_path / "token").access()


@asynccontextmanager
async def secure_server(authority: Authority, pair: Pair, directory: Path) -> AsyncGenerator[str]:
    """Answers with the common name of the client's certificate, if that is of the authority."""

    async def who(request: web.Request) -> web.Response:
        assert request.transport
        certificate = request.transport.get_extra_info("peercert")
        return web.json_response({"name": certificate["subject"][0][0][1]})

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (directory / "server.crt").write_bytes(pair.certificate)
    (directory / "server.key").write_bytes(pair.key)
    context.load_cert_chain(directory / "server.crt", directory / "server.key")
    context.load_verify_locations(cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    application = web.Application()
    application.router.add_get("/{path:.*}", who)
    runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_a_rotated_client_certificate_counts_from_the_next_call_on(tmp_path: Path):
    authority = Authority()
    chain, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def write(name: str) -> None:
        pair = authority.sign(name)
        replace(chain, pair.certificate)
        replace(key, pair.key)

    write("first")
    async with secure_server(authority, authority.sign("server"), tmp_path) as server:
        connection = Connection(server=server, authority=authority.certificate, certificate=Certificate(chain, key))
        async with Client(connection) as client:
            assert await client.get(PODS, KEY) == {"name": "first"}
            write("second")
            assert await client.get(PODS, KEY) == {"name": "second"}
            replace(chain, authority.sign("half").certificate)
            assert await client.get(PODS, KEY) == {"name": "second"}, "half a rotation does no harm"


async def test_a_rotated_authority_is_believed_and_a_strange_one_is_not(tmp_path: Path):
    old, new = Authority("old"), Authority("new")
    bundle = tmp_path / "ca.crt"
    bundle.write_bytes(old.certificate)
    mine = new.sign("me")
    async with secure_server(new, new.sign("server"), tmp_path) as server:
        connection = Connection(server=server, authority=bundle, certificate=Certificate(mine.certificate, mine.key))
        async with Client(connection) as client:
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await client.get(PODS, KEY)
            replace(bundle, old.certificate + new.certificate)
            assert await client.get(PODS, KEY) == {"name": "me"}
        async with Client(
            Connection(server=server, insecure=True, certificate=Certificate(mine.certificate, mine.key))
        ) as client:
            assert await client.get(PODS, KEY) == {"name": "me"}, "insecure-skip-tls-verify asks no authority"


def plugin_script(directory: Path, body: str) -> Path:
    script = directory / "plugin"
    script.write_text(f"#!{sys.executable}\nimport json, os, pathlib, sys\n{body}\n")
    script.chmod(0o700)
    return script


COUNTING = """
count = pathlib.Path(os.environ["COUNT"])
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {"token": f"{sys.argv[1]}-{number}-{info['spec'].get('cluster', {}).get('server')}"}
if len(sys.argv) > 2: status["expirationTimestamp"] = sys.argv[2]
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


@pytest.mark.parametrize(
    ("expiry", "runs"),
    [
        pytest.param([], 1, id="a credential without end is asked for once"),
        pytest.param(["2999-01-01T00:00:00Z"], 1, id="a credential counts until it expires"),
        pytest.param(["2001-01-01T00:00:00Z"], 2, id="an expired credential is asked for again"),
    ],
)
async def test_a_credential_plugin_is_run_when_it_is_needed(tmp_path: Path, expiry: list[str], runs: int):
    script = plugin_script(tmp_path, COUNTING)
    part = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": f"./{script.name}",
        "args": ["token", *expiry],
        "env": [{"name": "COUNT", "value": str(tmp_path / "count")}],
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    connection = from_kubeconfig([config(tmp_path, {"exec": part})])
    first, second = await authorization(connection), await authorization(connection)
    assert first == "Bearer token-1-https://10.0.0.1:6443"
    assert second == f"Bearer token-{runs}-https://10.0.0.1:6443"


async def test_a_refused_credential_of_a_plugin_is_renewed_once(tmp_path: Path):
    plugin = Plugin(
        command=str(plugin_script(tmp_path, COUNTING)),
        arguments=["token"],
        environment={"COUNT": str(tmp_path / "count")},
    )
    script = (refuses(401, "Unauthorized"), says({}), refuses(401, "Unauthorized"))
    async with peer(*script) as server, Client(server.connected(plugin=plugin)) as client:
        await client.get(PODS, KEY)
        with pytest.raises(Unauthorized):
            await client.get(PODS, KEY)
    used = [seen.headers["Authorization"].split("-")[1] for seen in server.seen]
    assert used == ["1", "2", "2", "3"]


async def test_a_certificate_of_a_plugin_is_used(tmp_path: Path):
    authority = Authority()
    pair = authority.sign("plugged")
    status = {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
    script = plugin_script(tmp_path, f"print({json.dumps(json.dumps({'status': status}))})")
    async with secure_server(authority, authority.sign("server"), tmp_path) as server:
        connection = Connection(server=server, authority=authority.certificate, plugin=Plugin(command=str(script)))
        async with Client(connection) as client:
            assert await client.get(PODS, KEY) == {"name": "plugged"}


@pytest.mark.parametrize(
    ("body", "patience", "sentence"),
    [
        pytest.param("sys.exit(3)", 60, "ended with code 3", id="it fails"),
        pytest.param("print('hello')", 60, "printed no ExecCredential", id="it prints something else"),
        pytest.param("print('{}')", 60, "neither a token nor a certificate", id="it prints nothing of use"),
        pytest.param("import time; time.sleep(60)", 0.5, "gave no answer in 0.5 s", id="it hangs"),
    ],
)
async def test_a_plugin_that_does_not_work_is_a_sentence(tmp_path: Path, body: str, patience: float, sentence: str):
    plugin = Plugin(command=str(plugin_script(tmp_path, body)), timings=Timings(plugin=patience))
    with pytest.raises(Misconfigured, match=sentence):
        await plugin.credential()


async def test_a_plugin_that_is_not_there_says_how_to_get_it():
    with pytest.raises(Misconfigured, match=r"can't run .*/nowhere/plugin.*; install it with brew"):
        await Plugin(command="/nowhere/plugin", install_hint="install it with brew").credential()


async def test_every_way_a_kubeconfig_names_a_user(tmp_path: Path):
    (tmp_path / "token").write_text("from-file")
    pair = Authority().sign("me")
    encoded = {"client-certificate-data": pair.certificate, "client-key-data": pair.key}
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({"token": "plain"}, "Bearer plain"),
        ({"token": "plain", "tokenFile": "token"}, "Bearer from-file"),
        ({"username": "a", "password": "b"}, f"Basic {base64.b64encode(b'a:b').decode()}"),
        ({name: base64.b64encode(pem).decode() for name, pem in encoded.items()}, None),
        ({}, None),
    ]
    for user, expected in cases:
        assert await authorization(from_kubeconfig([config(tmp_path, user)])) == expected


async def test_impersonation_is_asked_for(tmp_path: Path):
    user = {"as": "jane", "as-groups": ["one", "two"]}
    connection = from_kubeconfig([config(tmp_path, user)])
    asked = [("Impersonate-User", "jane"), ("Impersonate-Group", "one"), ("Impersonate-Group", "two")]
    async with peer(says({})) as server:
        connection.server = server.connection.server
        async with Client(connection) as client:
            await client.get(PODS, KEY)
    assert list((await connection.access()).headers) == asked


def test_no_credential_is_printed_with_a_connection():
    pair = Authority().sign("me")
    connection = Connection(
        server="https://x",
        token="tops3cret",
        basic="tops3cret",
        certificate=Certificate(pair.certificate, b"tops3cret"),
        plugin=Plugin(command="x", environment={"A": "tops3cret"}),
    )
    assert "tops3cret" not in repr(connection)


def test_of_several_files_the_first_to_name_a_thing_decides(tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    first = config(one)
    second = config(two)
    content = yaml.safe_load(second.read_text())
    content["clusters"][0]["cluster"]["server"] = "https://10.9.9.9"
    content["contexts"].append({"name": "there", "context": {"cluster": "other", "user": ""}})
    content["clusters"].append({"name": "other", "cluster": {"server": "https://10.2.2.2/"}})
    second.write_text(yaml.safe_dump(content))
    environment = {"KUBECONFIG": os.pathsep.join([str(tmp_path / "missing"), str(first), str(second)])}
    assert discover(environment=environment).server == "https://10.0.0.1:6443"
    assert discover(environment=environment).namespace == "team"
    assert discover(context="there", environment=environment).server == "https://10.2.2.2"
    assert discover(str(second), environment=environment).server == "https://10.9.9.9"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("{", "can't read kubeconfig", id="not YAML"),
        pytest.param("clusters: 7", r"can't read kubeconfig .*Expected `array", id="not a kubeconfig"),
        pytest.param("", "has no current-context", id="empty"),
        pytest.param("current-context: x", "has no context named 'x'", id="no such context"),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]", "no cluster named 'c'", id="no cluster"
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]",
            "has no server",
            id="no server",
        ),
    ],
)
def test_a_broken_kubeconfig_is_a_sentence(tmp_path: Path, text: str, sentence: str):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(Misconfigured, match=sentence):
        from_kubeconfig([path])


def test_other_broken_kubeconfigs_are_sentences_too(tmp_path: Path):
    with pytest.raises(Misconfigured, match="does not exist; name one with --kubeconfig"):
        from_kubeconfig([tmp_path / "missing"])
    with pytest.raises(Misconfigured, match="auth-provider"):
        from_kubeconfig([config(tmp_path, {"auth-provider": {"name": "gcp"}})])
    with pytest.raises(Misconfigured, match=r"certificate-authority-data .* is not base64"):
        from_kubeconfig([config(tmp_path, **{"certificate-authority-data": "%"})])


async def test_inside_a_pod_the_files_of_its_service_account_are_used(tmp_path: Path):
    for name, content in {"token": "mounted", "namespace": "aim-system", "ca.crt": Authority().certificate}.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    connection = in_cluster(tmp_path, environment=environment)
    assert (connection.server, connection.namespace) == ("https://[fd00::1]:6443", "aim-system")
    assert await authorization(connection) == "Bearer mounted"
    with pytest.raises(Misconfigured, match="not inside a cluster"):
        in_cluster(tmp_path, environment={})
