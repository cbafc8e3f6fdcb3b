"""A command that is run in a container beside its program, as probes and hooks are."""

import errno
import os
import selectors
import signal
import time
from contextlib import suppress

from aim_engine.local.container.messages import Execute, Executed, Order
from aim_engine.local.container.program import spawn

READ = 64 * 1024
OUTPUT_LIMIT = 10 * 1024
"""What Kubernetes keeps of a probe's output; the rest is read and dropped."""

MISSING, UNUSABLE = 127, 126
"""Exit codes of shells for commands that can't be run."""


class Execution:
    """One running command and what it has printed."""

    def __init__(self, wish: Execute, process: int, output: int, selector: selectors.BaseSelector) -> None:
        self.number = wish.number
        self.deadline = time.monotonic() + wish.timeout
        self.process = process
        self.late = False
        self._output = output
        self._selector = selector
        self._printed = bytearray()

    @classmethod
    def begin(cls, order: Order, wish: Execute, selector: selectors.BaseSelector) -> "Execution | Executed":
        """Start a command; one that can't be executed has ended already."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        if order.privileged:
            os.fchown(writing, order.user, order.group)
        try:
            process = spawn(order, wish.argv, writing, writing)
        except OSError as failure:
            os.close(reading)
            code = MISSING if failure.errno == errno.ENOENT else UNUSABLE
            return Executed(wish.number, code, str(failure.strerror).encode())
        finally:
            os.close(writing)
        execution = cls(wish, process, reading, selector)
        selector.register(reading, selectors.EVENT_READ, execution.readable)
        return execution

    def readable(self, _: int) -> None:
        """Take what was printed; at its end there is nothing more to wait for."""
        if self._read() == b"":
            self._selector.unregister(self._output)

    def kill(self) -> None:
        """End the command and what belongs to its group, for it took too long."""
        self.late = True
        with suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)

    def finish(self, status: int) -> Executed:
        """What to report of a command that has ended; what it left running in the container goes on."""
        while self._read():
            pass
        if self._output in self._selector.get_map():
            self._selector.unregister(self._output)
        os.close(self._output)
        code = os.waitstatus_to_exitcode(status)
        return Executed(self.number, None if self.late else code if code >= 0 else 128 - code, bytes(self._printed))

    def _read(self) -> bytes | None:
        """The next piece; None if there is none now, empty at the end."""
        try:
            data = os.read(self._output, READ)
        except BlockingIOError:
            return None
        self._printed += data[: OUTPUT_LIMIT - len(self._printed)]
        return data
