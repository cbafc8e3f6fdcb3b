"""The CRDs as a whole: fresh, named, scoped and shown as documented."""

from typing import Any

import pytest
from click.testing import CliRunner
from tests.api.manifests import CRDS

from aim_engine.api import schema
from aim_engine.api.kinds import BY_NAME, KINDS
from aim_engine.cli import crds

NAMED = {definition["spec"]["names"]["kind"]: definition for definition in schema.crds()}


def test_the_committed_files_are_what_the_types_say() -> None:
    committed = {file.name: file.read_text() for file in CRDS.iterdir()}
    assert committed == crds.files(), "run `make crds` and commit deploy/crds"


def test_aim_crds_writes_the_same_files_each_time(tmp_path: Any) -> None:
    for _ in range(2):
        outcome = CliRunner().invoke(crds.command, ["--directory", str(tmp_path / "crds")])
        assert outcome.exit_code == 0, outcome.output
    assert {file.name: file.read_text() for file in (tmp_path / "crds").iterdir()} == crds.files()


def test_aim_crds_prints_all_of_them_without_a_directory() -> None:
    outcome = CliRunner().invoke(crds.command, [])
    assert outcome.output == "".join(crds.files().values())


def test_callers_may_change_what_they_get() -> None:
    schema.crds()[0]["spec"]["versions"][0]["schema"].clear()
    assert schema.crds()[0]["spec"]["versions"][0]["schema"]


@pytest.mark.parametrize(
    ("kind", "plural", "short", "scope"),
    [
        ("AIMModel", "aimmodels", "aimmdl", "Namespaced"),
        ("AIMClusterModel", "aimclustermodels", "aimclmdl", "Cluster"),
        ("AIMClusterModelSource", "aimclustermodelsources", "aimclsrc", "Cluster"),
        ("AIMServiceTemplate", "aimservicetemplates", "aimtpl", "Namespaced"),
        ("AIMClusterServiceTemplate", "aimclusterservicetemplates", "aimcltpl", "Cluster"),
        ("AIMService", "aimservices", "aimsvc", "Namespaced"),
        ("AIMTemplateCache", "aimtemplatecaches", "aimtc", "Namespaced"),
        ("AIMArtifact", "aimartifacts", "aimart", "Namespaced"),
        ("AIMModelCache", "aimmodelcaches", "aimmc", "Namespaced"),
        ("AIMRuntimeConfig", "aimruntimeconfigs", "aimrc", "Namespaced"),
        ("AIMClusterRuntimeConfig", "aimclusterruntimeconfigs", "aimclrc", "Cluster"),
    ],
)
def test_every_kind_has_its_names_and_scope(kind: str, plural: str, short: str, scope: str) -> None:
    spec = NAMED[kind]["spec"]
    assert NAMED[kind]["metadata"]["name"] == f"{plural}.aim.eai.amd.com"
    assert spec["names"] == {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        "shortNames": [short],
        "categories": ["aim", "all"],
    }
    assert spec["scope"] == scope
    assert [(version["name"], version["served"], version["storage"]) for version in spec["versions"]] == [
        ("v1alpha1", True, True)
    ]
    assert spec["versions"][0]["subresources"] == {"status": {}}


def test_there_are_eleven_kinds() -> None:
    assert len(KINDS) == len(BY_NAME) == len(NAMED) == 11


MODEL = ("Status", "Source", "Image", "Model", "Age")
TEMPLATE = ("Model", "Status", "Hardware", "Metric", "Precision", "GPUs (wide)")


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("AIMModel", MODEL),
        ("AIMClusterModel", MODEL),
        ("AIMClusterModelSource", ("Status", "Models", "LastSync", "Age")),
        ("AIMServiceTemplate", TEMPLATE),
        ("AIMClusterServiceTemplate", TEMPLATE),
        ("AIMService", ("Status", "Model", "Template", "Replicas", "Age")),
        ("AIMTemplateCache", ("Template", "Mode", "Status", "Kind", "Age")),
        (
            "AIMArtifact",
            ("Status", "Mode", "Model Size", "Progress", "Protocol (wide)", "Attempt (wide)", "Age"),
        ),
        ("AIMModelCache", ("Status", "Mode", "Model Size", "Progress", "Age")),
        ("AIMRuntimeConfig", ()),
        ("AIMClusterRuntimeConfig", ()),
    ],
)
def test_every_kind_has_its_columns(kind: str, columns: tuple[str, ...]) -> None:
    shown = NAMED[kind]["spec"]["versions"][0].get("additionalPrinterColumns", [])
    assert tuple(f"{c['name']} (wide)" if c.get("priority") else c["name"] for c in shown) == columns


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_column_shows_a_field_that_exists(kind: str) -> None:
    version = NAMED[kind]["spec"]["versions"][0]
    for column in version.get("additionalPrinterColumns", []):
        node = version["schema"]["openAPIV3Schema"]
        if column["jsonPath"] == ".metadata.creationTimestamp":
            continue
        for step in column["jsonPath"].lstrip(".").split("."):
            node = node["properties"][step]
        assert (column["type"] == "date") == (node.get("format") == "date-time")
        assert node["type"] in ("string", "integer")


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_field_is_described_in_sentences(kind: str) -> None:
    root = NAMED[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for path, node in _fields(root):
        if path != ".metadata":
            assert node.get("description", "").endswith("."), path


def test_an_object_without_a_spec_is_admitted() -> None:
    for definition in NAMED.values():
        assert "required" not in definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def _fields(node: dict[str, Any], prefix: str = "") -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for name, child in node.get("properties", {}).items():
        found += [(f"{prefix}.{name}", child), *_fields(child, f"{prefix}.{name}")]
    for inner in (node.get("items"), node.get("additionalProperties")):
        found += _fields(inner, f"{prefix}[]") if inner else []
    return found
