"""Manifests, configurations and challenges as values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy
from tests.registry.test_credentials import documents as any_json
from yarl import URL

from aim_engine.registry import documents
from aim_engine.registry.authorization import Challenge, challenges
from aim_engine.registry.documents import DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST, Descriptor, Platform, Unsuitable
from aim_engine.registry.exchange import Answer
from aim_engine.registry.limits import Limits
from aim_engine.registry.transport import rate_limit_pause

NOW = 1_700_000_000.0


def entry(name: str, platform: Platform | None, media_type: str = OCI_MANIFEST) -> Descriptor:
    return Descriptor(media_type, f"sha256:{name * 64}", platform)


@pytest.mark.parametrize(
    ("entries", "chosen"),
    [
        pytest.param([entry("a", Platform("linux", "arm64")), entry("b", Platform("linux", "amd64"))], "b", id="ours"),
        pytest.param(
            [entry("a", Platform("linux", "amd64", "v3")), entry("b", Platform("linux", "amd64"))], "b", id="plain"
        ),
        pytest.param([entry("a", Platform("linux", "amd64", "v2"))], "a", id="a variant if there is nothing else"),
        pytest.param([entry("a", None), entry("b", Platform("linux", "amd64"))], "b", id="named before unnamed"),
        pytest.param([entry("a", None)], "a", id="an unnamed one alone"),
        pytest.param([entry("a", Platform("linux", "amd64"), DOCKER_MANIFEST)], "a", id="Docker's type"),
        pytest.param([entry("a", Platform("linux", "amd64")), entry("b", Platform("linux", "amd64"))], "a", id="first"),
    ],
)
def test_the_platform_of_an_index(entries: list[Descriptor], chosen: str) -> None:
    assert documents.platform_digest(tuple(entries)) == f"sha256:{chosen * 64}"


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([], id="nothing"),
        pytest.param([entry("a", Platform("windows", "amd64"))], id="another system"),
        pytest.param([entry("a", Platform("unknown", "unknown"))], id="an attestation"),
        pytest.param([entry("a", Platform("linux", "amd64"), OCI_INDEX)], id="an index in an index"),
        pytest.param([Descriptor(OCI_MANIFEST, "../etc", None)], id="no digest"),
    ],
)
def test_an_index_without_an_image_for_us(entries: list[Descriptor]) -> None:
    with pytest.raises(Unsuitable):
        documents.platform_digest(tuple(entries))


CONFIG = {"mediaType": documents.OCI_CONFIG, "digest": f"sha256:{'a' * 64}", "size": 1}


@pytest.mark.parametrize(
    ("body", "content_type", "taken"),
    [
        pytest.param({"config": CONFIG, "mediaType": OCI_MANIFEST}, "text/plain", True, id="the body says what it is"),
        pytest.param({"config": CONFIG}, f"{OCI_MANIFEST}; charset=utf-8", True, id="the header says it"),
        pytest.param({"config": CONFIG}, "application/json", True, id="neither, but it is plain to see"),
        pytest.param({"manifests": []}, "", True, id="an index without a type"),
        pytest.param({"config": CONFIG}, OCI_INDEX, False, id="the header says something else"),
        pytest.param({"config": CONFIG, "manifests": []}, "application/json", False, id="both in one"),
        pytest.param({}, "application/json", False, id="neither in it"),
        pytest.param({"config": CONFIG}, "application/vnd.cncf.helm", False, id="another kind of document"),
    ],
)
def test_what_is_taken_for_a_manifest(body: dict[str, object], content_type: str, taken: bool) -> None:
    content = json.dumps({"schemaVersion": 2, **body}).encode()
    if taken:
        assert documents.read_manifest(content, content_type)
    else:
        with pytest.raises(Unsuitable, match="no container image"):
            documents.read_manifest(content, content_type)


@given(st.dictionaries(st.text(), st.text()))
def test_labels_come_out_as_they_went_in(labels: dict[str, str]) -> None:
    content = json.dumps({"architecture": "amd64", "config": {"Env": ["A=b"], "Labels": labels}}).encode()
    assert documents.read_labels(content) == labels


@given(any_json | any_json.map(lambda labels: {"config": {"Labels": labels}}))
def test_any_configuration_is_labels_or_refused(document: object) -> None:
    try:
        labels = documents.read_labels(json.dumps(document).encode())
    except Unsuitable:
        return
    assert all(isinstance(text, str) for pair in labels.items() for text in pair)


@given(st.binary() | any_json.map(lambda document: json.dumps(document).encode()), st.sampled_from([OCI_MANIFEST, ""]))
def test_any_manifest_is_one_or_refused(content: bytes, content_type: str) -> None:
    try:
        manifest = documents.read_manifest(content, content_type)
    except Unsuitable:
        return
    assert (manifest.manifests is None) != (manifest.config is None)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param(
            ['Bearer realm="https://a.example/token",service="s",scope="repository:acme/aim:pull,push"'],
            [Challenge("bearer", "https://a.example/token", "s", "repository:acme/aim:pull,push")],
            id="a token",
        ),
        pytest.param(['Basic realm="a registry"'], [Challenge("basic", "a registry")], id="a password"),
        pytest.param(
            ['Basic realm="r", Bearer realm="https://a.example",service=s'],
            [Challenge("bearer", "https://a.example", "s"), Challenge("basic", "r")],
            id="both in one header, the token first",
        ),
        pytest.param(
            ['basic Realm="r"', 'BEARER realm="https://a.example"'],
            [Challenge("bearer", "https://a.example"), Challenge("basic", "r")],
            id="both, in any case",
        ),
        pytest.param(['Negotiate, NTLM, Digest realm="x", nonce="y"'], [], id="none that we know"),
        pytest.param(['Bearer realm="say \\"hi\\"" , x=1'], [Challenge("bearer", 'say "hi"')], id="quoted quotes"),
        pytest.param(["", "Bearer", "realm=alone"], [Challenge("bearer")], id="almost nothing"),
    ],
)
def test_what_a_registry_wants_to_hear(headers: list[str], expected: list[Challenge]) -> None:
    assert list(challenges(headers)) == expected


@given(st.lists(st.text()))
def test_any_header_is_read(headers: list[str]) -> None:
    assert {challenge.scheme for challenge in challenges(headers)} <= {"bearer", "basic"}


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        pytest.param(200, {"Retry-After": "5"}, None, id="no refusal"),
        pytest.param(403, {}, None, id="a refusal for another reason"),
        pytest.param(403, {"X-RateLimit-Remaining": "17"}, None, id="a quota with something left"),
        pytest.param(429, {}, 60, id="no time given"),
        pytest.param(429, {"Retry-After": "5"}, 5, id="seconds"),
        pytest.param(429, {"Retry-After": "0"}, 1, id="at least one second"),
        pytest.param(429, {"Retry-After": "-5"}, 60, id="no number"),
        pytest.param(429, {"Retry-After": "Tue, 14 Nov 2023 22:14:20 GMT"}, 60, id="a date"),
        pytest.param(429, {"Retry-After": "Tue, 14 Nov 2023 22:10:00 GMT"}, 1, id="a date that is over"),
        pytest.param(429, {"X-Retry-After": "1700000030"}, 30, id="Docker Hub's own header"),
        pytest.param(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000040"}, 40, id="GitHub's own"),
        pytest.param(429, {"Retry-After": "1000000"}, 3600, id="never longer than an hour"),
    ],
)
def test_how_long_a_registry_is_left_alone(status: int, headers: dict[str, str], seconds: float | None) -> None:
    answer = Answer(URL("http://a.example"), status, CIMultiDictProxy(CIMultiDict(headers)), b"")
    assert rate_limit_pause(answer, Limits(), NOW) == seconds
