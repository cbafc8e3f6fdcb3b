"""No credential reaches what people read, and nothing else is touched."""

import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aim_engine.core import masking

AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "401 for hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567.", "401 for hf_***.", id="Hugging Face token in a sentence"
        ),
        pytest.param("xhf_abcdefghijklmnopqrstx", "xhf_***", id="Hugging Face token glued to letters"),
        pytest.param("HF_TOKEN=secret", "HF_TOKEN=***", id="token variable with any value"),
        pytest.param("key AKIAIOSFODNN7EXAMPLE was refused", "key *** was refused", id="AWS access key id"),
        pytest.param(f"({AWS_SECRET})", "(***)", id="AWS secret key alone"),
        pytest.param(f"aws_secret_access_key = {AWS_SECRET}", "aws_secret_access_key = ***", id="AWS credentials file"),
        pytest.param(
            "> Authorization: Bearer abc\n> Host: h", "> Authorization: Bearer ***\n> Host: h", id="bearer header"
        ),
        pytest.param(
            '"Authorization": "Basic dXNlcjpwYXNz"', '"Authorization": "Basic ***"', id="basic header in JSON"
        ),
        pytest.param("sent Basic dXNlcjpwYXNz", "sent Basic ***", id="basic credentials without their header"),
        pytest.param(
            "GET https://me:p@ss/w@host/x", "GET https://***@ss/w@host/x", id="slash ends the user part of a URL"
        ),
        pytest.param("https://me:p@ss@host/x", "https://***@host/x", id="password with an at sign in a URL"),
        pytest.param(
            "https://b.s3/k?X-Amz-Credential=A&X-Amz-Date=1&X-Amz-Signature=0ff",
            "https://b.s3/k?X-Amz-Credential=***&X-Amz-Date=1&X-Amz-Signature=***",
            id="signed URL keeps its harmless parameters",
        ),
        pytest.param('{"token": "a\\"b", "n": 1}', '{"token": "***", "n": 1}', id="JSON field with an escaped quote"),
        pytest.param("{'hf_token': 'ab', 'n': 1}", "{'hf_token': '***', 'n': 1}", id="Python dict"),
        pytest.param(
            '{\\"password\\":\\"ab\\",\\"n\\":1}', '{\\"password\\":\\"***\\",\\"n\\":1}', id="JSON inside JSON"
        ),
        pytest.param('{"password": 1234}', '{"password": ***}', id="number as a password"),
        pytest.param('{"auth": "dXNlcjpwYXNz"', '{"auth": "***"', id="docker config, cut off"),
        pytest.param("a:\n  password: hunter\nb: c", "a:\n  password: ***\nb: c", id="YAML line"),
        pytest.param("invalid token: abc12345xyz", "invalid token: ***", id="token quoted in a sentence"),
        pytest.param("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln end", "*** end", id="service account token"),
        pytest.param("ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_***", id="GitHub token"),
        pytest.param(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nnext",
            "-----BEGIN RSA PRIVATE KEY-----***\nnext",
            id="private key block",
        ),
    ],
)
def test_a_credential_is_taken_out(text: str, expected: str) -> None:
    assert masking.masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All components are ready",
        "Basic authentication required",
        "error in authorization: access denied",
        "the bearer token has expired, set HF_TOKEN environment variable",
        "Downloading with hf_transfer, hf_xet and hf_overrides, HF_HUB_ENABLE_HF_TRANSFER=1",
        "max_tokens=4096 and token=None in hf_hub_download(token=None)",
        "ghcr.io/acme/aim@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709 of hf://Qwen/Qwen2-0.5B",
        'imagePullSecret "team-pull-secret" not found in namespace "ml-team"',
        "Repository Not Found: acme/tiny",
        "S3 error: 403 (AccessDenied)",
        "token: expired, please log in again",
        "/workspace/model-cache/Qwen/Qwen2-0.5B/model-00001-of-00002.safetensors",
        "Container discovery failed with exit code 1: no space left on device",
        "s3://bucket/path?versionId=3 and https://huggingface.co/acme/tiny/resolve/main/config.json",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert masking.masked(text) == text


ALNUM = string.ascii_letters + string.digits
BASE64 = ALNUM + "/+"


def _words(alphabet: str, at_least: int, at_most: int) -> st.SearchStrategy[str]:
    return st.text(alphabet=alphabet, min_size=at_least, max_size=at_most)


def _mixed(alphabet: str, size: int) -> st.SearchStrategy[str]:
    """Text that has upper case, lower case and a digit, as real keys do."""
    return st.builds(
        lambda rest, order: "".join(order.sample([*rest, "K", "k", "7"], size)),
        _words(alphabet, size - 3, size - 3),
        st.randoms(use_true_random=False),
    )


SHAPES = {
    "hf_{}": _words(ALNUM, 34, 34),
    "AKIA{}": _words(string.ascii_uppercase + string.digits, 16, 16),
    " {} ": _mixed(BASE64, 40),
    "Authorization: Bearer {}": _words(ALNUM + "._~+/-", 8, 80),
    "authorization: basic {}==": _words(BASE64, 8, 80),
    "Bearer {}": _mixed(ALNUM + "._~+/-", 24),
    "https://user:{}@example.com/path": _words(ALNUM + "!$()*+,;:@%", 8, 40),
    "https://h/p?a=b&X-Amz-Signature={}&c=d": _words("0123456789abcdef", 64, 64),
    "https://h/p?X-Amz-Security-Token={} ": _words(ALNUM + "%", 8, 200),
    " AWS_SECRET_ACCESS_KEY={} ": _words(BASE64, 8, 40),
    ' "token": "{}", ': _words(ALNUM + " :;,&=/+-", 8, 40),
    " 'password': '{}' ": _words(ALNUM + " :;,&=/+-", 8, 40),
    ' \\"secret\\": \\"{}\\" ': _words(ALNUM + " :;,&=/+-", 8, 40),
}


@settings(max_examples=300, deadline=None)
@given(before=st.text(max_size=60), after=st.text(max_size=60), shape=st.sampled_from(sorted(SHAPES)), data=st.data())
def test_no_secret_survives_in_any_surrounding_text(before: str, after: str, shape: str, data: st.DataObject) -> None:
    secret = data.draw(SHAPES[shape].filter(lambda text: text not in before + after))
    assert secret not in masking.masked(f"{before}\n{shape.format(secret)}{after}")


FRAGMENTS = (
    *("token", "password", "secret_key", "auth", "Authorization", "Bearer ", "hf_", "1", "***"),
    *("=", ":", '"', "'", "\\", "\n", " ", "&", "?", "://", "@"),
    *("AKIAIOSFODNN7EXAMPLE", AWS_SECRET, "hf_abcdefghijklmnopqrst", "eyJhbGciOiJSUzI1NiJ9.e"),
)


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(st.one_of(st.text(max_size=30), st.sampled_from(FRAGMENTS)), max_size=12))
@example(pieces=["://", "\x1b", AWS_SECRET, "@"])
@example(pieces=["://token:aa/aaaaa1\\@"])
@example(pieces=["-----BEGIN PRIVATE KEY-----", "x", "-----END PRIVATE KEY-----", " next"])
def test_masking_twice_is_masking_once(pieces: list[str]) -> None:
    once = masking.masked("".join(pieces))
    assert masking.masked(once) == once


@given(words=st.lists(st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=12), max_size=20))
def test_plain_words_are_never_masked(words: list[str]) -> None:
    text = ", ".join(words)
    assert masking.masked(text) == text


def test_a_condition_message_is_cut_to_its_limit() -> None:
    assert len(masking.message("x" * 40000)) == 32768
    assert masking.message("x" * 32768) == "x" * 32768


def test_an_excerpt_keeps_the_end_of_the_log() -> None:
    shown = masking.excerpt("x" * 5000 + "the cause")
    assert len(shown) == masking.EXCERPT_LIMIT
    assert shown.startswith("…") and shown.endswith("the cause")


def test_a_token_at_the_cut_is_masked_before_the_cut() -> None:
    text = "x" * (32768 - 12) + " hf_abcdefghijklmnopqrstuvwxyz0123456789"
    assert "hf_a" not in masking.message(text)
