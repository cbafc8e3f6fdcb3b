"""Cases of admission: fields that are admitted, fields that are not, and what the server says of these."""

from typing import Any, NamedTuple

import pytest
from tests.cluster.api.objects import MINIMAL, Objects

from aim_engine.objects import Manifest

MODELS = ("AIMModel", "AIMClusterModel")
TEMPLATES = ("AIMServiceTemplate", "AIMClusterServiceTemplate")
DOWNLOADS = ("AIMArtifact", "AIMModelCache")
CONFIGS = ("AIMRuntimeConfig", "AIMClusterRuntimeConfig")

SOURCE = {"modelId": "acme/llama", "sourceUri": "hf://acme/llama"}
HARDWARE = {"gpu": {"requests": 1}}
CUSTOM = {"baseImage": "acme/aim:1", "modelSources": [SOURCE], "hardware": HARDWARE}


class Case(NamedTuple):
    """Fields of a spec that are admitted, fields that are not, where the server sees the fault and what it says."""

    kind: str
    good: Manifest
    bad: Manifest
    path: str
    message: str


def case(title: str, kinds: tuple[str, ...] | str, good: Any, bad: Any, path: str, message: str) -> list[Any]:
    """The same case for each of some kinds."""
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    return [pytest.param(Case(kind, good, bad, path, message), id=f"{kind}: {title}") for kind in kinds]


def check(case: Case, objects: Objects) -> None:
    """The bad fields are refused on create and on update, the good ones admitted on both."""
    good = objects.new(case.kind, {**MINIMAL[case.kind], **case.good})
    bad = {**good, "spec": {**MINIMAL[case.kind], **case.bad}}
    unborn = {**bad, "metadata": objects.new(case.kind, None)["metadata"]}

    refused(objects.create(unborn), case.path, case.message)
    objects.created(good)
    refused(objects.update(bad), case.path, case.message)
    status, answer = objects.update({**good, "metadata": {**good["metadata"], "annotations": {"touched": "yes"}}})
    assert status == 200, answer


def refused(outcome: tuple[int, Any], path: str, message: str) -> None:
    """The server refuses, and one of its causes names this field and says this."""
    status, answer = outcome
    causes = [(cause["field"], cause["message"]) for cause in answer.get("details", {}).get("causes", [])]
    assert status == 422, answer
    assert any(field == path and message in said for field, said in causes), causes
