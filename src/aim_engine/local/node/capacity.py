"""Which nodes to make: the value of `--gpus` read into a list of machines."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from aim_engine.local.errors import LocalError
from aim_engine.local.node.addresses import MOST_NODES

_ENTRY = re.compile(r"(?P<model>[A-Za-z][A-Za-z0-9]*)(?::(?P<gpus>[0-9]+)(?:x(?P<nodes>[0-9]+))?)?")
WITHOUT_GPUS = "none"


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One node to be: its name, the model of its GPUs and how many it has."""

    name: str
    model: str | None
    gpus: int


def parse(values: Iterable[str], known: Iterable[str]) -> tuple[Machine, ...]:
    """Read `MI300X:8x2,MI355X:8` (two nodes of 8 and one of 8; without numbers one node of 8; `none` has no GPU).

    Raise LocalError for a word that cannot be read, a model that is not `known`, or no node at all.
    """
    models = {model.upper(): model for model in known}
    entries = [entry.strip() for value in values for entry in value.split(",") if entry.strip()]
    numbers: Counter[str] = Counter()
    machines = tuple(machine for entry in entries for machine in _machines(entry, models, numbers))
    if not machines:
        raise LocalError("No nodes were asked for; name at least one, such as --gpus MI300X:8.")
    if len(machines) > MOST_NODES:
        raise LocalError(f"{len(machines)} nodes were asked for; a cluster has addresses for {MOST_NODES}.")
    return machines


def _machines(entry: str, models: dict[str, str], numbers: Counter[str]) -> Iterator[Machine]:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise LocalError(
            f"--gpus {entry!r} cannot be read; write MODEL:GPUS or MODEL:GPUSxNODES, "
            "such as MI300X:8x2 for two nodes of 8."
        )
    model = _model(found["model"], models)
    prefix = (model or "cpu").lower()
    for _ in range(int(found["nodes"] or 1)):
        numbers[prefix] += 1
        yield Machine(name=f"{prefix}-{numbers[prefix]}", model=model, gpus=int(found["gpus"] or 8) if model else 0)


def _model(word: str, models: dict[str, str]) -> str | None:
    if word.lower() == WITHOUT_GPUS:
        return None
    if word.upper() not in models:
        offered = ", ".join(sorted(models.values()))
        raise LocalError(f"--gpus names the GPU model {word!r}, which is not known; known are {offered}, and none.")
    return models[word.upper()]
