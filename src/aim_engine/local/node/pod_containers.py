"""The containers of one pod in their order: init containers one by one, sidecars beside, then the main ones.

init ─► sidecar (started) ─► init ─► mains, all at once ─► sidecars end, last one first
"""

import asyncio

from aim_engine.local.node.attempt import LEAST_GRACE
from aim_engine.local.node.container import ContainerRunner
from aim_engine.local.node.container_spec import Container
from aim_engine.local.node.pod_spec import sidecar
from aim_engine.local.node.site import Site
from aim_engine.local.node.stopping import Stop

Sidecars = list[tuple[Stop, asyncio.Task[None]]]


async def run_containers(site: Site, stop: Stop) -> None:
    """Return when no container runs and none will be started again."""
    sidecars: Sidecars = []
    async with asyncio.TaskGroup() as group:
        if await _initialise(site, stop, group, sidecars):
            mains = [group.create_task(_run(each, site, stop)) for each in site.pod.spec.containers]
            await asyncio.wait(mains)
        grace = max(stop.remaining, LEAST_GRACE * site.tools.timings.grace_unit) if stop.asked else _grace(site)
        for end, task in reversed(sidecars):
            end.ask(grace)
            site.board.touch()
            await asyncio.wait({task})


async def _initialise(site: Site, stop: Stop, group: asyncio.TaskGroup, sidecars: Sidecars) -> bool:
    """Run the init containers; say whether the main ones may start."""
    for container in site.pod.spec.init_containers:
        if stop.asked:
            return False
        if sidecar(container):
            end = Stop()
            runner = ContainerRunner(container, site, end)
            sidecars.append((end, group.create_task(runner.run())))
            await runner.started(stop)
            continue
        runner = ContainerRunner(container, site, stop)
        await runner.run()
        if not runner.succeeded:
            return False
    return not stop.asked


async def _run(container: Container, site: Site, stop: Stop) -> None:
    await ContainerRunner(container, site, stop).run()


def _grace(site: Site) -> float:
    return site.pod.spec.termination_grace_period_seconds * site.tools.timings.grace_unit
