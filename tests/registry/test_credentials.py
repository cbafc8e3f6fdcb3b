"""Which credentials fit which repository, and what never shows."""

import base64
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.registry.test_reference import hosts, repositories

from aim_engine.registry import credentials, endpoint, errors, mirrors
from aim_engine.registry.credentials import Credential, Keychain, PullSecret, keychain

JSON_TYPE, CFG_TYPE = "kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"


def secret(auths: object, name: str = "regcred") -> PullSecret:
    return PullSecret(name, JSON_TYPE, {".dockerconfigjson": json.dumps({"auths": auths}).encode()})


def of_keys(*keys: str) -> Keychain:
    """Each key with itself as user name, so that one sees which was found."""
    return keychain([secret({key: {"username": key, "password": "p"} for key in keys})])


def users(found: tuple[Credential, ...]) -> list[str]:
    return [credential.username for credential in found]


@pytest.mark.parametrize(
    ("key", "host", "repository"),
    [
        pytest.param("ghcr.io", "ghcr.io", "acme/aim", id="the host"),
        pytest.param("https://ghcr.io", "ghcr.io", "acme/aim", id="with a scheme"),
        pytest.param("GHCR.IO", "ghcr.io", "acme/aim", id="in any case"),
        pytest.param("ghcr.io/v2/", "ghcr.io", "acme/aim", id="with the path of the API"),
        pytest.param("https://index.docker.io/v1/", "docker.io", "acme/aim", id="as docker login names Docker Hub"),
        pytest.param("docker.io", "docker.io", "acme/aim", id="Docker Hub by its name"),
        pytest.param("registry-1.docker.io", "docker.io", "acme/aim", id="Docker Hub by its host"),
        pytest.param("*.example.com", "registry.example.com", "aim", id="a star for one part"),
        pytest.param("reg*.example.com", "registry.example.com", "aim", id="a star within a part"),
        pytest.param("host:5000", "host:5000", "aim", id="a port"),
        pytest.param("[::1]:5000", "[::1]:5000", "aim", id="an IPv6 address"),
        pytest.param("ghcr.io/acme", "ghcr.io", "acme/aim", id="a path"),
        pytest.param("ghcr.io/acme/aim", "ghcr.io", "acme/aim", id="the whole path"),
        pytest.param("ghcr.io/acme/v2", "ghcr.io", "acme/aim", id="a path with the version after it"),
    ],
)
def test_a_key_that_fits(key: str, host: str, repository: str) -> None:
    assert users(of_keys(key).find(host, repository)) == [key]


@pytest.mark.parametrize(
    ("key", "host", "repository"),
    [
        pytest.param("ghcr.io", "quay.io", "acme/aim", id="another host"),
        pytest.param("host", "host:5000", "aim", id="no port where there is one"),
        pytest.param("host:5001", "host:5000", "aim", id="another port"),
        pytest.param("*.example.com", "a.b.example.com", "aim", id="a star is one part"),
        pytest.param("*", "registry.example.com", "aim", id="a star alone is one part"),
        pytest.param("ghcr.io/acme", "ghcr.io", "acme-internal/aim", id="half a segment"),
        pytest.param("ghcr.io/acme/aim", "ghcr.io", "acme", id="a longer path"),
        pytest.param("index.docker.io", "ghcr.io", "acme/aim", id="Docker Hub's elsewhere"),
        pytest.param("", "ghcr.io", "acme/aim", id="no key"),
    ],
)
def test_a_key_that_does_not_fit(key: str, host: str, repository: str) -> None:
    assert not of_keys(key).find(host, repository)


def test_the_longest_key_comes_first() -> None:
    chain = of_keys("*.io", "ghcr.io", "ghcr.io/acme/aim", "ghcr.io/acme")
    assert users(chain.find("ghcr.io", "acme/aim")) == ["ghcr.io/acme/aim", "ghcr.io/acme", "ghcr.io", "*.io"]


def test_of_equal_keys_the_first_secret_comes_first() -> None:
    chain = keychain([secret({"ghcr.io": {"username": name, "password": "p"}}, name) for name in ("a", "b", "c")])
    assert users(chain.find("ghcr.io")) == ["a", "b", "c"]


def test_the_older_form_has_no_auths_around_it() -> None:
    old = PullSecret("old", CFG_TYPE, {".dockercfg": b'{"ghcr.io": {"username": "u", "password": "p"}}'})
    assert users(keychain([old]).find("ghcr.io")) == ["u"]


@pytest.mark.parametrize(
    ("entry", "pair"),
    [
        pytest.param({"username": "u", "password": "p"}, ("u", "p"), id="two fields"),
        pytest.param({"auth": base64.b64encode(b"u:p:q").decode()}, ("u", "p:q"), id="a colon in the password"),
        pytest.param({"auth": base64.b64encode(b"u:pass").decode().rstrip("=")}, ("u", "pass"), id="without padding"),
        pytest.param({"auth": "dTpw", "username": "v", "password": "w"}, ("v", "w"), id="the fields go first"),
        pytest.param({"auth": "dTpw", "email": "a@b.c", "other": 1}, ("u", "p"), id="fields we do not know"),
    ],
)
def test_forms_of_an_entry(entry: dict[str, str], pair: tuple[str, str]) -> None:
    (found,) = keychain([secret({"ghcr.io": entry})]).find("ghcr.io")
    assert (found.username, found.password) == pair


@pytest.mark.parametrize("entry", [{}, None, {"auth": ""}, {"email": "a@b.c"}])
def test_an_entry_without_credentials_only_names_a_host(entry: object) -> None:
    chain = keychain([secret({"ghcr.io": entry})])
    assert not chain.find("ghcr.io")
    assert chain.names("ghcr.io")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        pytest.param(
            PullSecret("s", JSON_TYPE, {".dockerconfigjson": b"hunter2"}),
            'pull secret "s" is not a JSON object with "auths"',
            id="no JSON",
        ),
        pytest.param(
            PullSecret("s", JSON_TYPE, {".dockerconfigjson": b'{"auths": {"ghcr.io": "hunter2"}}'}),
            'pull secret "s" is not a JSON object with "auths"',
            id="an entry that is a text",
        ),
        pytest.param(
            PullSecret("s", CFG_TYPE, {".dockercfg": b'["hunter2"]'}),
            'pull secret "s" is not a JSON object of entries by registry',
            id="a list",
        ),
        pytest.param(
            PullSecret("s", JSON_TYPE, {"config.json": b"{}"}),
            'pull secret "s" of type kubernetes.io/dockerconfigjson has no key .dockerconfigjson',
            id="another key",
        ),
        pytest.param(
            secret({"ghcr.io": {"auth": "hunter2!"}}, "s"),
            'the "auth" of ghcr.io in pull secret "s" is not base64 of user name, colon, password',
            id="auth that is no base64",
        ),
        pytest.param(
            secret({"https://bob:hunter2@ghcr.io": {"auth": base64.b64encode(b"hunter2").decode()}}, "s"),
            'the "auth" of ghcr.io in pull secret "s" is not base64 of user name, colon, password',
            id="auth without a colon",
        ),
    ],
)
def test_a_wrong_secret_is_named_and_its_content_is_not(wrong: PullSecret, words: str) -> None:
    with pytest.raises(errors.InvalidCredentials) as failure:
        keychain([wrong])
    assert str(failure.value).startswith(words)
    assert "hunter2" not in str(failure.value)


def test_a_secret_of_another_type_is_passed_over() -> None:
    chain = keychain([PullSecret("mine", "Opaque", {".dockerconfigjson": b"{}"})])
    assert (chain.entries, chain.passed_over) == ((), ("mine",))


def test_credentials_do_not_show() -> None:
    chain = of_keys("ghcr.io")
    credential = Credential("pull secret", "bob", "hunter2", "identity")
    assert "hunter2" not in f"{credential!r} {credential} {[credential]}"
    assert "'p'" not in f"{chain!r}"


texts = st.text(alphabet=st.characters(codec="utf-8", exclude_characters=":\0"), min_size=1)


@given(hosts, repositories, texts, st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_what_docker_login_writes_is_found(host: str, repository: str, username: str, password: str) -> None:
    auth = base64.b64encode(f"{username}:{password}".encode()).decode()
    (found,) = keychain([secret({host: {"auth": auth}})]).find(host, repository)
    assert (found.username, found.password) == (username, password)


leaves = st.none() | st.booleans() | st.integers() | st.text()
documents = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@given(documents | st.dictionaries(hosts, documents).map(lambda auths: {"auths": auths}), st.booleans())
def test_any_json_is_credentials_or_refused_with_a_sentence(document: object, bare: bool) -> None:
    try:
        entries = credentials.parse(msgspec.json.encode(document), "the secret", bare=bare)
    except errors.InvalidCredentials as failure:
        assert "the secret" in str(failure)
    else:
        Keychain(entries).find("ghcr.io", "acme/aim")


@given(st.binary())
def test_any_bytes_are_credentials_or_refused(content: bytes) -> None:
    try:
        credentials.parse(content, "the secret")
    except errors.InvalidCredentials as failure:
        assert str(failure) == 'the secret is not a JSON object with "auths", as `docker login` writes it'


@given(hosts, hosts, repositories, st.booleans())
def test_a_mirror_gets_the_registrys_credentials_only_if_it_is_the_same_host_or_named(
    registry: str, mirror: str, repository: str, named: bool
) -> None:
    place = endpoint.of(registry, mirrors.parse(f"{registry}=https://{mirror}"))
    entries = {registry: {"username": "u", "password": "p"}} | ({mirror: {}} if named and mirror != registry else {})
    found = endpoint.credentials_for(place, keychain([secret(entries)]), repository)
    assert bool(found) == (named or mirror == registry)
