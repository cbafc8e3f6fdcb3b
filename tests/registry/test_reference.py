"""Image references as users write them."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from aim_engine.core import images
from aim_engine.core.images import Image
from aim_engine.registry import errors, reference
from aim_engine.registry.reference import Reference

DIGEST = "sha256:" + "0123456789abcdef" * 4

words = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
components = st.lists(words, min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from([".", "_", "__", "-", "--"]).map(lambda separator: separator.join(parts))
)
repositories = st.lists(components, min_size=1, max_size=4).map("/".join)
tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
ports = st.one_of(st.just(""), st.integers(1, 65535).map(lambda port: f":{port}"))
names = st.lists(words, min_size=2, max_size=4).map(".".join)
hosts = st.one_of(st.sampled_from(["localhost", "[::1]", "10.0.0.5"]), names).flatmap(
    lambda host: ports.map(lambda port: "[::1]:1" if host == "[::1]" and not port else host + port)
)
digests = st.one_of(st.just(""), st.text("0123456789abcdef", min_size=64, max_size=64).map(lambda d: f"sha256:{d}"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("ubuntu", Reference("docker.io", "library/ubuntu", "latest"), id="one word is Docker Hub's own"),
        pytest.param("acme/aim", Reference("docker.io", "acme/aim", "latest"), id="no registry is Docker Hub"),
        pytest.param("acme/aim:1.0", Reference("docker.io", "acme/aim", "1.0"), id="a tag"),
        pytest.param("ghcr.io/acme/aim:1.0", Reference("ghcr.io", "acme/aim", "1.0"), id="a registry"),
        pytest.param("ghcr.io/aim", Reference("ghcr.io", "aim", "latest"), id="one word elsewhere is not library's"),
        pytest.param("localhost/aim", Reference("localhost", "aim", "latest"), id="this machine"),
        pytest.param("localhost:5000/aim:2", Reference("localhost:5000", "aim", "2"), id="this machine with a port"),
        pytest.param("[::1]:5000/aim", Reference("[::1]:5000", "aim", "latest"), id="an IPv6 address"),
        pytest.param("registry:5000/aim", Reference("registry:5000", "aim", "latest"), id="a port makes it a registry"),
        pytest.param("registry/aim", Reference("docker.io", "registry/aim", "latest"), id="a word is no registry"),
        pytest.param("host:5000", Reference("docker.io", "library/host", "5000"), id="without a slash it is a tag"),
        pytest.param("GHCR.io/acme/aim", Reference("ghcr.io", "acme/aim", "latest"), id="hosts in any case"),
        pytest.param("index.docker.io/ubuntu", Reference("docker.io", "library/ubuntu", "latest"), id="an alias"),
        pytest.param("registry-1.docker.io/a/b", Reference("docker.io", "a/b", "latest"), id="another alias"),
        pytest.param(f"acme/aim@{DIGEST}", Reference("docker.io", "acme/aim", "", DIGEST), id="a digest"),
        pytest.param(f"acme/aim:1@{DIGEST}", Reference("docker.io", "acme/aim", "1", DIGEST), id="tag and digest"),
        pytest.param("  acme/aim:1.0\n", Reference("docker.io", "acme/aim", "1.0"), id="blanks around it"),
    ],
)
def test_what_an_image_means(text: str, expected: Reference) -> None:
    assert reference.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "repository", id="nothing"),
        pytest.param("acme/aim:", "tag ''", id="an empty tag"),
        pytest.param("acme/aim:-1", "tag '-1'", id="a tag that begins with a dash"),
        pytest.param("acme/Aim", "repository 'acme/Aim'", id="capital letters"),
        pytest.param("acme//aim", "repository", id="an empty segment"),
        pytest.param("ghcr.io/../v2/aim", "repository", id="a way out of the path"),
        pytest.param("acme/aim?x=1", "repository", id="a query"),
        pytest.param("acme/aim@sha256:123", "digest 'sha256:123'", id="a short digest"),
        pytest.param("acme/aim@", "digest ''", id="an empty digest"),
        pytest.param(f"acme/aim@md5:{'0' * 32}", "digest", id="an unknown kind of digest"),
        pytest.param("host:99999/aim", "registry 'host:99999'", id="a port that is none"),
        pytest.param("[:::]/aim", "registry '[:::]'", id="an IPv6 address that is none"),
        pytest.param(f"{'a' * 64}.io/aim", "registry", id="a part of a host that is too long"),
        pytest.param("-.io/aim", "registry '-.io'", id="a host that is none"),
        pytest.param("https://ghcr.io/acme/aim", "registry 'https:'", id="an address instead of a name"),
        pytest.param("a/" * 200 + "b", "repository", id="too long"),
    ],
)
def test_what_is_no_image(text: str, words: str) -> None:
    with pytest.raises(errors.InvalidReference, match="cannot be read") as failure:
        reference.parse(text)
    assert words in str(failure.value)


@given(hosts, repositories, tags, digests)
def test_a_full_name_means_itself(host: str, repository: str, tag: str, digest: str) -> None:
    written = f"{host}/{repository}:{tag}{f'@{digest}' if digest else ''}"
    parsed = reference.parse(written)
    assert parsed == Reference(host, repository, tag, digest)
    assert parsed.wanted == (digest or tag)
    assert reference.parse(str(parsed)).wanted == parsed.wanted


@given(st.text())
def test_any_text_is_an_image_or_refused_with_a_sentence(text: str) -> None:
    try:
        parsed = reference.parse(text)
    except errors.InvalidReference as failure:
        assert "\n" not in str(failure) or "\n" in repr(text)
    else:
        assert reference.is_registry(parsed.registry)
        assert reference.is_repository(parsed.repository)
        assert parsed.wanted
        assert URL(f"https://{parsed.registry}/v2/").host


@given(st.text("[]:.abf0195-", max_size=20))
def test_any_registry_that_is_taken_is_an_address(host: str) -> None:
    if reference.is_registry(host):
        assert URL(f"https://{host}/v2/").host


@given(hosts, repositories, tags, digests)
def test_names_are_read_here_as_where_names_of_models_come_from(
    host: str, repository: str, tag: str, digest: str
) -> None:
    written = f"{host}/{repository}:{tag}{f'@{digest}' if digest else ''}"
    there, here = images.parse(written), reference.parse(written)
    assert isinstance(there, Image)
    assert (there.registry, there.repository, there.reference) == (here.registry, here.repository, here.wanted)
