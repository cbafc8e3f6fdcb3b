"""The first process of a container: makes its surroundings, runs its program, writes its log and leaves nothing behind.

It is a fork of the launcher, so it starts in a millisecond, and it runs as long as the container does:

    begin ─▶ namespaces ─▶ root ─▶ program runs ─▶ program ends ─▶ the rest is killed ─▶ log is complete ─▶ Exited
                 │           │          │
                 └── Refused ┴──────────┘         the agent is gone (end of file): everything is killed at any point

In its own process id namespace it is number 1, so that the kernel kills the rest if even this process is killed.
Elsewhere it adopts orphans, to find and kill whatever the program started.
"""

import os
import selectors
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

import msgspec

from aim_engine.local.container import kernel, pivot, processes
from aim_engine.local.container.execution import Execution
from aim_engine.local.container.journal import Journal, Stream
from aim_engine.local.container.kernel import Namespace
from aim_engine.local.container.memory import Watch
from aim_engine.local.container.messages import (
    Command,
    Execute,
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
from aim_engine.local.container.program import spawn

READ = 64 * 1024


def begin(order: Order, agent: socket.socket) -> None:
    """Be the init of a container, from before its namespaces to its end."""
    try:
        journal = Journal(os.open(order.log_directory, os.O_RDONLY | os.O_DIRECTORY), order.log_name)
        _isolate(order, agent)
        init = Init(order, agent, journal)
    except OSError as failure:
        what = f"{failure.filename}: " if failure.filename else ""
        agent.sendall(line(Refused(f"{what}{failure.strerror}")))
        return
    init.live()


def _isolate(order: Order, agent: socket.socket) -> None:
    """Leave the host behind as far as the mode says; returns in the process that is to be init."""
    kernel.set_name("init")
    if order.mode == "rewritten":
        agent.sendall(line(Forked(os.getpid())))
    else:
        _enter_namespaces(order, agent)
        pivot.enter(order.root, order.steps, own_processes=order.mode == "isolated", seal=order.privileged)
        socket.sethostname(order.hostname)
    if order.mode != "isolated":
        kernel.adopt_orphans()
    Path(order.working_directory).mkdir(parents=True, exist_ok=True)
    if order.read_only_root and order.mode != "rewritten":
        kernel.make_read_only("/")


def _enter_namespaces(order: Order, agent: socket.socket) -> None:
    user, group = os.geteuid(), os.getegid()
    wanted = Namespace.MOUNTS | Namespace.HOSTNAME | Namespace.IPC
    wanted |= Namespace.PROCESSES if order.mode == "isolated" else Namespace(0)
    kernel.unshare(wanted | (Namespace(0) if order.privileged else Namespace.USERS))
    if not order.privileged:
        for file, text in {
            "setgroups": "deny",
            "uid_map": f"{order.user} {user} 1",
            "gid_map": f"{order.group} {group} 1",
        }.items():
            Path("/proc/self", file).write_text(text)
    if order.mode == "isolated":
        _enter_own_numbers(agent)
    else:
        agent.sendall(line(Forked(os.getpid())))


def _enter_own_numbers(agent: socket.socket) -> None:
    """Begin the namespace of process numbers, which takes a fork; only the parent knows the child's number outside."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        agent.sendall(line(Forked(child)))
        os._exit(0)
    os.close(writing)
    os.read(reading, 1)  # ends with the parent: the agent hears of this process before it hears from it
    os.close(reading)


def _noticed(number: int, frame: FrameType | None) -> None:
    """Nothing: that a signal came is read from a descriptor, outside of any handler."""


class Init:
    """The program and what belongs to it: its output, the agent's commands, commands run beside it, a memory limit."""

    def __init__(self, order: Order, agent: socket.socket, journal: Journal) -> None:
        self.order = order
        self.agent = agent
        self.journal = journal
        self.alone = order.mode == "isolated"
        self.lines = Lines()
        self.executions: dict[int, Execution] = {}
        self.status: int | None = None
        self.killed = False
        self.out_of_memory = False
        self.watch = Watch(order.memory_limit) if order.memory_limit else None
        self.next_look = time.monotonic()
        self.selector = selectors.DefaultSelector()
        self.selector.register(agent, selectors.EVENT_READ, self._obey)
        self.selector.register(self._listen_for_signals(), selectors.EVENT_READ, self._reap)
        self.streams: dict[int, Stream] = {}
        self.program = self._start()

    def live(self) -> None:
        """Return when the program has ended, everything it left is killed and all of it is told."""
        self._tell(Started(time.time_ns()))
        while self.status is None:
            for key, _ in self.selector.select(self._patience()):
                if self.selector.get_map().get(key.fd) is key:  # else one before it has closed this one
                    key.data(key.fd)
            self._enforce_limits()
        at = time.time_ns()
        processes.end_all(self.alone)
        self._drain()
        self.journal.close()
        number = -os.waitstatus_to_exitcode(self.status)
        ended = (128 + number, number) if number > 0 else (-number, None)
        self._tell(Exited(*ended, out_of_memory=self.out_of_memory, at=at))

    def _start(self) -> int:
        outputs: list[int] = []
        for stream in ("stdout", "stderr"):
            reading, writing = os.pipe()
            os.set_blocking(reading, False)
            if self.order.privileged:
                os.fchown(writing, self.order.user, self.order.group)  # so that /dev/stdout can be opened
            self.streams[reading] = stream
            self.selector.register(reading, selectors.EVENT_READ, self._log)
            outputs.append(writing)
        try:
            return spawn(self.order, self.order.argv, *outputs)
        finally:
            for writing in outputs:
                os.close(writing)

    def _listen_for_signals(self) -> int:
        """A descriptor that becomes readable when a child has ended, or when this process is asked to end."""
        reading, writing = os.pipe()
        for end in (reading, writing):
            os.set_blocking(end, False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, _noticed)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        return reading

    def _patience(self) -> float | None:
        deadlines = [execution.deadline for execution in self.executions.values() if not execution.late]
        if self.watch:
            deadlines.append(self.next_look)
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _enforce_limits(self) -> None:
        now = time.monotonic()
        for execution in self.executions.values():
            if execution.deadline <= now and not execution.late:
                execution.kill()
        if self.watch and self.next_look <= now and self.status is None:
            if self.watch.exceeded(processes.others(self.alone)):
                self.out_of_memory = True
                self._kill()
            self.next_look = now + self.watch.interval

    def _log(self, descriptor: int) -> bool:
        """Move what the program printed to the log; False if there is nothing now."""
        try:
            data = os.read(descriptor, READ)
        except BlockingIOError:
            return False
        if data:
            self.journal.write(self.streams[descriptor], data)
        else:
            self.selector.unregister(descriptor)
            del self.streams[descriptor]
        return bool(data)

    def _drain(self) -> None:
        for descriptor in list(self.streams):
            while self._log(descriptor):
                pass

    def _reap(self, descriptor: int) -> None:
        if signal.SIGTERM in os.read(descriptor, READ):
            self._kill()
        while self.status is None:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            if child == self.program:
                self.status = status
            elif (execution := self.executions.pop(child, None)) and not self.killed:
                self._tell(execution.finish(status))

    def _obey(self, _: int) -> None:
        data = self.agent.recv(READ)
        if not data:
            self._abandon()
        for text in self.lines(data):
            self._carry_out(msgspec.json.decode(text, type=Command))

    def _carry_out(self, command: Command) -> None:
        match command:
            case Signal(number):
                with suppress(ProcessLookupError):
                    os.killpg(self.program, number)
            case Kill():
                self._kill()
            case Execute():
                self._execute(command)

    def _execute(self, wish: Execute) -> None:
        begun = Execution.begin(self.order, wish, self.selector)
        if isinstance(begun, Execution):
            self.executions[begun.process] = begun
        else:
            self._tell(begun)

    def _kill(self) -> None:
        """End everything; commands that die of it have no result of their own."""
        self.killed = True
        processes.kill_all(self.alone)

    def _tell(self, report: Report) -> None:
        try:
            self.agent.sendall(line(report))
        except OSError:
            self._abandon()

    def _abandon(self) -> None:
        """The agent is gone: end without a word."""
        processes.end_all(self.alone)
        os._exit(0)
