"""Manifests into types and back: nothing is lost, in either naming."""

from typing import Any

import msgspec
import pytest
from tests.api.manifests import NAMINGS, full, label, paths, samples

from aim_engine.api import kinds, schema
from aim_engine.objects import Manifest

EVERY = [manifest for naming in NAMINGS for manifest in (*full(naming), *samples(naming))]


@pytest.mark.parametrize("written", EVERY, ids=label)
def test_a_manifest_survives_the_way_into_its_type_and_back(written: Manifest) -> None:
    decoded = msgspec.convert(written, kinds.BY_NAME[written["kind"]].type)
    assert kinds.manifest(decoded) == written


@pytest.mark.parametrize("kind", kinds.BY_NAME)
def test_the_full_manifests_use_every_field_of_the_schema(kind: str) -> None:
    used = {path for naming in NAMINGS for m in full(naming) if m["kind"] == kind for path in paths(m)}
    definition = schema.crd(kinds.BY_NAME[kind])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert _declared(definition) - _maps_generalised(used, definition) == set()


@pytest.mark.parametrize("naming", NAMINGS)
def test_every_kind_of_a_naming_has_a_sample_and_a_full_manifest(naming: str) -> None:
    absent = {"v1": "AIMArtifact", "v2": "AIMModelCache"}[naming]
    expected = set(kinds.BY_NAME) - {absent}
    assert {manifest["kind"] for manifest in samples(naming)} == expected
    assert {manifest["kind"] for manifest in full(naming)} == expected


@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.name)
def test_an_object_without_spec_and_status_decodes(kind: kinds.Kind) -> None:
    bare = msgspec.convert({"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": kind.name}, kind.type)
    assert kinds.manifest(bare) == {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": kind.name}


def test_absent_and_false_and_zero_stay_apart() -> None:
    spec: Any = {"routing": {"enabled": False, "pathTemplate": ""}, "storage": {"pvcHeadroomPercent": 0}}
    config = msgspec.convert({"spec": spec}, kinds.BY_NAME["AIMRuntimeConfig"].type)
    assert kinds.manifest(config)["spec"] == spec


def _declared(node: dict[str, Any], prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name, child in node.get("properties", {}).items():
        found |= {f"{prefix}.{name}"} | _declared(child, f"{prefix}.{name}")
    for key in ("items", "additionalProperties"):
        found |= _declared(node[key], f"{prefix}[]") if key in node else set()
    return found


def _maps_generalised(used: set[str], definition: dict[str, Any]) -> set[str]:
    """Replace the keys of maps, such as those of `status.artifacts`, by `[]`."""
    found: set[str] = set()
    for path in used:
        node, steps = definition, ""
        for step in path.replace("[]", "\0[]").replace("\0", ".").split(".")[1:]:
            if step == "[]":
                node, steps = node.get("items", {}), f"{steps}[]"
            elif "additionalProperties" in node:
                node, steps = node["additionalProperties"], f"{steps}[]"
            else:
                node, steps = node.get("properties", {}).get(step, {}), f"{steps}.{step}"
        found.add(steps)
    return found
