"""One container of a pod through all its runs: pull, start, end, back off, start again.

ContainerCreating ─► pull ─► configure ─► running ─► terminated ─► done
      ▲               │          │                       │
      │   ErrImagePull, ImagePullBackOff                 │
      │               CreateContainerConfigError         │
      └───────────────────────────────── CrashLoopBackOff┘
"""

import asyncio
import secrets
import shutil
from datetime import UTC, datetime

import msgspec

from aim_engine.kube.errors import KubeError
from aim_engine.kube.events import Level
from aim_engine.local.container.book import Image
from aim_engine.local.container.errors import StartError
from aim_engine.local.container.run import Run
from aim_engine.local.node import backoff, environment
from aim_engine.local.node.assembly import assemble
from aim_engine.local.node.attempt import Attempt, running_state, terminated
from aim_engine.local.node.container_spec import Container
from aim_engine.local.node.errors import PodError
from aim_engine.local.node.images import PullFailed, image_id
from aim_engine.local.node.pod_spec import restarts, sidecar
from aim_engine.local.node.pod_status import ContainerState, ContainerStatus, Terminated, Waiting
from aim_engine.local.node.site import Site
from aim_engine.local.node.stopping import Stop

START_FAILED = 128


class ContainerRunner:
    """Runs one container until it may not start again or its end is asked for."""

    def __init__(self, container: Container, site: Site, stop: Stop) -> None:
        self._container = container
        self._site = site
        self._stop = stop
        self._timings = site.tools.timings
        before = self._status
        self._number = before.restart_count + 1 if before.last_state.terminated else 0

    @property
    def _status(self) -> ContainerStatus:
        return self._site.board[self._container.name]

    @property
    def succeeded(self) -> bool:
        """Whether the last run ended with code 0."""
        ended = self._status.state.terminated
        return ended is not None and ended.exit_code == 0

    async def run(self) -> None:
        """Start the container as often as its restart policy says."""
        delay: float | None = None
        while True:
            begun = asyncio.get_running_loop().time()
            ended = await self._run_once()
            if ended is None or self._stop.asked or not restarts(self._site.pod, self._container, ended.exit_code):
                return
            ran = asyncio.get_running_loop().time() - begun
            delay = self._delay(delay, ran)
            if delay and await self._wait_out(delay, ended):
                return
            self._number += 1

    async def started(self, stop: Stop) -> None:
        """Wait until the container counts as started, or the end of its pod is asked for."""
        await self._site.board.until(lambda: bool(self._status.started) or stop.asked)

    async def _run_once(self) -> Terminated | None:
        """Return how the run ended; `None` if the end was asked for before it began."""
        entry = await self._pulled()
        if entry is None:
            return None
        container_id = f"aim://{secrets.token_hex(32)}"
        if entry.idle:
            ended = await self._stay_idle(entry, container_id)
        else:
            ended = await self._start(entry, container_id)
        if ended is None:
            return None
        completed = self._is_init and ended.exit_code == 0
        self._put(state=ContainerState(terminated=ended), ready=completed, started=False)
        return ended

    @property
    def _is_init(self) -> bool:
        """Whether the container has to end before others start."""
        return self._container in self._site.pod.spec.init_containers and not sidecar(self._container)

    async def _start(self, entry: Image, container_id: str) -> Terminated | None:
        try:
            run = await self._configured(entry)
            return await self._run_process(entry, run, container_id) if run else None
        except StartError as error:
            return self._start_failed(error, container_id)
        finally:
            scratch = self._site.layout.run(self._container.name, self._number)
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _run_process(self, entry: Image, run: Run, container_id: str) -> Terminated:
        run.log.parent.mkdir(parents=True, exist_ok=True)
        self._site.layout.forget_log(self._container.name, self._number - 2)
        process = await self._site.tools.sandbox.start(run)
        self._now_running(entry, process.started_at, container_id)
        try:
            ended = await Attempt(process, self._container, self._site, self._stop, entry).run()
        finally:
            await process.stop(grace=0)
        return terminated(ended, self._container, run, container_id)

    async def _stay_idle(self, entry: Image, container_id: str) -> Terminated:
        started_at = datetime.now(UTC).replace(microsecond=0)
        self._now_running(entry, started_at, container_id)
        self._put(started=True, ready=True)
        await self._stop.wait()
        self._tell("Normal", "Killing", f"Stopping container {self._container.name}")
        finished_at = datetime.now(UTC).replace(microsecond=0)
        return Terminated(
            exit_code=0,
            reason="Completed",
            started_at=started_at,
            finished_at=finished_at,
            container_id=container_id,
        )

    def _now_running(self, entry: Image, started_at: datetime, container_id: str) -> None:
        self._tell("Normal", "Created", f"Created container: {self._container.name}")
        self._tell("Normal", "Started", f"Started container {self._container.name}")
        self._put(
            state=running_state(started_at),
            last_state=self._last_state(),
            restart_count=self._number,
            ready=False,
            started=False,
            container_id=container_id,
            image_id=image_id(entry),
        )

    def _start_failed(self, error: StartError, container_id: str) -> Terminated:
        self._tell("Warning", "Failed", f"Error: {error}")
        now = datetime.now(UTC).replace(microsecond=0)
        self._put(restart_count=self._number, last_state=self._last_state(), container_id=container_id)
        return Terminated(
            exit_code=START_FAILED,
            reason="StartError",
            message=str(error),
            started_at=now,
            finished_at=now,
            container_id=container_id,
        )

    async def _pulled(self) -> Image | None:
        """The image's entry; `None` if the end was asked for while it could not be had."""
        delay = 0.0
        while not self._stop.asked:
            try:
                return await self._site.host.images.pull(self._container, self._tell, self._stop)
            except PullFailed as error:
                delay = backoff.doubled(delay, first=self._timings.pull_backoff, limit=self._timings.pull_backoff_limit)
                await self._sit_out(error, delay)
        return None

    async def _sit_out(self, error: PullFailed, delay: float) -> None:
        """Show a failed pull, then that the next one is waited for, half of the time each."""
        self._wait_with(error.reason, str(error))
        self._tell("Warning", "Failed", f"Error: {error.reason}")
        if await self._stop.within(delay / 2):
            return
        if error.reason == "ErrImagePull":
            message = f'Back-off pulling image "{self._container.image}"'
            self._tell("Normal", "BackOff", message)
            self._tell("Warning", "Failed", "Error: ImagePullBackOff")
            self._wait_with("ImagePullBackOff", f"{message}: {error.reason}: {error}")
        await self._stop.within(delay / 2)

    async def _configured(self, entry: Image) -> Run | None:
        """The run, complete; `None` if the end was asked for while something was missing."""
        delay = 0.0
        while not self._stop.asked:
            try:
                names = environment.references(self._container)
                data = await self._site.tools.api.data(self._site.pod.metadata.namespace, names)
                return assemble(self._container, entry, self._site, data, self._number)
            except (PodError, KubeError) as error:
                self._wait_with("CreateContainerConfigError", str(error))
                self._tell("Warning", "Failed", f"Error: {error}")
                delay = backoff.doubled(delay, first=self._timings.retry, limit=self._timings.retry_limit)
                await self._stop.within(delay)
        return None

    def _delay(self, before: float | None, ran: float) -> float:
        return backoff.restart_delay(
            before,
            ran,
            first=self._timings.restart_backoff,
            limit=self._timings.restart_backoff_limit,
            reset=self._timings.restart_backoff_reset,
        )

    async def _wait_out(self, delay: float, ended: Terminated) -> bool:
        """Wait in CrashLoopBackOff; say whether the end was asked for meanwhile."""
        name, title = self._container.name, self._site.pod.title
        self._wait_with(
            "CrashLoopBackOff", f"back-off {_duration(delay)} restarting failed container={name} pod={title}"
        )
        self._tell("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {title}")
        asked = await self._stop.within(delay)
        if asked:
            self._put(state=ContainerState(terminated=ended))
        return asked

    def _wait_with(self, reason: str, message: str) -> None:
        last_state = self._last_state()
        self._put(state=ContainerState(waiting=Waiting(reason=reason, message=message)), last_state=last_state)

    def _last_state(self) -> ContainerState:
        """What `lastState` becomes when the current state is replaced."""
        ended = self._status.state.terminated
        return ContainerState(terminated=ended) if ended else self._status.last_state

    def _put(self, **changes: object) -> None:
        self._site.board.put(msgspec.structs.replace(self._status, **changes))

    def _tell(self, level: Level, reason: str, message: str) -> None:
        self._site.tell(self._container, level, reason, message)


def _duration(seconds: float) -> str:
    """As Go prints it: 10s, 1m20s, 5m0s."""
    if seconds < 60:
        return f"{seconds:g}s"
    return f"{int(seconds // 60)}m{int(seconds % 60)}s"
