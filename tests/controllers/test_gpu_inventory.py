"""What GPUs the cluster is seen to offer, as nodes come, change and go."""

from structlog.testing import capture_logs
from tests.controllers.world import World

from aim_engine.objects import Manifest


def node(name: str, device: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"amd.com/gpu.device-id": device}}}


def test_nodes_that_come_change_and_go() -> None:
    world = World(node("a", "74a1"))
    assert list(world.cluster.gpus) == ["MI300X"]
    world.put(node("b", "740f"))
    assert list(world.cluster.gpus) == ["MI210", "MI300X"]
    world.put(node("a", "75a3"))
    assert list(world.cluster.gpus) == ["MI210", "MI355X"]


def test_a_gpu_that_nothing_is_known_of_is_told_once() -> None:
    world = World(node("a", "beef"), node("b", "74a1"))
    with capture_logs() as lines:
        assert "AMD-BEEF" in world.cluster.gpus
        world.put(node("c", "beef"))
        assert list(world.cluster.gpus) == ["AMD-BEEF", "MI300X"]
    assert [line["model"] for line in lines if line["log_level"] == "warning"] == ["AMD-BEEF"]
