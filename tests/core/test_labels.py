"""Which labels reach children, and by which they are found."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.runtime_config import LabelPropagation
from aim_engine.core import globs, labels
from aim_engine.core.parent import Parent
from aim_engine.objects import Manifest, ObjectMeta


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        pytest.param("org.example/team", "org.example/team", True, id="exact key"),
        pytest.param("org.example/team", "org.example/teams", False, id="the whole key must fit"),
        pytest.param("org.example/*", "org.example/team", True, id="star after a prefix"),
        pytest.param("org.example/*", "org.example/", True, id="star may be empty"),
        pytest.param("compliance.*/severity", "compliance.sec/severity", True, id="star inside"),
        pytest.param("*", "team", True, id="star alone fits keys without a slash"),
        pytest.param("*", "org.example/team", False, id="star never fits a slash"),
        pytest.param("*/*", "org.example/team", True, id="a slash is written out"),
        pytest.param("team-?", "team-a", True, id="question mark"),
        pytest.param("org?team", "org/team", False, id="question mark never fits a slash"),
        pytest.param("org.example/te", "orgXexample/te", False, id="a dot is a dot"),
        pytest.param("team-[abc]", "team-b", True, id="class"),
        pytest.param("team-[a-c]x", "team-dx", False, id="range"),
        pytest.param("team-[^a]", "team-b", True, id="negated class"),
        pytest.param("org[^a]team", "org/team", False, id="negated class never fits a slash"),
        pytest.param("[!a]", "!", True, id="exclamation mark is itself"),
        pytest.param(r"a\*", "a*", True, id="escaped star"),
        pytest.param(r"a\*", "ab", False, id="escaped star fits only a star"),
        pytest.param(r"[\]]", "]", True, id="escaped bracket in a class"),
        pytest.param("Team", "team", False, id="case matters"),
        pytest.param("[", "[", False, id="class without an end is invalid"),
        pytest.param("[]a]", "a", False, id="empty class is invalid"),
        pytest.param("[b-a]", "a", False, id="range upside down is invalid"),
        pytest.param("[-a]", "-", False, id="dash at the start of a class is invalid"),
        pytest.param("a\\", "a\\", False, id="backslash at the end is invalid"),
    ],
)
def test_pattern(pattern: str, key: str, expected: bool) -> None:
    assert globs.matches(pattern, key) is expected


TEXT = st.text(alphabet=string.ascii_letters + "-._/*?[]^\\", max_size=12)


@given(TEXT, TEXT)
def test_any_pattern_answers_and_wildcards_never_cross_a_slash(pattern: str, key: str) -> None:
    if globs.matches(pattern, key) and "[" not in pattern:
        assert pattern.count("/") == key.count("/")


@given(TEXT)
def test_a_key_with_everything_escaped_fits_only_itself(key: str) -> None:
    escaped = "".join(f"\\{character}" for character in key)
    assert globs.matches(escaped, key) and not globs.matches(escaped, f"{key}x")


PARENT_LABELS = {
    "aim.eai.amd.com/service.name": "chat",
    "org.example/team": "ml",
    "org.example/cost": "42",
    "plain": "yes",
}


@pytest.mark.parametrize(
    ("propagation", "expected"),
    [
        pytest.param(None, {"aim.eai.amd.com/service.name"}, id="no config: only the operator's own"),
        pytest.param(
            LabelPropagation(match=("*/*",)), {"aim.eai.amd.com/service.name"}, id="not enabled: patterns do not count"
        ),
        pytest.param(LabelPropagation(enabled=True), {"aim.eai.amd.com/service.name"}, id="enabled without patterns"),
        pytest.param(
            LabelPropagation(enabled=True, match=("org.example/t*", "[", "plain")),
            {"aim.eai.amd.com/service.name", "org.example/team", "plain"},
            id="an invalid pattern is passed over",
        ),
    ],
)
def test_what_propagates(propagation: LabelPropagation | None, expected: set[str]) -> None:
    assert labels.propagated(PARENT_LABELS, propagation) == {key: PARENT_LABELS[key] for key in expected}


def parent(name: str = "chat", **own: str) -> Parent:
    return Parent("AIMService", "service", ObjectMeta(name=name, namespace="ml-team", uid="u1", labels=own))


def child(kind: str = "HTTPRoute", **own: str) -> Manifest:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": "ml-team", "labels": own}}


def test_a_child_is_labelled_with_who_made_it_and_for_what() -> None:
    assert labels.dressed(child(), parent(), None)["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "aim-service-controller",
        "aim.eai.amd.com/service.name": "chat",
    }


def test_what_a_child_says_itself_wins() -> None:
    own = {"app.kubernetes.io/managed-by": "aim-engine", "team": "mine"}
    propagation = LabelPropagation(enabled=True, match=("*",))
    dressed = labels.dressed(child(**own), parent(team="theirs", cost="7"), propagation)
    assert dressed["metadata"]["labels"] == {"aim.eai.amd.com/service.name": "chat", "cost": "7", **own}


def test_a_child_without_labels_gets_some() -> None:
    bare: Manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}
    assert labels.dressed(bare, parent(), None)["metadata"]["labels"]["aim.eai.amd.com/service.name"] == "chat"


def test_pods_of_a_job_get_the_labels_too_but_not_managed_by() -> None:
    job = child("Job") | {"spec": {"backoffLimit": 0, "template": {"metadata": {"labels": {"own": "1"}}, "spec": {}}}}
    dressed = labels.dressed(job, parent(team="ml"), LabelPropagation(enabled=True, match=("team",)))
    assert dressed["spec"]["template"] == {
        "metadata": {"labels": {"aim.eai.amd.com/service.name": "chat", "team": "ml", "own": "1"}},
        "spec": {},
    }
    assert dressed["spec"]["backoffLimit"] == 0
    assert dressed["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "aim-service-controller"


def test_a_parent_name_that_is_no_label_value_is_made_one() -> None:
    name = "a" * 70
    assert labels.dressed(child(), parent(name), None)["metadata"]["labels"]["aim.eai.amd.com/service.name"] == "a" * 63


def test_dressing_leaves_the_planned_manifest_alone() -> None:
    planned = child()
    labels.dressed(planned, parent(), None)
    assert planned == child()
