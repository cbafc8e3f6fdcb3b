"""Which runtime config counts, what it says, and what users see of it."""

from datetime import UTC, datetime

import msgspec
import pytest
import yaml

from aim_engine.api.runtime import ServiceRuntime
from aim_engine.api.runtime_config import AIMClusterRuntimeConfig, AIMRuntimeConfig, RuntimeConfigSpec
from aim_engine.core import conditions, runtime_config
from aim_engine.core.problems import Category
from aim_engine.core.runtime_config import Resolution, Wanted
from aim_engine.objects import Key, Manifest, ObjectMeta

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SOUGHT = Wanted(Key("ml-team", "default"), Key("", "default"))
NAMED = Wanted(Key("ml-team", "mine"), Key("", "mine"))


def spec_of(text: str) -> RuntimeConfigSpec:
    return msgspec.convert(yaml.safe_load(text), RuntimeConfigSpec)


def namespaced(text: str = "{}", name: str = "default") -> AIMRuntimeConfig:
    return AIMRuntimeConfig(metadata=ObjectMeta(name=name, namespace="ml-team", uid="n-1"), spec=spec_of(text))


def cluster(text: str = "{}", name: str = "default") -> AIMClusterRuntimeConfig:
    return AIMClusterRuntimeConfig(metadata=ObjectMeta(name=name, uid="c-1"), spec=spec_of(text))


def seen(spec: RuntimeConfigSpec) -> Manifest:
    return msgspec.json.decode(msgspec.json.encode(spec))


def merged(below: str, above: str) -> Manifest:
    return seen(runtime_config.resolve(SOUGHT, namespaced(above), cluster(below)).spec)


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        pytest.param(
            "routing: {enabled: true}",
            "routing: {enabled: false}",
            "routing: {enabled: false}",
            id="an explicit false switches routing off",
        ),
        pytest.param(
            "model: {autoDiscovery: true}",
            "model: {autoDiscovery: false}",
            "model: {autoDiscovery: false}",
            id="an explicit false switches discovery off",
        ),
        pytest.param(
            "storage: {pvcHeadroomPercent: 10}",
            "storage: {pvcHeadroomPercent: 0}",
            "storage: {pvcHeadroomPercent: 0}",
            id="an explicit 0",
        ),
        pytest.param(
            "routing: {requestTimeout: 30s, pathTemplate: /a}",
            "routing: {requestTimeout: 0s, pathTemplate: ''}",
            "routing: {requestTimeout: 0s, pathTemplate: ''}",
            id="timeout 0 and an empty path",
        ),
        pytest.param(
            "storage: {defaultStorageClassName: fast}",
            "storage: {defaultStorageClassName: ''}",
            "storage: {defaultStorageClassName: fast}",
            id="an empty storage class is none",
        ),
        pytest.param(
            "routing: {gatewayRef: {name: a, namespace: gw, sectionName: web}}",
            "routing: {gatewayRef: {name: b, port: 443}}",
            "routing: {gatewayRef: {name: b, namespace: gw, sectionName: web, port: 443}}",
            id="a gateway by its parts",
        ),
        pytest.param(
            "routing: {annotations: {a: '1', b: '1'}}",
            "routing: {annotations: {b: '2'}}",
            "routing: {annotations: {a: '1', b: '2'}}",
            id="annotations by key",
        ),
        pytest.param(
            "env: [{name: A, value: '1'}, {name: B, value: '1'}]",
            "env: [{name: C, value: '2'}, {name: A, value: '2'}]",
            "env: [{name: A, value: '2'}, {name: B, value: '1'}, {name: C, value: '2'}]",
            id="variables by name, the cluster's first",
        ),
        pytest.param(
            'env: [{name: AIM_ENGINE_ARGS, value: \'{"a":{"x":1},"b":1}\'}]',
            'env: [{name: AIM_ENGINE_ARGS, value: \'{"a":{"y":2}}\'}]',
            'env: [{name: AIM_ENGINE_ARGS, value: \'{"a":{"x":1,"y":2},"b":1}\'}]',
            id="engine arguments inside",
        ),
        pytest.param(
            "labelPropagation: {enabled: true, match: [a, b]}",
            "labelPropagation: {enabled: true, match: [c]}",
            "labelPropagation: {enabled: true, match: [c]}",
            id="patterns are replaced, not joined",
        ),
        pytest.param(
            "labelPropagation: {enabled: true, match: [a]}",
            "labelPropagation: {enabled: true}",
            "labelPropagation: {enabled: true, match: [a]}",
            id="no patterns keep the cluster's",
        ),
        pytest.param(
            "labelPropagation: {enabled: true, match: [a]}",
            "labelPropagation: {match: [b]}",
            "labelPropagation: {enabled: false, match: [b]}",
            id="a present object without the switch is off, as the schema says",
        ),
        pytest.param(
            "labelPropagation: {enabled: true, match: [a]}",
            "{}",
            "labelPropagation: {enabled: true, match: [a]}",
            id="an absent object keeps the cluster's",
        ),
        pytest.param(
            "defaultStorageClassName: fast\npvcHeadroomPercent: 20",
            "{}",
            "storage: {defaultStorageClassName: fast, pvcHeadroomPercent: 20}",
            id="deprecated fields move",
        ),
        pytest.param(
            "storage: {defaultStorageClassName: new, pvcHeadroomPercent: 5}",
            "defaultStorageClassName: team-ssd",
            "storage: {defaultStorageClassName: team-ssd, pvcHeadroomPercent: 5}",
            id="deprecated fields move before the merge",
        ),
        pytest.param(
            "{}",
            "storage: {pvcHeadroomPercent: 10}\npvcHeadroomPercent: 30",
            "storage: {pvcHeadroomPercent: 10}",
            id="a storage object shadows its own deprecated field",
        ),
        pytest.param("pvcHeadroomPercent: 0", "{}", "storage: {pvcHeadroomPercent: 0}", id="a deprecated 0 counts"),
        pytest.param("pvcHeadroomPercent: -5", "{}", "{}", id="a negative headroom does not"),
        pytest.param("{}", "{}", "{}", id="nothing"),
    ],
)
def test_namespace_over_cluster(below: str, above: str, expected: str) -> None:
    assert merged(below, above) == yaml.safe_load(expected)


def test_one_config_alone_is_used_as_it_is_but_for_deprecated_fields() -> None:
    alone = runtime_config.resolve(SOUGHT, None, cluster("defaultStorageClassName: fast\nenv: [{name: A, value: x}]"))
    assert seen(alone.spec) == {"storage": {"defaultStorageClassName": "fast"}, "env": [{"name": "A", "value": "x"}]}


def test_a_config_without_a_spec_is_an_empty_one() -> None:
    empty = AIMRuntimeConfig(metadata=ObjectMeta(name="default", namespace="ml-team", uid="u"))
    assert runtime_config.resolve(SOUGHT, empty, None).spec == RuntimeConfigSpec()


@pytest.mark.parametrize(
    ("resolution", "expected"),
    [
        pytest.param(
            runtime_config.resolve(SOUGHT, namespaced(), None),
            {"kind": "AIMRuntimeConfig", "name": "default", "namespace": "ml-team", "scope": "Namespace", "uid": "n-1"},
            id="namespace config",
        ),
        pytest.param(
            runtime_config.resolve(SOUGHT, None, cluster()),
            {"kind": "AIMClusterRuntimeConfig", "name": "default", "namespace": "", "scope": "Cluster", "uid": "c-1"},
            id="cluster config, with its empty namespace written out",
        ),
        pytest.param(
            runtime_config.resolve(SOUGHT, namespaced(), cluster()),
            {"kind": "AIMRuntimeConfig", "name": "default", "namespace": "ml-team", "scope": "Merged", "uid": "n-1"},
            id="both are one reference",
        ),
        pytest.param(runtime_config.resolve(SOUGHT, None, None), None, id="none"),
    ],
)
def test_reference_in_status(resolution: Resolution, expected: Manifest | None) -> None:
    assert msgspec.to_builtins(resolution.reference) == expected


@pytest.mark.parametrize(
    ("resolution", "status", "reason", "message", "overall"),
    [
        pytest.param(
            runtime_config.resolve(SOUGHT, namespaced(), None), "True", "ConfigFound", "", "Ready", id="found"
        ),
        pytest.param(
            runtime_config.resolve(SOUGHT, None, cluster(), found="RuntimeConfigResolved"),
            "True",
            "RuntimeConfigResolved",
            "",
            "Ready",
            id="found, in the words of a service",
        ),
        pytest.param(
            runtime_config.resolve(SOUGHT, None, None),
            "True",
            "DefaultConfigNotFound",
            "Default config was not found",
            "Ready",
            id="the default may be missing",
        ),
        pytest.param(
            runtime_config.resolve(NAMED, None, None),
            "False",
            "ConfigNotFound",
            "RuntimeConfig mine not found",
            "Failed",
            id="a named one may not",
        ),
    ],
)
def test_condition(resolution: Resolution, status: str, reason: str, message: str, overall: str) -> None:
    judgement = conditions.judge([resolution.component], (), NOW)
    note = next(note for note in judgement.notes if note.type == "RuntimeConfigReady")
    assert (note.status, note.reason, note.message, judgement.status) == (status, reason, message, overall)


def test_a_missing_named_config_makes_the_reference_invalid() -> None:
    component = runtime_config.resolve(NAMED, None, None).component
    assert component.has(Category.MISSING_UPSTREAM)


@pytest.mark.parametrize(
    ("consumer", "name", "expected"),
    [
        pytest.param(
            ObjectMeta(namespace="ml-team"),
            None,
            (Key("ml-team", "default"), Key("", "default")),
            id="no name is default",
        ),
        pytest.param(
            ObjectMeta(namespace="ml-team"),
            "",
            (Key("ml-team", "default"), Key("", "default")),
            id="an empty name is default",
        ),
        pytest.param(ObjectMeta(namespace="ml-team"), "x", (Key("ml-team", "x"), Key("", "x")), id="a name"),
        pytest.param(
            ObjectMeta(),
            "x",
            (Key("aim-system", "x"), Key("", "x")),
            id="cluster-scoped objects look into the operator's namespace",
        ),
    ],
)
def test_where_to_look(consumer: ObjectMeta, name: str | None, expected: tuple[Key, Key]) -> None:
    assert runtime_config.wanted(consumer, name, "aim-system") == Wanted(*expected)


def service(text: str) -> ServiceRuntime:
    return msgspec.convert(yaml.safe_load(text), ServiceRuntime)


def test_a_service_wins_over_its_config_field_by_field() -> None:
    config = spec_of(
        "storage: {defaultStorageClassName: fast, pvcHeadroomPercent: 20}\n"
        "routing: {enabled: true, gatewayRef: {name: g, namespace: gw}, requestTimeout: 30s,"
        " annotations: {a: '1', b: '1'}}"
    )
    own = service(
        "storage: {pvcHeadroomPercent: 0, defaultStorageClassName: ''}\n"
        "routing: {enabled: false, gatewayRef: {name: mine}, annotations: {b: '2'}}"
    )
    assert seen(runtime_config.storage(own, config)) == {"defaultStorageClassName": "fast", "pvcHeadroomPercent": 0}
    assert seen(runtime_config.routing(own, config)) == {
        "enabled": False,
        "gatewayRef": {"name": "mine"},
        "requestTimeout": "30s",
        "annotations": {"a": "1", "b": "2"},
    }


def test_a_service_that_says_nothing_takes_the_config() -> None:
    config = spec_of("storage: {pvcHeadroomPercent: 20}\nrouting: {gatewayRef: {name: g, namespace: gw}}")
    assert runtime_config.storage(ServiceRuntime(), config) == config.storage
    assert runtime_config.routing(ServiceRuntime(), config) == config.routing
    assert seen(runtime_config.routing(ServiceRuntime(), RuntimeConfigSpec())) == {}
