"""A container that was started, as the agent sees it: the agent's end of the connection with the container's init."""

import asyncio
import os
import signal
import socket
from datetime import UTC, datetime

import msgspec

from aim_engine.local.container import rewrite
from aim_engine.local.container.errors import ContainerGone, StartError
from aim_engine.local.container.messages import (
    Command,
    Execute,
    Executed,
    Exited,
    Forked,
    Kill,
    Lines,
    Order,
    Refused,
    Report,
    Signal,
    Started,
    line,
)
from aim_engine.local.container.root import interpreter_places
from aim_engine.local.container.run import Exit, Mode, Reason, Run


class RunningContainer(asyncio.Protocol):
    """A container; `Sandbox.start` returns it with its program running."""

    def __init__(self, run: Run, mode: Mode, living: "set[RunningContainer]") -> None:
        self.run = run
        self.mode: Mode = mode
        self.pid = 0
        """The process of the host whose death ends the container: its init."""
        self.started_at = datetime.now(UTC)
        self._living = living
        self._lines = Lines()
        self._transport: asyncio.WriteTransport | None = None
        loop = asyncio.get_running_loop()
        self._started: asyncio.Future[None] = loop.create_future()
        self._exit: asyncio.Future[Exit] = loop.create_future()
        self._executions: dict[int, asyncio.Future[Executed]] = {}
        self._executed = 0
        self._reason: Reason | None = None

    async def begin(self, order: Order, launcher: socket.socket) -> None:
        """Have the launcher fork this container, and return when its program runs."""
        ours, theirs = socket.socketpair()
        with theirs, os.fdopen(os.memfd_create("order"), "w+b") as text:
            text.write(line(order))
            text.flush()
            text.seek(0)
            try:
                socket.send_fds(launcher, [b"1"], [text.fileno(), theirs.fileno()])
            except OSError as failure:
                ours.close()
                raise StartError("the launcher of containers has died; try again") from failure
        await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=ours)
        try:
            await self._started
        except BaseException:
            self._abandon()
            raise

    def ended(self) -> bool:
        """Whether the container has ended and its log is complete."""
        return self._exit.done()

    async def wait(self) -> Exit:
        """How the container ended; by then its log is complete and none of its processes is left."""
        return await asyncio.shield(self._exit)

    async def stop(self, grace: float) -> Exit:
        """Ask the program to end and, after `grace` seconds, kill all of the container."""
        if grace > 0:
            self.send(Signal(signal.SIGTERM))
            await asyncio.wait([self._exit], timeout=grace)
        self.send(Kill())
        return await self.wait()

    async def kill(self, reason: Reason) -> Exit:
        """End all of the container now and give that reason for it."""
        self._reason = reason
        self.send(Kill())
        return await self.wait()

    async def execute(self, argv: tuple[str, ...] | list[str], timeout: float) -> tuple[int, str]:
        """Run a command beside the program, with its environment; return its exit code and the beginning of its output.

        A command that does not exist has the code 127. TimeoutError: it was killed after `timeout` seconds.
        ContainerGone: the container has ended, or did so meanwhile.
        """
        if self.ended():
            raise ContainerGone(f"Container {self.run.name} has ended.")
        known = rewrite.places(self.run, interpreter_places()) if self.mode == "rewritten" else {}
        self._executed += 1
        answer: asyncio.Future[Executed] = asyncio.get_running_loop().create_future()
        self._executions[self._executed] = answer
        self.send(Execute(self._executed, tuple(rewrite.rewrite(word, known) for word in argv), timeout))
        executed = await answer
        if executed.code is None:
            raise TimeoutError(f"{argv[0]} took longer than {timeout:g} seconds")
        return executed.code, executed.output.decode(errors="replace")

    def send(self, command: Command) -> None:
        """Tell the container's init something; nothing if it has ended."""
        if self._transport and not self.ended():
            self._transport.write(line(command))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._living.add(self)

    def data_received(self, data: bytes) -> None:
        for text in self._lines(data):
            self._take(msgspec.json.decode(text, type=Report))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Init says how a container ended before it hangs up; if it does not, somebody has killed it."""
        self._living.discard(self)
        if not self._started.done():
            self._started.set_exception(StartError("the container's first process died while it was starting"))
        elif not self._exit.done():
            self._end(Exited(128 + signal.SIGKILL, signal.SIGKILL, out_of_memory=False, at=_now()))

    def _take(self, report: Report) -> None:
        match report:
            case Forked(pid):
                self.pid = pid
            case Started(at):
                self.started_at = _time(at)
                self._resolve_started(None)
            case Refused(why):
                self._resolve_started(StartError(why))
            case Executed(number):
                if (answer := self._executions.pop(number, None)) and not answer.done():
                    answer.set_result(report)
            case Exited():
                self._end(report)

    def _resolve_started(self, failure: StartError | None) -> None:
        if self._started.done():
            return
        if failure:
            self._started.set_exception(failure)
        else:
            self._started.set_result(None)

    def _end(self, exited: Exited) -> None:
        reason: Reason = "Completed" if exited.code == 0 else "Error"
        if exited.signal == signal.SIGKILL:
            reason = "OOMKilled" if exited.out_of_memory else self._reason or reason
        self._exit.set_result(
            Exit(
                code=exited.code,
                signal=exited.signal,
                reason=reason,
                started_at=self.started_at,
                finished_at=_time(exited.at),
            )
        )
        for answer in self._executions.values():
            if not answer.done():
                answer.set_exception(ContainerGone(f"Container {self.run.name} has ended."))
        self._executions.clear()
        self._abandon()

    def _abandon(self) -> None:
        if self._transport:
            self._transport.close()


def _now() -> int:
    return int(datetime.now(UTC).timestamp() * 1_000_000) * 1000


def _time(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1_000_000_000, UTC)
