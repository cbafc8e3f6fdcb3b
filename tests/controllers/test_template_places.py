"""Who gets a place for his discovery Job, of those who want one."""

from tests.controllers.world import Look, World

from aim_engine.controllers import template
from aim_engine.core import discovery
from aim_engine.objects import Manifest

AIM = "aim.eai.amd.com/v1alpha1"
TEMPLATES, _ = template.concepts(discovery.USUAL)


def made(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": AIM, "kind": kind, "metadata": {"name": name}, "spec": spec}


async def test_no_more_jobs_than_places() -> None:
    world = World(made("AIMModel", "m", {"image": "registry.example/aim:1"}))
    for index in range(discovery.MOST_AT_ONCE + 2):
        world.put(made("AIMServiceTemplate", f"t-{index:02}", {"modelName": "m"}))
    looks: list[Look] = []
    for index in range(discovery.MOST_AT_ONCE + 2):
        looks.append(await world.settle(TEMPLATES, f"t-{index:02}"))
        await world.settle(TEMPLATES, f"t-{index:02}")  # its own Job wakes it
    assert [bool(look.made) for look in looks] == [True] * discovery.MOST_AT_ONCE + [False] * 2
    assert looks[-1].plan.requeue_after == discovery.USUAL.no_place
    assert looks[-1].word == "Pending"


async def test_those_who_may_not_go_on_do_not_stand_in_the_way() -> None:
    world = World(made("AIMModel", "m", {"image": "registry.example/aim:1"}))
    for index in range(discovery.MOST_AT_ONCE):
        world.put(made("AIMServiceTemplate", f"t-{index}", {"modelName": "m", "runtimeConfigName": "missing"}))
        look = await world.settle(TEMPLATES, f"t-{index}")
        assert (look.made, look.word) == ([], "Failed")
    world.put(made("AIMServiceTemplate", "free", {"modelName": "m"}))
    assert (await world.settle(TEMPLATES, "free")).made
