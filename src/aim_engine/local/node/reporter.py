"""Tells the API server what becomes of a pod, whenever that differs from what it was told before."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

import structlog

from aim_engine.kube.errors import KubeError
from aim_engine.local.node import backoff, status
from aim_engine.local.node.api_server import PodApi
from aim_engine.local.node.board import Board
from aim_engine.local.node.facts import Facts, Failure
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.pod_status import PodCondition, PodStatus
from aim_engine.local.node.timings import Timings

T = TypeVar("T")
log = structlog.get_logger("node")


def now() -> datetime:
    """The time as statuses hold it: whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


async def patiently(call: Callable[[], Awaitable[T]], timings: Timings, doing: str) -> T:
    """Try until the API server answers."""
    delay = 0.0
    while True:
        try:
            return await call()
        except KubeError as error:
            delay = backoff.doubled(delay, first=timings.retry / 10, limit=timings.retry_limit)
            log.warning("trying again", doing=doing, error=str(error), wait=delay)
            await asyncio.sleep(delay)


class Reporter:
    """Holds what the status says beside the containers; changing it has the pod reported."""

    def __init__(self, pod: Pod, board: Board, host_address: str, api: PodApi, timings: Timings) -> None:
        self.pod = pod
        self.address = ""
        self.sandbox = False
        self.failure: Failure | None = None
        self.silent = False
        """Whether nothing is told any more, because another agent will take the pod over."""
        self._board = board
        self._host_address = host_address
        self._api = api
        self._timings = timings
        self.start_time = pod.status.start_time or now()
        self._conditions: tuple[PodCondition, ...] = pod.status.conditions
        self._told: PodStatus | None = None

    async def run(self) -> None:
        """Report every change until cancelled."""
        while True:
            await self._board.change()
            await self._tell(ending=False)

    async def last(self) -> None:
        """Report the end: no container will be started any more."""
        self.sandbox = False
        await self._tell(ending=True)

    async def _tell(self, *, ending: bool) -> None:
        facts = Facts(
            now=now(),
            start_time=self.start_time,
            host_address=self._host_address,
            pod_address=self.address,
            sandbox=self.sandbox,
            failure=self.failure,
            ending=ending,
        )
        told = status.compute(self.pod, self._board.statuses, facts, self._conditions)
        if told == self._told or self.silent:
            return
        await patiently(lambda: self._api.report(self.pod, told), self._timings, f"report {self.pod.metadata.key}")
        self._told, self._conditions = told, told.conditions
