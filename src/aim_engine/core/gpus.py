"""The one table of GPU facts, and how words and ids become models of it."""

import re
from typing import Final

import msgspec

_REST = 8


class Gpu(msgspec.Struct, frozen=True):
    """A GPU model: PCI device ids, memory in GiB, and its tier, 1 being preferred to all others."""

    model: str
    device_ids: tuple[str, ...]
    vram: int
    tier: int = _REST


TABLE: Final = (
    Gpu("MI355X", ("75a3", "75b3"), 288, 1),
    Gpu("MI350X", ("75a0", "75b0"), 288, 2),
    Gpu("MI325X", ("74a5", "74b9"), 256, 3),
    Gpu("MI300X", ("74a1", "74a9", "74b5", "74bd"), 192, 4),
    Gpu("MI308X", ("74a2", "74a8", "74b6"), 192, 4),
    Gpu("MI300A", ("74a0",), 128, 5),
    Gpu("MI250X", ("7408", "740c"), 128, 6),
    Gpu("MI210", ("740f", "7410"), 64, 7),
    Gpu("MI100", ("738c", "738e"), 32),
    Gpu("V710", ("7460", "7461"), 32),
    Gpu("W7900", ("7448", "744a"), 48),
    Gpu("W7800", ("7449", "745e"), 32),
    Gpu("W6900X", ("73a2",), 32),
    Gpu("W6800", ("73a3",), 32),
    Gpu("W6800X", ("73ab",), 32),
    Gpu("V620", ("73a1", "73ae"), 32),
    Gpu("RX9070", ("7550",), 16),
    Gpu("RX7900", ("744c",), 24),
    Gpu("RX6900", ("73af",), 16),
    Gpu("RX6800", ("73bf",), 16),
)
"""Best first; of one tier the earlier is preferred, all of the last tier are equal."""

_BY_MODEL: Final = {gpu.model: gpu for gpu in TABLE}
_BY_ID: Final = {device_id: gpu for gpu in TABLE for device_id in gpu.device_ids}
_RANK: Final = {gpu.model: rank if gpu.tier < _REST else len(TABLE) for rank, gpu in enumerate(TABLE)}
_UNKNOWN_RANK: Final = len(TABLE) + 1

_UNKNOWN = re.compile(r"AMD-[0-9A-F]{4}")
_MODEL = re.compile(r"(MI|ME|RX|RTX|GTX|A|H|L|T|V|K|P|QUADRO|TESLA|GRID)?[A-Z]*[0-9]+[A-Z0-9]*")
_MAKER = re.compile(r"^(?:AMD|INSTINCT)+")


def known(model: str) -> Gpu | None:
    """What the table says of a normalised model."""
    return _BY_MODEL.get(model)


def of_device_id(device_id: str) -> str:
    """The model behind a PCI device id, in any case, with or without 0x; `AMD-<ID>` if the table has none."""
    plain = device_id.strip().lower().removeprefix("0x")
    gpu = _BY_ID.get(plain)
    return gpu.model if gpu else f"AMD-{plain.upper()}"


def rank(model: str) -> int:
    """Place in the order of preference, 0 being best; models that nothing is known of come last and are equal."""
    return _RANK.get(normalised(model), _UNKNOWN_RANK)


def normalised(word: str) -> str:
    """The model in a word as people and labels write it: `AMD Instinct MI300X (rev 2)` -> `MI300X`."""
    text = word.strip().upper().replace("_", "-")
    if _UNKNOWN.fullmatch(text):
        return text
    tokens = [_MAKER.sub("", token) for token in re.split(r"[-\s/:]+", text)]
    kept = [token for token in tokens if token]
    return next((token for token in kept if _MODEL.fullmatch(token)), kept[0] if kept else text)
