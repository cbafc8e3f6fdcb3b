"""Which file holds what a container printed, by the rules of `kubectl logs`."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from aim_engine.local.errors import LocalError
from aim_engine.local.node.pod import PodRunner


class NoLog(LocalError):
    """There is nothing to read; the text is a kubelet's."""


class LogFile(msgspec.Struct, frozen=True):
    """The log of one run, and whether that has ended."""

    path: Path
    ended: Callable[[], bool]


def locate(runner: PodRunner, container: str, *, previous: bool) -> LogFile:
    """The log of the run that goes on or ended last, or of the one before it; NoLog says why there is none."""
    pod = runner.pod.metadata.name
    if container not in runner.board.statuses:
        raise NoLog(f'container "{container}" in pod "{pod}" is not available')
    status = runner.board[container]
    waiting, before = status.state.waiting, status.last_state.terminated
    if previous and before is None:
        raise NoLog(f'previous terminated container "{container}" in pod "{pod}" not found')
    if waiting and before is None:
        raise NoLog(f'container "{container}" in pod "{pod}" is waiting to start: {waiting.reason}')
    number = status.restart_count - 1 if previous and not waiting else status.restart_count
    path = runner.layout.log(container, number)
    if not path.exists() and not status.state.running:
        raise NoLog(f'the log of container "{container}" in pod "{pod}" is gone')
    run = status.container_id

    def ended() -> bool:
        now = runner.board[container]
        return now.state.running is None or now.container_id != run

    return LogFile(path, (lambda: True) if previous else ended)
