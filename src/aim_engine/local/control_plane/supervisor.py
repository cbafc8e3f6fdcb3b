"""The process above a control plane: starts its programs, says when they are ready, and ends them.

It is started as `python -m aim_engine.local.control_plane.supervisor` with an `Order` as JSON on standard input, leaves
its parent, and prints one `Answer` as JSON on standard output: when the cluster is ready, or when it cannot become so.
If nobody reads the answer any more, because the start was given up, it ends the cluster.
"""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import msgspec

from aim_engine.local import interruption, locks, processes
from aim_engine.local.control_plane import components, startup
from aim_engine.local.control_plane.cluster import Files
from aim_engine.local.control_plane.network import Network
from aim_engine.local.control_plane.order import Answer, Order
from aim_engine.local.errors import LocalError
from aim_engine.local.private_files import write_private

STOP_SECONDS = 10.0
"""How long a program of a lasting cluster may take to end."""


async def supervise(order: Order) -> None:
    """Run a cluster until this task is cancelled; raise LocalError if it cannot start or ends by itself."""
    files = Files(Path(order.directory))
    _end_with(order.owner)
    async with locks.awaited(files.running):
        files.running.write_text(str(os.getpid()))
        network = Network(order.directory)
        files.facts.unlink(missing_ok=True)
        files.failure.unlink(missing_ok=True)
        try:
            async with processes.crew(grace=0 if order.ephemeral else STOP_SECONDS) as crew:
                cluster = await startup.bring_up(order, network, crew)
                write_private(files.facts, msgspec.json.encode(cluster))
                if _answered(Answer(cluster=cluster)):
                    await asyncio.Event().wait()
        except LocalError as failure:
            files.failure.write_text(str(failure))
            raise
        finally:
            network.close()
            files.running.write_text("")
            if order.ephemeral:
                shutil.rmtree(files.directory / components.EPHEMERAL_DATA, ignore_errors=True)


def _end_with(owner: int | None) -> None:
    """Cancel the current task, once, on SIGTERM, SIGINT and the end of the process `owner`."""
    task = asyncio.current_task()
    assert task
    interruption.listen(task)
    if owner is None:
        return
    try:
        descriptor = os.pidfd_open(owner)
    except ProcessLookupError:
        task.cancel()
        return
    asyncio.get_running_loop().add_reader(descriptor, _ended, descriptor, task)


def _ended(descriptor: int, task: asyncio.Task[None]) -> None:
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)
    interruption.cancel_once(task)


def _answered(answer: Answer) -> bool:
    """Tell whoever started us, once, and let go of their pipe; say whether they still waited for it."""
    try:
        os.write(1, msgspec.json.encode(answer))
    except BrokenPipeError:
        return False
    finally:
        os.dup2(2, 1)
    return True


def main() -> None:
    """Read the order, leave the parent, and supervise."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    if os.fork():
        os._exit(0)
    os.setsid()
    try:
        asyncio.run(supervise(order))
    except asyncio.CancelledError:
        pass
    except LocalError as failure:
        _answered(Answer(failure=str(failure)))
        sys.exit(f"{failure}")


if __name__ == "__main__":
    main()
