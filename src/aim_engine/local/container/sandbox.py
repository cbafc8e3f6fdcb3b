"""Runs containers: each as processes of its own, with its own root, log and end.

    async with Sandbox() as sandbox:
        container = await sandbox.start(run)
        ended = await container.wait()

How much a container is kept to itself depends on what the kernel lets this user do; `Sandbox.mode` says which it is
(see `run.Mode`), found out by starting one container in each mode until one works. Whatever the mode, no process of a
container outlives the sandbox, nor the agent: every container's init ends it when its socket closes, as it also does
when the agent is killed.
"""

import asyncio
import os
import socket
import sys
import tempfile
from pathlib import Path

import structlog

import aim_engine
from aim_engine.local.container import orders
from aim_engine.local.container.errors import StartError
from aim_engine.local.container.messages import Kill
from aim_engine.local.container.run import MODES, Mode, Run
from aim_engine.local.container.running import RunningContainer

log = structlog.get_logger("containers")

STARTS_AT_ONCE = 8
"""Forking takes the machine's time, not ours, so a crowd of containers starts in turns."""

END_SECONDS = 10.0
"""How long the sandbox waits for containers to die when it is left; killing takes milliseconds."""

LAUNCHER = """
import sys
sys.path.append({package!r})
from aim_engine.local.container.launcher import main
main()
"""
"""Found by path, so that it works however this package was found: installed, from its sources, or by PYTHONPATH."""


class Sandbox:
    """Starts containers, and ends them all when it is left."""

    def __init__(self, mode: Mode | None = None) -> None:
        """With a mode, containers run in that one or not at all; without, in the best that works here."""
        self._mode: Mode | None = mode
        self.reasons: dict[Mode, str] = {}
        """Why better modes do not work here."""
        self._containers: set[RunningContainer] = set()
        self._turns = asyncio.Semaphore(STARTS_AT_ONCE)
        self._starting_launcher = asyncio.Lock()
        self._launcher: asyncio.subprocess.Process | None = None
        self._orders: socket.socket | None = None

    @property
    def mode(self) -> Mode:
        """How containers are kept apart on this machine."""
        if self._mode is None:
            raise RuntimeError("the mode is known once the sandbox has been entered")
        return self._mode

    async def __aenter__(self) -> "Sandbox":
        if self._mode is None:
            try:
                self._mode = await self._find_mode()
            except BaseException:
                await self._close()
                raise
            tell = log.warning if self.reasons else log.info
            tell("containers run", mode=self._mode, meaning=MODES[self._mode], **self.reasons)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            living = list(self._containers)
            for container in living:
                container.send(Kill())
            async with asyncio.timeout(END_SECONDS):
                await asyncio.gather(*(container.wait() for container in living))
        finally:
            await self._close()

    async def start(self, run: Run) -> "RunningContainer":
        """The container, its program running; StartError says why it can't be."""
        return await self._start(run, self.mode)

    async def _start(self, run: Run, mode: Mode) -> "RunningContainer":
        user, group = os.geteuid(), os.getegid()
        async with self._turns:
            try:
                orders.make_directories(run, agent_user=user)
                order = orders.order(run, mode, agent_user=user, agent_group=group)
            except OSError as failure:
                raise StartError(f"{failure.filename}: {failure.strerror}") from failure
            container = RunningContainer(run, mode, self._containers)
            await container.begin(order, await self._open_orders())
            return container

    async def _find_mode(self) -> Mode:
        for mode in MODES:
            with tempfile.TemporaryDirectory(prefix="aim-sandbox-") as directory:
                trial = Run(
                    name=f"trial of mode {mode}",
                    argv=("/bin/sh", "-c", "exit 0"),
                    scratch=Path(directory, "scratch"),
                    log=Path(directory, "log"),
                )
                try:
                    ended = await (await self._start(trial, mode)).wait()
                except StartError as failure:
                    self.reasons[mode] = str(failure)
                    continue
                if ended.code == 0:
                    return mode
                self.reasons[mode] = f"a shell ended with exit code {ended.code}"
        raise StartError(f"No container can be started on this machine: {self.reasons['rewritten']}")

    async def _open_orders(self) -> socket.socket:
        """The socket to a living launcher; a new launcher if there is none or it has died."""
        async with self._starting_launcher:
            if self._orders and self._launcher and self._launcher.returncode is None:
                return self._orders
            await self._close()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._orders = ours
                program = LAUNCHER.format(package=str(Path(aim_engine.__file__).parent.parent))
                self._launcher = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-c", program, str(theirs.fileno()), str(os.getpid())),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            return ours

    async def _close(self) -> None:
        if self._orders:
            self._orders.close()
        if self._launcher:
            await self._launcher.wait()
        self._orders = self._launcher = None
