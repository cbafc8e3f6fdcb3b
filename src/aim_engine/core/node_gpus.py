"""Which GPUs the nodes of a cluster offer, read from the labels of AMD's labeller and device plugin."""

import re
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Final

import msgspec

from aim_engine.api.foreign import Node
from aim_engine.core import gpus

PREFIXES: Final = ("amd.com/gpu.", "beta.amd.com/gpu.")
"""Of label keys; the plain one is looked at first."""

DEVICE_ID_KEYS: Final = tuple(f"{prefix}device-id" for prefix in PREFIXES)

GI: Final = 1024**3
_UNITS: Final = {"M": 1024**2, "G": GI, "T": 1024**4}
_VRAM = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:([MGT])(?:I?B?))?", re.IGNORECASE)
_BYTES_FROM = 2**30
_COARSE: Final = frozenset({"", "M"})

_WATCHED_LABELS = ("amd.com/", "beta.amd.com/")
_WATCHED_RESOURCES = "amd.com/"


class Selector(msgspec.Struct, frozen=True, order=True):
    """A label by which pods find a node: its value, or its mere presence."""

    key: str
    value: str | None = None


class Offer(msgspec.Struct, frozen=True):
    """A GPU model some nodes offer: its memory in bytes (0 if nobody knows), and the labels that lead to them."""

    vram: int = 0
    selectors: frozenset[Selector] = frozenset()


Inventory = Mapping[str, Offer]
"""What a cluster offers, by model."""


def inventory(nodes: Iterable[Node]) -> Inventory:
    """The models of all nodes; only labels count, whether anything is free or a node is ready does not."""
    offers: dict[str, Offer] = {}
    for node in nodes:
        labels = node.metadata.labels
        found = _models(labels)
        alone = len({model for model, _ in found}) == 1
        for model, selector in found:
            before = offers.get(model, Offer())
            offers[model] = Offer(max(before.vram, _vram(model, labels, alone=alone)), before.selectors | {selector})
    return dict(sorted(offers.items()))


def vram_bytes(text: str) -> int:
    """Memory as labels write it; 0 if it cannot be read.

    `192G`, `192Gi`, `192GB` are the same; a number alone is MiB, or bytes from 2^30 on. Those two, which are never
    round, go up to whole GiB: a card of 196592 MiB is a 192 GiB card.
    """
    shape = _VRAM.fullmatch(text.strip())
    if shape is None:
        return 0
    number, unit = float(shape[1]), (shape[2] or "").upper()
    if not unit and "." in shape[1]:
        return 0
    default = 1 if number >= _BYTES_FROM else _UNITS["M"]
    total = ceil(number * _UNITS.get(unit, default))
    return ceil(total / GI) * GI if unit in _COARSE else total


def changed(before: Node, after: Node) -> bool:
    """Whether an update of a node may have changed what it offers."""
    return _gpu_facts(before) != _gpu_facts(after)


def _gpu_facts(node: Node) -> object:
    labels = {key: value for key, value in node.metadata.labels.items() if key.startswith(_WATCHED_LABELS)}
    amounts = [
        {name: str(amount) for name, amount in resources.items() if name.startswith(_WATCHED_RESOURCES)}
        for resources in (node.status.capacity, node.status.allocatable)
    ]
    return labels, amounts


def _models(labels: Mapping[str, str]) -> list[tuple[str, Selector]]:
    """The models of a node with the labels that tell; a family is asked for only where no device id is told."""
    for facet, model_of in (("device-id", gpus.of_device_id), ("family", gpus.normalised)):
        if told := _told(labels, facet):
            return [(model_of(text), selector) for text, selector in told]
    return []


def _told(labels: Mapping[str, str], facet: str) -> list[tuple[str, Selector]]:
    """What a node says of one facet: the first form of label that says anything counts."""
    for form in (_by_value, _by_suffix):
        for prefix in PREFIXES:
            if told := form(labels, prefix + facet):
                return told
    return []


def _by_value(labels: Mapping[str, str], key: str) -> list[tuple[str, Selector]]:
    value = labels.get(key, "")
    return [(value, Selector(key, value))] if value.strip() else []


def _by_suffix(labels: Mapping[str, str], key: str) -> list[tuple[str, Selector]]:
    """Counted labels such as `amd.com/gpu.device-id.74a1=8`."""
    start = f"{key}."
    return [
        (label[len(start) :], Selector(label))
        for label, count in sorted(labels.items())
        if label.startswith(start) and len(label) > len(start) and count.strip() not in ("", "0")
    ]


def _vram(model: str, labels: Mapping[str, str], *, alone: bool) -> int:
    """What the node says if it speaks of this model alone, else the table, else what the node says."""
    gpu = gpus.known(model)
    table = gpu.vram * GI if gpu else 0
    told = max((vram_bytes(text) for text, _ in _told(labels, "vram")), default=0)
    return (told or table) if alone else (table or told)
