"""Manifests that the tests of the API share: the samples, and objects with every field of each naming."""

from pathlib import Path
from typing import Any

import yaml

from aim_engine.objects import Manifest

ROOT = Path(__file__).parents[2]
CRDS = ROOT / "deploy/crds"
SAMPLES = ROOT / "deploy/samples"
NAMINGS = ("v1", "v2")


def samples(naming: str) -> list[Manifest]:
    """The samples of one naming."""
    return [yaml.safe_load(file.read_text()) for file in sorted(SAMPLES.glob(f"{naming}-*.yaml"))]


def full(naming: str) -> list[Manifest]:
    """Objects that together have every field of one naming."""
    return yaml.safe_load(Path(__file__).with_name(f"full-{naming}.yaml").read_text())["items"]


def label(manifest: Manifest) -> str:
    """Kind and name, for the id of a test."""
    return f"{manifest['kind']} {manifest['metadata']['name']}"


def paths(value: Any, prefix: str = "") -> set[str]:
    """The paths of all fields of a manifest; items of lists and values of maps count together."""
    if isinstance(value, dict):
        return {path for key, item in value.items() for path in ({f"{prefix}.{key}"} | paths(item, f"{prefix}.{key}"))}
    if isinstance(value, list):
        return {path for item in value for path in paths(item, f"{prefix}[]")}
    return set()
