"""How words and device ids become models of the one GPU table, and which model is preferred to which."""

import re
from typing import Final

from aim_engine.core.gpu_models import BY_DEVICE_ID, BY_NAME, LAST_TIER, MODELS, GpuModel

_RANK: Final = {model.name: rank if model.tier < LAST_TIER else len(MODELS) for rank, model in enumerate(MODELS)}
_UNKNOWN_RANK: Final = len(MODELS) + 1

_UNKNOWN = re.compile(r"AMD-[0-9A-F]{4}")
_MODEL = re.compile(r"(MI|ME|RX|RTX|GTX|A|H|L|T|V|K|P|QUADRO|TESLA|GRID)?[A-Z]*[0-9]+[A-Z0-9]*")
_MAKER = re.compile(r"^(?:AMD|INSTINCT)+")


def known(model: str) -> GpuModel | None:
    """What the table says of a normalised model."""
    return BY_NAME.get(model)


def of_device_id(device_id: str) -> str:
    """The model behind a PCI device id, in any case, with or without 0x; `AMD-<ID>` if the table has none."""
    plain = device_id.strip().lower().removeprefix("0x")
    known_model = BY_DEVICE_ID.get(plain)
    return known_model.name if known_model else f"AMD-{plain.upper()}"


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
