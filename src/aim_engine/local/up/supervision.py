"""Runs everything: brings it up, keeps it up, and takes it down."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import msgspec

from aim_engine.core.gpu_models import BY_NAME
from aim_engine.kube.client import Client
from aim_engine.kube.errors import AlreadyExists, KubeError
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.local import binaries, control_plane, foreign_crds, locks, processes, readiness
from aim_engine.local.binaries import progress
from aim_engine.local.container.book import read_books
from aim_engine.local.control_plane import Cluster
from aim_engine.local.control_plane.network import is_free
from aim_engine.local.demo import publish
from aim_engine.local.errors import LocalError
from aim_engine.local.node import capacity
from aim_engine.local.private_files import write_private
from aim_engine.local.processes import Child, Crew, Program
from aim_engine.local.up import events, objects, story
from aim_engine.local.up.events import Tell
from aim_engine.local.up.facts import Facts, Kept, Running, UpFiles, Wish
from aim_engine.local.up.parts import PARTS, Part, Site

STOP_SECONDS = 15.0
"""How long a part may take to end."""
DOWN_SECONDS = 90.0
POLL_SECONDS = 0.1
WATCH_SECONDS = 1.0
FIRST_PORT = 8080
CONTROL_PLANE = "control plane"
GROUPS = {
    "kserve": foreign_crds.KSERVE_GROUPS,
    "gateway": foreign_crds.GATEWAY_GROUPS,
    "autoscaler": foreign_crds.AUTOSCALER_GROUPS,
}
"""Part -> the API groups it brings; who leaves it out installs a real one, with its own."""


async def run(wish: Wish, crds: Path, tell: Tell) -> None:
    """Run everything until this task is cancelled; at the end nothing of it is left.

    `crds` is the directory of our CRDs. LocalError if a part does not start or ends by itself: one sentence that names
    it, and the last lines of its log.
    """
    files = UpFiles(wish.directory)
    wish.directory.mkdir(parents=True, exist_ok=True)
    wish.directory.chmod(0o700)
    files.log.parent.mkdir(exist_ok=True)
    with locks.held(files.lock):
        files.lock.write_text(str(os.getpid()))
        files.facts.unlink(missing_ok=True)
        files.failure.unlink(missing_ok=True)
        try:
            await _Start(wish, files, tell).run(crds)
        except LocalError as failure:
            files.failure.write_text(str(failure))
            raise
        finally:
            files.facts.unlink(missing_ok=True)
            files.lock.write_text("")


class _Start:
    """One start."""

    def __init__(self, wish: Wish, files: UpFiles, tell: Tell) -> None:
        self._wish, self._files, self._tell = wish, files, tell
        self._kept = _kept(files, wish)
        capacity.parse(self._kept.gpus, BY_NAME)  # what cannot be read is told before anything starts
        read_books(wish.images)
        self._parts = [part for part in PARTS if part.name not in wish.without]
        self._running: dict[str, Child] = {}

    async def run(self, crds: Path) -> None:
        port = self._gateway_port()
        self._files.kept.write_bytes(msgspec.json.encode(Kept(gpus=self._kept.gpus, port=port)))
        for name in (CONTROL_PLANE, *(part.name for part in self._parts)):
            self._tell(events.Part(name, "waiting"))
        async with _control_plane(self._wish.directory, self._crds(crds), self._tell) as cluster:
            site = Site(cluster, self._kept.gpus, self._wish.images, port, self._wish.without)
            async with (
                processes.crew(grace=STOP_SECONDS, together=True) as crew,
                Client(from_kubeconfig([cluster.kubeconfig]), agent=objects.MANAGER) as client,
            ):
                try:
                    sample = await self._bring_up(site, crew, client)
                except KubeError as failure:
                    raise LocalError(f"The API server does not do as it should: {failure}") from failure
                facts = self._facts(site, sample)
                write_private(self._files.facts, msgspec.json.encode(facts))
                self._tell(events.Up(facts))
                await _until_it_ends(self._wish.directory)

    async def _bring_up(self, site: Site, crew: Crew, client: Client) -> str | None:
        """Start every part; the path of the sample, if it answers."""
        publish.images(site.directory / "registry")
        publish.models(site.directory / "hub")
        await objects.install(client, gateway=site.gateway is not None)
        if "operator" not in site.without and not await objects.configure(
            client, gateway=site.gateway is not None, hub=site.hub
        ):
            self._tell(events.Part(CONTROL_PLANE, "done", "the AIMClusterRuntimeConfig default was changed, it stays"))
        async with asyncio.TaskGroup() as group:
            for part in self._parts:
                group.create_task(self._part(part, site, crew), name=part.name)
        if await self._sampled(client):
            return await story.follow(client, objects.SAMPLE, site.gateway, self._tell)
        return None

    async def _sampled(self, client: Client) -> bool:
        """Whether there is a sample to follow: made now, or by an earlier start."""
        if not self._wish.sample or self._wish.without & {"kserve", "registry", "hub", "operator"}:
            return False
        if not self._files.sampled.exists():
            with suppress(AlreadyExists):
                await client.create(objects.SERVICES, objects.sample(), manager=objects.MANAGER)
            self._files.sampled.touch()
        return True

    async def _part(self, part: Part, site: Site, crew: Crew) -> None:
        with progress.heard_by(lambda line: self._tell(events.Part(part.name, "working", line))):
            self._tell(events.Part(part.name, "working", "starting"))
            if part.prepare:
                await part.prepare(site)
        program = Program(
            name=part.title,
            arguments=part.arguments(site),
            log=site.cluster.files.log(part.log or part.name),
            directory=site.directory,
            environment={**os.environ, **(part.environment(site) if part.environment else {})},
        )
        self._running[part.name] = await crew.start(program)
        async with readiness.in_time(part.title, program.log):
            await _ready(part.ready if isinstance(part.ready, str) else part.ready(site), program)
        self._tell(events.Part(part.name, "done", part.title))

    def _facts(self, site: Site, sample: str | None) -> Facts:
        return Facts(
            directory=str(site.directory),
            server=site.cluster.server,
            version=site.cluster.version,
            kubeconfig=str(site.cluster.kubeconfig),
            gpus=self._kept.gpus,
            gateway=site.gateway,
            sample=sample,
            parts=tuple(Running(name, child.pid, str(child.program.log)) for name, child in self._running.items()),
        )

    def _gateway_port(self) -> int:
        """The port that was asked for, or the one of the last start, or the first that is free."""
        if "gateway" in self._wish.without:
            return 0
        if self._wish.port:
            if not is_free("127.0.0.1", self._wish.port):
                raise LocalError(
                    f"Port {self._wish.port} is in use on 127.0.0.1; name another one with --port, or none."
                )
            return self._wish.port
        wanted = (*([self._kept.port] if self._kept.port else []), *range(FIRST_PORT, 65536))
        return next(port for port in wanted if is_free("127.0.0.1", port))

    def _crds(self, ours: Path) -> Callable[[], Awaitable[Sequence[Path]]]:
        """Finds the CRDs that the parts bring: ours come with the operator."""

        async def find() -> Sequence[Path]:
            groups = [group for part, some in GROUPS.items() if part not in self._wish.without for group in some]
            foreign = await foreign_crds.paths(groups=groups) if groups else ()
            return foreign if "operator" in self._wish.without else (ours, *foreign)

        return find


@asynccontextmanager
async def _control_plane(
    directory: Path, crds: Callable[[], Awaitable[Sequence[Path]]], tell: Tell
) -> AsyncGenerator[Cluster]:
    """The control plane for the length of a block; one that somebody started before is taken over, and ends with it.

    Until it is taken over it is still theirs, and whatever fails or is given up before leaves it alone.
    """
    with progress.heard_by(lambda line: tell(events.Part(CONTROL_PLANE, "working", line))):
        await binaries.find("kube-apiserver")
        found = await crds()
    tell(events.Part(CONTROL_PLANE, "working", "starting"))
    already = control_plane.find(directory)
    if already:
        await control_plane.install(already, found)
    try:
        cluster = already or await control_plane.start(directory, crds=found, owner=os.getpid())
        tell(events.Part(CONTROL_PLANE, "done", f"Kubernetes {cluster.version}"))
        yield cluster
    finally:
        await control_plane.stop(directory)


async def _until_it_ends(directory: Path) -> None:
    """Wait for the end of the control plane, which nobody asked for, and say how it ended."""
    while control_plane.find(directory):
        await asyncio.sleep(WATCH_SECONDS)
    control_plane.require(directory)


async def _ready(sign: str, program: Program) -> None:
    """Wait for the sign: an address that answers, or words in the log."""

    async def says() -> bool:
        return sign in program.log.read_text(errors="replace")

    if not sign.startswith("http"):
        await readiness.until(says)
        return
    async with aiohttp.ClientSession() as session:
        await readiness.until_answer(session, sign)


async def stop(directory: Path) -> bool:
    """Take down what runs in `directory`; say whether anything did. Nothing of it is left when this returns."""
    files = UpFiles(directory)
    was_up = locks.is_held(files.lock)
    if was_up:
        try:
            async with asyncio.timeout(DOWN_SECONDS):
                while locks.is_held(files.lock):
                    await _ended(files.lock.read_text())
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            process = files.lock.read_text()
            raise LocalError(f"AIM Engine in {directory} does not end; look at process {process}.") from None
    return await control_plane.stop(directory) or was_up


async def _ended(process: str) -> None:
    """Tell a process to end, if it has said by now which one it is, and wait until it has."""
    if not process:
        return
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(int(process))
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
            gone, loop = asyncio.Event(), asyncio.get_running_loop()
            loop.add_reader(descriptor, gone.set)
            try:
                await gone.wait()
            finally:
                loop.remove_reader(descriptor)
        finally:
            os.close(descriptor)


def _kept(files: UpFiles, wish: Wish) -> Kept:
    """What the last start had, with what is wished of this one."""
    kept = Kept()
    with suppress(FileNotFoundError, msgspec.DecodeError):
        kept = msgspec.json.decode(files.kept.read_bytes(), type=Kept)
    return msgspec.structs.replace(kept, gpus=wish.gpus) if wish.gpus else kept
