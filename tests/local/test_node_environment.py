"""Environment, command and arguments of a container as its process gets them."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.local.node import environment
from aim_engine.local.node.downward import Placement
from aim_engine.local.node.environment import Reference
from aim_engine.local.node.errors import ConfigurationError
from aim_engine.local.node.expansion import expand
from aim_engine.local.node.pod_spec import Pod

PLACEMENT = Placement(
    node="mi300x-1", host_address="127.7.1.1", pod_address="127.7.2.9", allocatable={"cpu": "192", "memory": "2Ti"}
)
DATA: Mapping[Reference, Mapping[str, bytes] | None] = {
    Reference("ConfigMap", "settings"): {"MODE": b"fast", "LEVEL": b"3"},
    Reference("Secret", "token"): {"HF_TOKEN": b"hf_x", "binary": b"\xff"},
    Reference("ConfigMap", "absent"): None,
}


def pod(**container: Any) -> Pod:
    manifest = {
        "metadata": {
            "name": "web-0",
            "namespace": "team",
            "uid": "u-1",
            "labels": {"app": "web", "tier": 'a "b"'},
            "annotations": {"note": "hello"},
        },
        "spec": {"serviceAccountName": "runner", "containers": [{"name": "main", **container}]},
    }
    return msgspec.convert(manifest, Pod)


def build(**container: Any) -> environment.Command:
    made = pod(**container)
    return environment.build(made.spec.containers[0], made, DATA, PLACEMENT, {"POD_IP": "127.7.2.9"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("$(A)-$(B)", "1-2", id="every reference is replaced"),
        pytest.param("$(NOBODY)", "$(NOBODY)", id="an unknown name stays as written"),
        pytest.param("$$(A)", "$(A)", id="a doubled dollar escapes"),
        pytest.param("$$$(A)", "$1", id="an escape and a reference"),
        pytest.param("cost: $5 ${A} $", "cost: $5 ${A} $", id="other dollars stay"),
        pytest.param("$(A", "$(A", id="an unclosed reference stays"),
    ],
)
def test_expansion(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == expected


@given(st.text())
def test_escaping_every_dollar_gives_the_text_back(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "1"}) == text


def field(path: str) -> dict[str, Any]:
    return {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}


def resource(name: str, divisor: str = "0") -> dict[str, Any]:
    return {"name": "X", "valueFrom": {"resourceFieldRef": {"resource": name, "divisor": divisor}}}


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        pytest.param(field("metadata.name"), "web-0", id="name"),
        pytest.param(field("metadata.namespace"), "team", id="namespace"),
        pytest.param(field("metadata.uid"), "u-1", id="uid"),
        pytest.param(field("metadata.labels['app']"), "web", id="one label"),
        pytest.param(field("metadata.labels['absent']"), "", id="a label that is not there is empty"),
        pytest.param(field("metadata.annotations['note']"), "hello", id="one annotation"),
        pytest.param(field("spec.nodeName"), "mi300x-1", id="node"),
        pytest.param(field("spec.serviceAccountName"), "runner", id="service account"),
        pytest.param(field("status.podIP"), "127.7.2.9", id="address of the pod"),
        pytest.param(field("status.hostIP"), "127.7.1.1", id="address of the node"),
        pytest.param(resource("limits.cpu"), "2", id="a limit of CPU is rounded up to whole ones"),
        pytest.param(resource("limits.cpu", "1m"), "1500", id="a limit of CPU in thousandths"),
        pytest.param(resource("requests.memory", "1Mi"), "1024", id="a request of memory in Mi"),
        pytest.param(resource("limits.memory", "1Ti"), "2", id="without a limit it is the node's memory"),
        pytest.param(resource("requests.cpu"), "0", id="without a request it is zero"),
        pytest.param(
            {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "MODE"}}}, "fast", id="ConfigMap"
        ),
        pytest.param(
            {"name": "X", "valueFrom": {"secretKeyRef": {"name": "token", "key": "HF_TOKEN"}}}, "hf_x", id="Secret"
        ),
        pytest.param(
            {"name": "X", "valueFrom": {"secretKeyRef": {"name": "token", "key": "gone", "optional": True}}},
            None,
            id="an optional key that is not there leaves the variable out",
        ),
        pytest.param(
            {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "absent", "key": "k", "optional": True}}},
            None,
            id="an optional ConfigMap that is not there leaves the variable out",
        ),
        pytest.param({"name": "X"}, "", id="a variable without a value is empty"),
        pytest.param({"name": "X", "value": "at $(POD_IP)"}, "at 127.7.2.9", id="the pod's address can be referred to"),
    ],
)
def test_value_of_a_variable(variable: dict[str, Any], expected: str | None) -> None:
    resources = {"limits": {"cpu": "1500m"}, "requests": {"memory": "1Gi"}}
    assert build(env=[variable], resources=resources).environment.get("X") == expected


def test_variables_see_the_ones_before_them_and_override_envfrom() -> None:
    made = build(
        envFrom=[{"prefix": "CFG_", "configMapRef": {"name": "settings"}}, {"secretRef": {"name": "token"}}],
        env=[
            {"name": "A", "value": "$(CFG_MODE)"},
            {"name": "B", "value": "$(A)$(C)"},
            {"name": "C", "value": "late"},
            {"name": "CFG_LEVEL", "value": "4"},
        ],
        command=["/serve", "$(A)"],
        args=["--level=$(CFG_LEVEL)", "$$(A)"],
    )
    wanted = {"A": "fast", "B": "fast$(C)", "CFG_MODE": "fast", "CFG_LEVEL": "4", "HF_TOKEN": "hf_x"}
    assert {name: made.environment[name] for name in wanted} == wanted
    assert made.environment["binary"].encode(errors="surrogateescape") == b"\xff"
    assert made.command == ("/serve", "fast")
    assert made.args == ("--level=4", "$(A)")


@pytest.mark.parametrize(
    ("container", "message"),
    [
        pytest.param(
            {"envFrom": [{"configMapRef": {"name": "absent"}}]}, 'configmap "absent" not found', id="ConfigMap missing"
        ),
        pytest.param(
            {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "token", "key": "gone"}}}]},
            "couldn't find key gone in Secret team/token",
            id="key missing",
        ),
        pytest.param({"env": [field("status.phase")]}, "'status.phase' is not offered", id="a field nobody offers"),
    ],
)
def test_what_is_missing_is_named(container: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build(**container)


def test_an_optional_bundle_may_be_missing() -> None:
    assert build(envFrom=[{"configMapRef": {"name": "absent", "optional": True}}]).environment == {
        "POD_IP": "127.7.2.9"
    }


def test_references_are_what_has_to_be_fetched() -> None:
    made = pod(
        envFrom=[{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "b"}}],
        env=[
            {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
            {"name": "Y", "valueFrom": {"secretKeyRef": {"name": "d", "key": "k"}}},
        ],
    )
    expected = {("ConfigMap", "a"), ("Secret", "b"), ("ConfigMap", "c"), ("Secret", "d")}
    assert environment.references(made.spec.containers[0]) == expected
