"""One run of one container: from its start, through hooks and probes, to its end."""

import asyncio
from collections.abc import Coroutine, Iterator
from datetime import datetime
from typing import Any

import msgspec

from aim_engine.kube.events import Level
from aim_engine.local.container import logs
from aim_engine.local.container.book import Image
from aim_engine.local.container.run import Exit, Run
from aim_engine.local.container.running import RunningContainer
from aim_engine.local.node import probes
from aim_engine.local.node.container_spec import Container, Hook, Probe
from aim_engine.local.node.pod_status import ContainerState, Running, Terminated
from aim_engine.local.node.probes import ProbeKind, Target, Watch
from aim_engine.local.node.site import Site
from aim_engine.local.node.stopping import Stop

LEAST_GRACE = 2.0
"""What is left of a grace period to a process whose hook, or whose pod's main containers, used all of it."""


class Attempt:
    """Keeps the container's entry on the board true while its process lives."""

    def __init__(self, process: RunningContainer, container: Container, site: Site, stop: Stop, fault: Image) -> None:
        self._process = process
        self._container = container
        self._site = site
        self._stop = stop
        self._fault = fault.fault
        self._target = Target(
            container=container, address=site.placement.pod_address, process=process, session=site.tools.session
        )

    async def run(self) -> Exit:
        """Return how the container ended."""
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(part) for part in self._beside()]
            ended = await self._process.wait()
            for task in beside:
                task.cancel()
        return ended

    def _beside(self) -> Iterator[Coroutine[Any, Any, None]]:
        yield self._end_when_asked()
        yield self._live()
        if self._fault.oom_killed_after is not None:
            yield self._run_out_of_memory(self._fault.oom_killed_after)
        if self._fault.evicted_after is not None:
            yield self._be_evicted(self._fault.evicted_after)

    async def _live(self) -> None:
        hook = self._container.lifecycle.post_start
        if hook:
            answer = await self._hook(hook, self._site.pod.spec.termination_grace_period_seconds)
            if not answer.success:
                self._tell("Warning", "FailedPostStartHook", f"PostStartHook failed: {answer.text}")
                await self._kill()
                return
        if self._container.startup_probe and not await self._watch("Startup", self._container.startup_probe).run():
            return
        self._put(started=True, ready=self._container.readiness_probe is None)
        async with asyncio.TaskGroup() as group:
            if self._container.readiness_probe:
                group.create_task(self._watch("Readiness", self._container.readiness_probe).run())
            if self._container.liveness_probe:
                group.create_task(self._watch("Liveness", self._container.liveness_probe).run())

    def _put(self, **changes: bool) -> None:
        board = self._site.board
        board.put(msgspec.structs.replace(board[self._container.name], **changes))

    def _watch(self, kind: ProbeKind, probe: Probe) -> Watch:
        return Watch(
            kind=kind,
            probe=probe,
            target=self._target,
            timings=self._site.tools.timings,
            judged=self._judged,
            failed=lambda kind, text: self._tell("Warning", "Unhealthy", f"{kind} probe failed: {text}"),
        )

    async def _judged(self, kind: ProbeKind, healthy: bool) -> bool:
        if kind == "Readiness":
            self._put(ready=healthy)
            return True
        if healthy or self._stop.asked:
            return kind == "Liveness"
        probe = self._container.liveness_probe if kind == "Liveness" else self._container.startup_probe
        name = self._container.name
        self._tell("Normal", "Killing", f"Container {name} failed {kind.lower()} probe, will be restarted")
        await self._kill(probe.termination_grace_period_seconds if probe else None)
        return False

    async def _kill(self, grace: int | None = None) -> None:
        seconds = self._site.pod.spec.termination_grace_period_seconds if grace is None else grace
        stop = Stop()
        stop.ask(seconds * self._site.tools.timings.grace_unit)
        await self._end(stop)

    async def _end_when_asked(self) -> None:
        await self._stop.wait()
        self._tell("Normal", "Killing", f"Stopping container {self._container.name}")
        await self._end(self._stop)

    async def _end(self, stop: Stop) -> None:
        """preStop, then SIGTERM, then SIGKILL at the deadline, also if that comes nearer meanwhile."""
        hook = self._container.lifecycle.pre_stop
        if hook and stop.remaining > 0:
            answer = await self._hook(hook, stop.remaining)
            if not answer.success:
                self._tell("Warning", "FailedPreStopHook", f"PreStopHook failed: {answer.text}")
        least = LEAST_GRACE * self._site.tools.timings.grace_unit if hook else 0.0
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(self._process.stop(grace=max(stop.remaining, least)))
            urgent = group.create_task(self._kill_at(stop, least))
            await asyncio.wait({ending})
            urgent.cancel()

    async def _kill_at(self, stop: Stop, least: float) -> None:
        await asyncio.sleep(least)
        await stop.deadline()
        await self._process.kill("Error")

    async def _hook(self, hook: Hook, limit: float) -> probes.Answer:
        try:
            async with asyncio.timeout(limit):
                if hook.sleep:
                    await asyncio.sleep(hook.sleep.seconds * self._site.tools.timings.grace_unit)
                    return probes.Answer(True)
                return await probes.ask(hook, self._target, limit)
        except TimeoutError:
            return probes.Answer(False, f"timed out after {limit:g}s")

    async def _run_out_of_memory(self, after: float) -> None:
        await asyncio.sleep(after)
        await self._process.kill("OOMKilled")

    async def _be_evicted(self, after: float) -> None:
        await asyncio.sleep(after)
        name = self._container.name
        self._site.evict(
            f"The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
            f"Container {name} was using more than its request."
        )

    def _tell(self, level: Level, reason: str, message: str) -> None:
        self._site.tell(self._container, level, reason, message)


def running_state(started_at: datetime) -> ContainerState:
    """The state of a container that runs."""
    return ContainerState(running=Running(started_at=started_at.replace(microsecond=0)))


def terminated(ended: Exit, container: Container, run: Run, container_id: str) -> Terminated:
    """How a run ended, with its last words."""
    fall_back = container.termination_message_policy == "FallbackToLogsOnError" and ended.code != 0
    file = run.termination_message.source if run.termination_message else run.scratch / "last-words"
    return Terminated(
        exit_code=ended.code,
        reason=ended.reason,
        message=logs.termination_message(file, fall_back_to=run.log if fall_back else None),
        started_at=ended.started_at.replace(microsecond=0),
        finished_at=ended.finished_at.replace(microsecond=0),
        container_id=container_id,
    )
