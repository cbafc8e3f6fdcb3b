"""Image references as users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.core import images
from aim_engine.core.images import Image, ImageParts, InvalidImage

DIGEST = "sha256:abcdef0123456789"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("busybox", Image("docker.io", "library/busybox"), id="a bare name is Docker Hub's library"),
        pytest.param("acme/aim:1", Image("docker.io", "acme/aim", "1"), id="no registry means Docker Hub"),
        pytest.param("docker.io/aim:1", Image("docker.io", "library/aim", "1"), id="Docker Hub written out"),
        pytest.param("ghcr.io/acme/aim", Image("ghcr.io", "acme/aim"), id="no tag gains none"),
        pytest.param("localhost/aim:1", Image("localhost", "aim", "1"), id="localhost is a registry"),
        pytest.param("host:5000/aim", Image("host:5000", "aim"), id="a port is no tag"),
        pytest.param("host:5000/a/b/c:t", Image("host:5000", "a/b/c", "t"), id="port, path and tag"),
        pytest.param(f"acme/aim@{DIGEST}", Image("docker.io", "acme/aim", None, DIGEST), id="digest"),
        pytest.param(f"acme/aim:1@{DIGEST}", Image("docker.io", "acme/aim", "1", DIGEST), id="tag and digest"),
        pytest.param("  acme/aim:1 ", Image("docker.io", "acme/aim", "1"), id="blanks around it"),
    ],
)
def test_parse(written: str, expected: Image) -> None:
    assert images.parse(written) == expected


@pytest.mark.parametrize(
    ("written", "why"),
    [
        pytest.param("", "the image is empty", id="empty"),
        pytest.param("acme/aim:", "the tag after ':' is empty", id="colon without a tag"),
        pytest.param("acme/aim@", "nothing follows '@'", id="at sign without a digest"),
        pytest.param(
            "acme/aim@abc", "the digest 'abc' is not of the form algorithm:hex", id="digest without algorithm"
        ),
        pytest.param(
            "acme/aim@sha256:", "the digest 'sha256:' is not of the form algorithm:hex", id="digest without hex"
        ),
        pytest.param("ghcr.io/", "the repository is empty", id="registry only"),
        pytest.param("acme//aim", "the repository is empty", id="empty path element"),
        pytest.param("acme/___:1", "the name has no letter or digit", id="nothing of the name can be kept"),
        pytest.param("acme/aim:_", "the tag has no letter or digit", id="nothing of the tag can be kept"),
    ],
)
def test_what_cannot_be_read_says_why(written: str, why: str) -> None:
    problem = images.parts(written)
    assert problem == InvalidImage(written, why)
    assert problem.message == f'invalid image URI "{written}": {why}'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(
            "Registry.Example.com/org/AIM__dummy:0.1.10", ("registry-example-com", "aim-dummy", "0-1-10"), id="cleaned"
        ),
        pytest.param("org/aim", ("docker-io", "aim", "latest"), id="no tag is latest"),
        pytest.param(f"org/aim@{DIGEST}", ("docker-io", "aim", "abcdef"), id="six characters of a digest"),
    ],
)
def test_parts_for_a_name(written: str, expected: tuple[str, str, str]) -> None:
    assert images.parts(written) == ImageParts(*expected)


@given(st.text(max_size=80))
def test_any_text_is_an_image_or_says_why_not(written: str) -> None:
    parsed = images.parse(written)
    assert isinstance(parsed, Image) or parsed.message.startswith("invalid image URI")


SEGMENT = st.from_regex(r"[a-z0-9]+([._-][a-z0-9]+)*", fullmatch=True)


@given(
    SEGMENT,
    st.lists(SEGMENT, min_size=1, max_size=3),
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True),
)
def test_what_was_put_together_is_found_again(host: str, path: list[str], tag: str) -> None:
    assert images.parse(f"{host}.io:443/{'/'.join(path)}:{tag}") == Image(f"{host}.io:443", "/".join(path), tag)
