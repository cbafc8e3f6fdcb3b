"""One pod on one node, from the moment it is bound until its object is gone."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from aim_engine.kube.errors import KubeError
from aim_engine.kube.events import Level, Reference
from aim_engine.local.node import adoption, backoff, environment, files, status
from aim_engine.local.node.addresses import NoAddress
from aim_engine.local.node.board import Board
from aim_engine.local.node.container_spec import Container
from aim_engine.local.node.downward import Placement
from aim_engine.local.node.errors import MountError, PodError
from aim_engine.local.node.facts import Failure
from aim_engine.local.node.pod_containers import run_containers
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.reporter import Reporter, patiently
from aim_engine.local.node.site import Host, Site, Tools
from aim_engine.local.node.stopping import Stop
from aim_engine.local.node.volumes import Volumes

DEADLINE = Failure(reason="DeadlineExceeded", message="Pod was active on the node longer than the specified deadline")

log = structlog.get_logger("node")


class PodRunner:
    """Runs the containers of a pod and reports what becomes of them."""

    def __init__(self, pod: Pod, host: Host, tools: Tools) -> None:
        self.pod = pod
        self.host = host
        self.board = Board(adoption.adopted(pod))
        self.layout = host.layout.pod(pod.metadata.uid)
        self._tools = tools
        self._reporter = Reporter(pod, self.board, host.address, tools.api, tools.timings)
        self._stop = Stop()
        self._updated = asyncio.Event()
        self._deletion = asyncio.Event()
        self._gone = asyncio.Event()
        self._stale = False
        """Whether files of its volumes may be older than what they are made of."""
        self.update(pod)

    def update(self, pod: Pod) -> None:
        """Take the newest version of the object."""
        said = (self.pod.metadata.labels, self.pod.metadata.annotations)
        self._stale = self._stale or said != (pod.metadata.labels, pod.metadata.annotations)
        self.pod = self._reporter.pod = pod
        self._updated.set()
        self.board.touch()
        if pod.metadata.deletion_timestamp is not None:
            self._deletion.set()
            grace = pod.metadata.deletion_grace_period_seconds
            self._end(pod.spec.termination_grace_period_seconds if grace is None else grace)
        elif pod.status.phase in status.TERMINAL:  # somebody else judged it; ours comes when nothing runs any more
            self._end(pod.spec.termination_grace_period_seconds)

    def source_changed(self, reference: environment.Reference) -> None:
        """A ConfigMap or Secret of the namespace is not what it was."""
        if any(reference in files.references(volume) for volume in self.pod.spec.volumes):
            self._stale = True
            self.board.touch()

    def vanish(self) -> None:
        """The object is gone: end whatever runs, at once."""
        self._gone.set()
        self._deletion.set()
        self._end(0)

    def leave(self) -> None:
        """The agent stops: end the processes and say nothing, so that the next agent can take the pod over."""
        self._reporter.silent = True
        self._gone.set()
        self._deletion.set()
        self._stop.ask(self._tools.timings.leaving)
        self.board.touch()

    def evict(self, message: str) -> None:
        """End the pod because the node can't keep it."""
        self._tell(None, "Warning", "Evicted", message)
        self._fail(Failure(reason="Evicted", message=message, disruption=True), grace=0)

    async def run(self) -> None:
        """Run the pod, report its end, and free its object when its deletion was asked for."""
        try:
            if self.pod.status.phase not in status.TERMINAL:
                await self._live()
                await self._settle()
            await self._deletion.wait()
            if not self._gone.is_set():
                await patiently(lambda: self._tools.api.forget(self.pod), self._tools.timings, "delete a pod")
            await self._gone.wait()
        finally:
            self.host.addresses.give_back(self.pod.metadata.uid)
            self.layout.remove()

    async def _live(self) -> None:
        self._reporter.failure = adoption.lost_for_good(self.pod)
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(self._reporter.run()), group.create_task(self._obey_deadline())]
            site = None if self._reporter.failure else await self._prepared()
            if site is not None:
                beside.append(group.create_task(self._keep_fresh(site)))
                await run_containers(site, self._stop)
            for task in beside:
                task.cancel()

    async def _settle(self) -> None:
        """Report the end and keep only the logs."""
        await asyncio.to_thread(self.layout.remove_all_but_logs)
        self.host.addresses.give_back(self.pod.metadata.uid)
        if self._gone.is_set():
            return
        for each in adoption.ended(self.board.statuses).values():
            self.board.put(each)
        await self._reporter.last()

    async def _prepared(self) -> Site | None:
        """Address and volumes, as soon as everything they need is there; `None` if the end was asked for first."""
        delay = 0.0
        timings = self._tools.timings
        while not self._stop.asked:
            try:
                site = await self._prepare()
            except (MountError, NoAddress) as error:
                reason = "FailedMount" if isinstance(error, MountError) else "FailedCreatePodSandBox"
                self._tell(None, "Warning", reason, str(error))
                delay = backoff.doubled(delay, first=timings.retry, limit=timings.retry_limit)
                await self._stop.within(delay)
                continue
            self._reporter.sandbox = True
            self.board.touch()
            return site
        return None

    async def _prepare(self) -> Site:
        self.layout.make()
        placement = self._placement()
        tools = self._tools
        volumes = Volumes(self.layout, tools.api, tools.find_claim, token_life=tools.timings.token_life)
        await volumes.prepare(self.pod, placement)
        self._reporter.address = placement.pod_address
        return Site(
            pod=self.pod,
            host=self.host,
            tools=tools,
            placement=placement,
            layout=self.layout,
            volumes=volumes,
            board=self.board,
            evict=self.evict,
            tell=self._tell,
        )

    def _placement(self) -> Placement:
        host = self.host
        own = not self.pod.spec.host_network
        address = host.addresses.take(self.pod.metadata.uid, self.pod.status.pod_ip) if own else host.address
        return Placement(
            node=host.machine.name,
            host_address=host.address,
            pod_address=address,
            allocatable=dict(host.allocatable),
        )

    async def _obey_deadline(self) -> None:
        while True:
            self._updated.clear()
            seconds = self.pod.spec.active_deadline_seconds
            passed = (datetime.now(UTC) - self._reporter.start_time).total_seconds()
            left = None if seconds is None else max(0.0, seconds * self._tools.timings.grace_unit - passed)
            try:
                async with asyncio.timeout(left):
                    await self._updated.wait()
            except TimeoutError:
                self._tell(None, "Normal", DEADLINE.reason, DEADLINE.message)
                self._fail(DEADLINE, grace=self.pod.spec.termination_grace_period_seconds)
                return

    async def _keep_fresh(self, site: Site) -> None:
        """Replace tokens before they end, and files when the labels, ConfigMaps or Secrets they are made of change."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(site.volumes.refresh_after(datetime.now(UTC))):
                    await self.board.until(lambda: self._stale)
            self._stale = False
            try:
                await site.volumes.refresh(self.pod, site.placement)
            except (PodError, KubeError) as error:
                log.warning("volumes not refreshed", pod=str(self.pod.metadata.key), error=str(error))
                self._stale = True
                await asyncio.sleep(self._tools.timings.retry)

    def _fail(self, failure: Failure, grace: float) -> None:
        self._reporter.failure = self._reporter.failure or failure
        self._end(grace)

    def _end(self, grace: float) -> None:
        self._stop.ask(grace * self._tools.timings.grace_unit)
        self.board.touch()

    def _tell(self, container: Container | None, level: Level, reason: str, message: str) -> None:
        metadata = self.pod.metadata
        kind = "initContainers" if container in self.pod.spec.init_containers else "containers"
        field_path = f"spec.{kind}{{{container.name}}}" if container else ""
        about = Reference("v1", "Pod", metadata.namespace, metadata.name, metadata.uid, field_path)
        self._tools.recorder.record("kubelet", about, level, reason, message, host=self.host.machine.name)
