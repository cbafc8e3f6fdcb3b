"""AIM_REGISTRY_MIRRORS."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.registry.test_reference import hosts, repositories

from aim_engine.registry import endpoint, errors, mirrors
from aim_engine.registry.mirrors import Mirror


def test_several_mirrors_with_and_without_prefix() -> None:
    assert mirrors.parse("ghcr.io=https://mirror.example/ghcr, docker.io=http://10.0.0.5:5000/,") == {
        "ghcr.io": Mirror("https", "mirror.example", "ghcr"),
        "docker.io": Mirror("http", "10.0.0.5:5000"),
    }


@pytest.mark.parametrize("text", ["", "  ", ",", " , "])
def test_nothing_is_no_mirror(text: str) -> None:
    assert mirrors.parse(text) == {}


def test_docker_hub_has_one_name() -> None:
    assert set(mirrors.parse("index.docker.io=https://mirror.example")) == {"docker.io"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("ghcr.io", "there is no '='", id="no mirror"),
        pytest.param("ghcr.io=mirror.example", "begin with https:// or http://", id="no scheme"),
        pytest.param("ghcr.io=ftp://mirror.example", "begin with https:// or http://", id="another scheme"),
        pytest.param("ghcr.io=https://", "begin with https:// or http://", id="no host"),
        pytest.param("ghcr.io=https://mirror.example:99999", "no valid host name and port", id="a port that is none"),
        pytest.param("ghcr.io=https://mirror.example:x", "no valid host name and port", id="a port that is no number"),
        pytest.param("ghcr.io=https://mirror.example/Upper", "lower-case words", id="a prefix that is no repository"),
        pytest.param("ghcr.io=https://mirror.example/../x", "lower-case words", id="a way out of the path"),
        pytest.param("ghcr.io=https://mirror.example/v2/ghcr", "leave /v2 out", id="v2 in the address"),
        pytest.param("ghcr.io=https://mirror.example?x=1", "'?' or '#'", id="a query"),
        pytest.param("https://ghcr.io=https://mirror.example", "before '='", id="an address before '='"),
        pytest.param("=https://mirror.example", "before '='", id="nothing before '='"),
        pytest.param("ghcr.io=https://[::1", "no URL", id="half an IPv6 address"),
        pytest.param("ghcr.io=https://user:hunter2@mirror.example", "pull secret for the mirror", id="a password"),
    ],
)
def test_a_wrong_entry_is_told_by_its_number_with_what_is_expected(text: str, words: str) -> None:
    with pytest.raises(errors.InvalidSetting) as failure:
        mirrors.parse(f"quay.io=https://fine.example,{text}")
    sentence = str(failure.value)
    assert sentence.startswith("AIM_REGISTRY_MIRRORS: entry 2 is wrong: ")
    assert sentence.endswith("expected host=base-url[/prefix], such as ghcr.io=https://mirror.example/ghcr")
    assert words in sentence
    assert "hunter2" not in sentence


def test_one_registry_has_one_mirror() -> None:
    with pytest.raises(errors.InvalidSetting, match=r"entry 2 is wrong: docker\.io has a mirror already"):
        mirrors.parse("docker.io=https://a.example,index.docker.io=https://b.example")


@given(st.dictionaries(hosts, st.tuples(st.sampled_from(["http", "https"]), hosts, st.just("") | repositories)))
def test_what_is_written_is_what_is_read(wanted: dict[str, tuple[str, str, str]]) -> None:
    wanted = {host: mirror for host, mirror in wanted.items() if not mirror[2].startswith("v2")}
    entries = [f"{host}={scheme}://{place}/{prefix}" for host, (scheme, place, prefix) in wanted.items()]
    assert mirrors.parse(",".join(entries)) == {host: Mirror(*mirror) for host, mirror in wanted.items()}


@given(st.text(alphabet=st.characters(codec="utf-8")) | st.text("=,:/@[]#?.ab1", max_size=30))
def test_any_text_is_mirrors_or_refused_with_a_sentence(text: str) -> None:
    try:
        assert all(isinstance(mirror, Mirror) for mirror in mirrors.parse(text).values())
    except errors.InvalidSetting as failure:
        assert str(failure).startswith("AIM_REGISTRY_MIRRORS: entry ")


@pytest.mark.parametrize(
    ("registry", "host", "schemes"),
    [
        pytest.param("ghcr.io", "ghcr.io", ("https",), id="a public registry"),
        pytest.param("docker.io", "registry-1.docker.io", ("https",), id="Docker Hub answers elsewhere"),
        pytest.param("localhost:5000", "localhost:5000", ("https", "http"), id="this machine"),
        pytest.param("localhost", "localhost", ("https", "http"), id="this machine without a port"),
        pytest.param("registry.local", "registry.local", ("https", "http"), id=".local"),
        pytest.param("a.localhost:1", "a.localhost:1", ("https", "http"), id=".localhost"),
        pytest.param("127.0.0.1:5000", "127.0.0.1:5000", ("https", "http"), id="a loopback address"),
        pytest.param("[::1]:5000", "[::1]:5000", ("https", "http"), id="the IPv6 one"),
        pytest.param("10.1.2.3", "10.1.2.3", ("https", "http"), id="a private network"),
        pytest.param("172.16.0.1", "172.16.0.1", ("https", "http"), id="another one"),
        pytest.param("192.168.9.9:80", "192.168.9.9:80", ("https", "http"), id="a third one"),
        pytest.param("172.32.0.1", "172.32.0.1", ("https",), id="just outside a private network"),
        pytest.param("notlocal", "notlocal", ("https",), id="a name that only ends like one"),
        pytest.param("8.8.8.8:5000", "8.8.8.8:5000", ("https",), id="a public address"),
    ],
)
def test_where_a_registry_is_read_without_mirrors(registry: str, host: str, schemes: tuple[str, ...]) -> None:
    place = endpoint.of(registry, {})
    assert (place.host, place.schemes, place.mirrored) == (host, schemes, False)


def test_where_a_registry_is_read_with_a_mirror() -> None:
    place = endpoint.of("ghcr.io", mirrors.parse("ghcr.io=http://mirror.example/a/b"))
    assert (place.registry, place.host, place.schemes) == ("ghcr.io", "mirror.example", ("http",))
    assert place.path("acme/aim") == "a/b/acme/aim"
    assert place.name("a/b/acme/aim") == "acme/aim"
    assert place.name("a/bc/aim") is None
