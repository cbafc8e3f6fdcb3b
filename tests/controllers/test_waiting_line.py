"""Templates that wait for their discovery."""

from aim_engine.controllers.waiting_line import WaitingLine
from aim_engine.core.discovery import Waiting
from aim_engine.objects import Key


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def one(name: str) -> Waiting:
    return Waiting("AIMServiceTemplate", Key("team", name))


def test_the_first_go_first_and_leave() -> None:
    line = WaitingLine()
    for name in ("a", "b", "c"):
        line.join(one(name))
    line.join(one("a"))
    assert line.next(2, {}) == [one("a"), one("b")]
    line.leave(one("a"))
    assert line.next(2, {}) == [one("b"), one("c")]


def test_nobody_goes_while_there_is_no_place() -> None:
    line = WaitingLine()
    line.join(one("a"))
    assert line.next(0, {}) == []
    assert line.next(-3, {}) == []


def test_who_does_not_come_back_is_forgotten() -> None:
    clock = Clock()
    line = WaitingLine(forgotten_after=30, clock=clock)
    line.join(one("deleted"))
    clock.now = 20
    line.join(one("patient"))
    clock.now = 31
    assert line.next(1, {}) == [one("patient")]
