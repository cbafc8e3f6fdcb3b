"""Runs informers, controllers, leader election and events as one, and ends them in an order that loses nothing."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from aim_engine.kube.controller import Controller
from aim_engine.kube.events import Recorder
from aim_engine.kube.informer import Informer
from aim_engine.kube.lease import Elector, LeaseLost
from aim_engine.kube.timings import Timings

log = structlog.get_logger("runtime")


@dataclass(kw_only=True)
class Runtime:
    """The parts of one operator process."""

    informers: Sequence[Informer[Any]]
    controllers: Sequence[Controller]
    recorder: Recorder
    elector: Elector | None = None
    """None: this process is alone and leads from the start."""
    timings: Timings = field(default_factory=Timings)

    @property
    def synced(self) -> bool:
        """Every store holds what the server has, so that reconciling makes sense."""
        return all(informer.synced for informer in self.informers)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; `LeaseLost` if another process took over, so that this one must end at once.

        Informers run from the start, so that a successor has everything at hand; controllers run while we lead.
        """
        try:
            async with _background(*(part.run() for part in (*self.informers, self.recorder))):
                finished = True
                if await _unless(stop, self._synced(), self._acquired()):
                    async with _background(*([self.elector.keep()] if self.elector else [])):
                        finished = await self._control(stop)
                # A write of an abandoned pass may still be on its way: then the successor has to wait for the lease.
                if self.elector and finished:
                    await self.elector.release()
        except BaseExceptionGroup as group:
            if group.subgroup(LeaseLost):
                raise LeaseLost("lost the leader lease; another process may lead now, so this one ends") from group
            raise

    async def _synced(self) -> None:
        for informer in self.informers:
            await informer.wait_synced()
        log.info("stores are filled", objects=sum(len(informer.store) for informer in self.informers))

    async def _acquired(self) -> None:
        if self.elector:
            await self.elector.acquire()

    async def _control(self, stop: asyncio.Event) -> bool:
        """Run the controllers until `stop`; false if passes had to be abandoned."""
        async with _background(*(controller.run() for controller in self.controllers)) as running:
            await stop.wait()
            log.info("stopping")
            for controller in self.controllers:
                controller.stop()
            end = asyncio.get_running_loop().time() + self.timings.shutdown
            if running and (await asyncio.wait(running, timeout=self.timings.shutdown))[1]:
                log.warning("passes abandoned; the next process takes them up")
                return False
            await self._tell_until(end)
            return True

    async def _tell_until(self, end: float) -> None:
        """Have the recorded events written; those that nobody takes in time are not worth a successor's wait."""
        try:
            async with asyncio.timeout_at(end):
                await self.recorder.drain()
        except TimeoutError:
            log.warning("events left unwritten")


@asynccontextmanager
async def _background(*work: Any) -> AsyncGenerator[list[asyncio.Task[None]]]:
    """Tasks that run while the block does, and end with it; a failure of one ends the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        yield tasks
        for task in tasks:
            task.cancel()


async def _unless(stop: asyncio.Event, *steps: Any) -> bool:
    """Do the steps one after the other; false if `stop` came first."""
    async with asyncio.TaskGroup() as group:
        stopped = group.create_task(stop.wait())
        for step in steps:
            done = group.create_task(step)
            await asyncio.wait((stopped, done), return_when=asyncio.FIRST_COMPLETED)
            if not done.done():
                done.cancel()
        stopped.cancel()
    return not stop.is_set()
