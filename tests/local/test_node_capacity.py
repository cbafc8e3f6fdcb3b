"""`--gpus` says which nodes to make."""

import pytest

from aim_engine.local.errors import LocalError
from aim_engine.local.node import capacity
from aim_engine.local.node.capacity import Machine

KNOWN = ("MI300X", "MI355X", "W7900")


def machine(name: str, model: str | None, gpus: int) -> Machine:
    return Machine(name=name, model=model, gpus=gpus)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(["MI300X:8"], [machine("mi300x-1", "MI300X", 8)], id="one node of eight"),
        pytest.param(["MI300X"], [machine("mi300x-1", "MI300X", 8)], id="without a number a node has eight"),
        pytest.param(
            ["MI300X:8x2,MI355X:8"],
            [machine("mi300x-1", "MI300X", 8), machine("mi300x-2", "MI300X", 8), machine("mi355x-1", "MI355X", 8)],
            id="8x2 is two nodes of eight",
        ),
        pytest.param(
            ["MI300X:8", "MI300X:4"],
            [machine("mi300x-1", "MI300X", 8), machine("mi300x-2", "MI300X", 4)],
            id="the flag may come twice and names go on counting",
        ),
        pytest.param(["mi355x:1"], [machine("mi355x-1", "MI355X", 1)], id="the model's case does not matter"),
        pytest.param(["none:0x2"], [machine("cpu-1", None, 0), machine("cpu-2", None, 0)], id="none has no GPU"),
    ],
)
def test_nodes_of_the_flag(values: list[str], expected: list[Machine]) -> None:
    assert list(capacity.parse(values, KNOWN)) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("MI300X:", "cannot be read; write MODEL:GPUS or MODEL:GPUSxNODES", id="a number is missing"),
        pytest.param("MI300X:8*2", "cannot be read", id="a star is no x"),
        pytest.param("H100:8", "known are MI300X, MI355X, W7900, and none", id="a model nobody knows"),
        pytest.param("", "No nodes were asked for", id="nothing at all"),
        pytest.param("MI300X:8x0", "No nodes were asked for", id="zero nodes"),
        pytest.param("MI300X:8x1000", "has addresses for 126", id="too many nodes"),
    ],
)
def test_a_flag_that_cannot_be_used(value: str, message: str) -> None:
    with pytest.raises(LocalError, match=message):
        capacity.parse([value], KNOWN)
