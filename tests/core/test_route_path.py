"""A path template becomes a path that gateways accept, or a reason its author understands."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from aim_engine.core import route_path
from aim_engine.core.route_path import InvalidPath

ACCEPTED = re.compile(r"^(/|(/(?:[a-z0-9._~-]|%[0-9A-F]{2})+)+)$")


def service(**metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "qwen-chat", "namespace": "ml-team", "uid": "12345678-90ab", **metadata},
        "spec": {
            "model": {"name": "llama"},
            "replicas": 2,
            "cacheModel": True,
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        },
        "status": {"resolvedModel": {"name": "llama-3.1-8b"}, "routing": None},
    }


@pytest.mark.parametrize(
    ("template", "metadata", "path"),
    [
        pytest.param(
            "/{.metadata.namespace}/{.metadata.labels['org.example/workload-id']}/",
            {"labels": {"org.example/workload-id": "Workload-42"}},
            "/ml-team/workload-42",
            id="a label whose key holds dots and a slash, lower-cased, trailing slash gone",
        ),
        pytest.param(
            "/{.metadata.annotations['route.suffix']}",
            {"annotations": {"route.suffix": "Team-A/B"}},
            "/team-a/b",
            id="a slash inside a value separates segments",
        ),
        pytest.param('/{.metadata.labels["team"]}', {"labels": {"team": "x"}}, "/x", id="double quotes around the key"),
        pytest.param(
            "/{.metadata.namespace}/{.status.resolvedModel.name}", {}, "/ml-team/llama-3.1-8b", id="status is readable"
        ),
        pytest.param(
            "/ml//{.metadata.labels['team']}/V1.0/",
            {"labels": {"team": "R_D"}},
            "/ml/r_d/v1.0",
            id="repeated slashes collapse and static text is lower-cased",
        ),
        pytest.param(
            "/{.metadata.annotations['dept']}",
            {"annotations": {"dept": "Forschung & Lehre"}},
            "/forschung%20%26%20lehre",
            id="other characters are percent-encoded",
        ),
        pytest.param("/custom/{.metadata.name}", {}, "/custom/qwen-chat", id="a plain field"),
        pytest.param("/{ .metadata.name }", {}, "/qwen-chat", id="blanks around an expression"),
        pytest.param("fixed", {}, "/fixed", id="no placeholder and no leading slash"),
        pytest.param("//", {}, "/", id="only slashes"),
        pytest.param(None, {}, "/ml-team/12345678-90ab", id="no template"),
        pytest.param("", {}, "/ml-team/12345678-90ab", id="an empty template"),
        pytest.param("/{.spec.replicas}/{.spec.cacheModel}", {}, "/2/true", id="numbers and truth values"),
        pytest.param("/{.spec.env[?(@.name=='B')].value}", {}, "/2", id="a filter that finds one"),
        pytest.param(
            r"/{.metadata.labels.app\.kubernetes\.io/name}",
            {"labels": {"app.kubernetes.io/name": "Chat"}},
            "/chat",
            id="dots of a key escaped as kubectl takes them",
        ),
    ],
)
def test_a_template_renders(template: str | None, metadata: dict[str, Any], path: str) -> None:
    assert route_path.render(template, service(**metadata)) == path


@pytest.mark.parametrize(
    ("template", "why"),
    [
        pytest.param("/{.metadata.labels['team']}", 'label "team" not found', id="label missing"),
        pytest.param("/{.metadata.annotations['a/b']}", 'annotation "a/b" not found', id="annotation missing"),
        pytest.param("/{.spec.aimImageName}", "{.spec.aimImageName} is not set on the service", id="no such field"),
        pytest.param("/{.status.routing}", "{.status.routing} is not set on the service", id="a null"),
        pytest.param("/{.spec.env[*].name}", "{.spec.env[*].name} has 2 values; a path takes one", id="two values"),
        pytest.param(
            "/{.spec.model}", "{.spec.model} is no plain value; name one field below it", id="an object, not a value"
        ),
        pytest.param("/a/../b", 'route path has a segment "..", which gateways refuse', id="dots that climb"),
        pytest.param("   ", "route template produced an empty path", id="blank"),
        pytest.param(
            "/{.metadata.name", '"{" belongs to no placeholder; write one as {.metadata.name}', id="not closed"
        ),
        pytest.param("/x}", '"}" belongs to no placeholder; write one as {.metadata.name}', id="never opened"),
        pytest.param(
            "/{{.metadata.name}}", '"{" belongs to no placeholder; write one as {.metadata.name}', id="braces twice"
        ),
        pytest.param("/{}", "{} names no field; write one as {.metadata.name}", id="nothing between the braces"),
        pytest.param("/{ }", "{} names no field; write one as {.metadata.name}", id="a blank between the braces"),
    ],
)
def test_a_wrong_template_says_why(template: str, why: str) -> None:
    assert route_path.render(template, service()) == InvalidPath(why)


def test_braces_in_a_value_are_text() -> None:
    assert route_path.render("/{.metadata.labels['x']}", service(labels={"x": "{a}"})) == "/%7Ba%7D"


def test_a_syntax_error_names_the_expression() -> None:
    refusal = route_path.render("/{.spec.[}", service())
    assert isinstance(refusal, InvalidPath)
    assert refusal.why.startswith("{.spec.[} is no JSONPath expression: ")
    assert "\n" not in refusal.why


def test_a_path_of_201_characters_is_too_long() -> None:
    assert route_path.render("/" + "a" * 199, service()) == "/" + "a" * 199
    assert route_path.render("/" + "a" * 200, service()) == InvalidPath(
        f'route path "/{"a" * 200}" exceeds 200 characters'
    )


@given(some.text(max_size=80))
def test_a_path_of_ours_is_found_again_as_it_is(text: str) -> None:
    rendered = route_path.render(text, service())
    assert isinstance(rendered, InvalidPath) or route_path.comparable(rendered) == rendered


@given(some.text(max_size=80), some.text(max_size=80))
def test_no_template_and_no_value_gives_an_invalid_path(template: str, label: str) -> None:
    rendered = route_path.render(template + "/{.metadata.labels['x']}", service(labels={"x": label}))
    assert isinstance(rendered, InvalidPath) or (ACCEPTED.match(rendered) and len(rendered) <= 200)
    assert not (isinstance(rendered, str) and ("/./" in f"{rendered}/" or "/../" in f"{rendered}/"))
