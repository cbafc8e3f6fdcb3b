"""Manifests of weights, compared with files that people have read."""

import pytest
from tests.manifests.cases import CASES, GOLDEN, as_yaml


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_is_as_it_was_read(name: str) -> None:
    assert as_yaml(CASES[name]) == (GOLDEN / f"{name}.yaml").read_text()


def test_every_file_belongs_to_a_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.yaml")} == set(CASES)
