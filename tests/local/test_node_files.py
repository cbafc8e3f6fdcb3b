"""Files of volumes: what they hold, their permissions, and how they change."""

import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aim_engine.local.node import files, payload
from aim_engine.local.node.downward import Placement
from aim_engine.local.node.environment import Reference
from aim_engine.local.node.errors import MountError
from aim_engine.local.node.files import File
from aim_engine.local.node.payload import Owner
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.volume_spec import Volume

PLACEMENT = Placement(node="n", host_address="127.7.1.1", pod_address="127.7.2.9", allocatable={})
DATA = {
    Reference("ConfigMap", "settings"): {"a": b"1", "b": b"2"},
    Reference("Secret", "keys"): {"key": b"hidden"},
    Reference("ConfigMap", "absent"): None,
}


def build(volume: dict[str, Any], **security: int) -> files.Files:
    made = msgspec.convert({"name": "it", **volume}, Volume)
    pod = msgspec.convert(
        {"metadata": {"name": "web", "labels": {"app": "w"}}, "spec": {"securityContext": security}}, Pod
    )
    inputs = files.Inputs(pod=pod, placement=PLACEMENT, data=DATA, tokens={"token": "t0ken"})
    return files.build(made, inputs)


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param(
            {"configMap": {"name": "settings"}},
            {"a": File(b"1", 0o644), "b": File(b"2", 0o644)},
            id="every key of a ConfigMap",
        ),
        pytest.param(
            {"configMap": {"name": "settings", "defaultMode": 0o400, "items": [{"key": "b", "path": "x/y"}]}},
            {"x/y": File(b"2", 0o400)},
            id="one key at a path of its own",
        ),
        pytest.param(
            {"secret": {"secretName": "keys", "items": [{"key": "key", "path": "k", "mode": 0o600}]}},
            {"k": File(b"hidden", 0o600)},
            id="the mode of an item wins",
        ),
        pytest.param(
            {"configMap": {"name": "absent", "optional": True}}, {}, id="an optional ConfigMap may be missing"
        ),
        pytest.param(
            {"configMap": {"name": "settings", "optional": True, "items": [{"key": "z", "path": "z"}]}},
            {},
            id="an optional key may be missing",
        ),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"labels": File(b'app="w"', 0o644)},
            id="the labels of the pod",
        ),
        pytest.param(
            {
                "projected": {
                    "defaultMode": 0o440,
                    "sources": [
                        {"serviceAccountToken": {"path": "token"}},
                        {"configMap": {"name": "settings", "items": [{"key": "a", "path": "a"}]}},
                        {"secret": {"name": "keys"}},
                    ],
                }
            },
            {"token": File(b"t0ken", 0o440), "a": File(b"1", 0o440), "key": File(b"hidden", 0o440)},
            id="several sources in one directory",
        ),
    ],
)
def test_files_of_a_volume(volume: dict[str, Any], expected: files.Files) -> None:
    assert build(volume) == expected


def test_a_token_is_private_once_the_pod_has_an_owner() -> None:
    made = build({"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}, runAsUser=1000)
    assert made["token"].mode == 0o600


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        pytest.param({"configMap": {"name": "absent"}}, 'configmap "absent" not found', id="a ConfigMap"),
        pytest.param(
            {"secret": {"secretName": "keys", "items": [{"key": "z", "path": "z"}]}},
            "references non-existent secret key: z",
            id="a key",
        ),
    ],
)
def test_what_is_missing_is_named(volume: dict[str, Any], message: str) -> None:
    with pytest.raises(MountError, match=message):
        build(volume)


def seen(directory: Path) -> dict[str, tuple[bytes, int]]:
    """The files as a program sees them that walks the directory and skips what begins with two dots."""
    found: dict[str, tuple[bytes, int]] = {}
    for root, _, names in os.walk(directory, followlinks=True):
        for name in names:
            path = Path(root, name)
            relative = path.relative_to(directory)
            if not relative.parts[0].startswith(".."):
                found[str(relative)] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


def test_new_files_replace_the_old_ones_all_at_once(tmp_path: Path) -> None:
    place = tmp_path / "it"
    assert payload.write(place, {"a": File(b"1", 0o600), "deep/b": File(b"2", 0o644)}, Owner())
    assert seen(place) == {"a": (b"1", 0o600), "deep/b": (b"2", 0o644)}
    held = (place / "..data").resolve()
    assert not payload.write(place, {"a": File(b"1", 0o600), "deep/b": File(b"2", 0o644)}, Owner())
    assert (place / "..data").resolve() == held
    assert payload.write(place, {"a": File(b"3", 0o600), "c": File(b"4", 0o640)}, Owner())
    assert seen(place) == {"a": (b"3", 0o600), "c": (b"4", 0o640)}
    assert not held.exists()


def test_a_group_that_owns_the_volume_may_read_its_files(tmp_path: Path) -> None:
    payload.write(tmp_path / "it", {"a": File(b"1", 0o600)}, Owner(group=os.getegid()))
    assert seen(tmp_path / "it") == {"a": (b"1", 0o640)}
    assert not payload.write(tmp_path / "it", {"a": File(b"1", 0o600)}, Owner(group=os.getegid()))
