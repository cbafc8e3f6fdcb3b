"""Log lines are JSON objects with promised names, in the form that the flags ask for, without credentials."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from aim_engine import settings
from aim_engine.cli import logs


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def logger(*flags: str) -> Any:
    logs.configure(settings.read(flags, {}, "host"))
    return structlog.get_logger("pipeline")


def written(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_has_the_promised_names(capsys: pytest.CaptureFixture[str]) -> None:
    speaking = logger()
    with structlog.contextvars.bound_contextvars(controller="artifact", controllerKind="AIMArtifact", name="weights"):
        speaking.info("All components are ready", condition="Ready", status="True", reason="AllComponentsReady")
    [line] = written(capsys)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line.pop("ts"))
    assert line == {
        "level": "info",
        "logger": "pipeline",
        "msg": "All components are ready",
        "controller": "artifact",
        "controllerKind": "AIMArtifact",
        "name": "weights",
        "condition": "Ready",
        "status": "True",
        "reason": "AllComponentsReady",
    }


@pytest.mark.parametrize(
    ("encoding", "shape"),
    [
        pytest.param("epoch", r"\d{10}\.\d+", id="seconds"),
        pytest.param("millis", r"\d{13}\.\d+", id="milliseconds"),
        pytest.param("nano", r"\d{19}", id="nanoseconds"),
        pytest.param("iso8601", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", id="ISO 8601"),
        pytest.param("rfc3339", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", id="RFC 3339"),
        pytest.param("rfc3339nano", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", id="RFC 3339 with nanoseconds"),
    ],
)
def test_times_are_written_as_asked(capsys: pytest.CaptureFixture[str], encoding: str, shape: str) -> None:
    logger(f"--zap-time-encoding={encoding}").info("now")
    [line] = written(capsys)
    assert re.fullmatch(shape, str(line["ts"]))


@pytest.mark.parametrize(
    ("flags", "levels"),
    [
        pytest.param([], ["info", "error"], id="by default from info on"),
        pytest.param(["--zap-log-level=error"], ["error"], id="errors only"),
        pytest.param(["--zap-log-level=debug"], ["debug", "info", "error"], id="everything"),
        pytest.param(["--zap-log-level=2"], ["debug", "info", "error"], id="a verbosity"),
        pytest.param(["--zap-log-level=0"], ["info", "error"], id="no verbosity"),
        pytest.param(
            ["--zap-devel", "--zap-encoder=json"], ["debug", "info", "error"], id="everything, in the form asked for"
        ),
        pytest.param(
            ["--zap-devel", "--zap-encoder=json", "--zap-log-level=info"], ["info", "error"], id="the level asked for"
        ),
    ],
)
def test_the_level_decides_what_is_written(
    capsys: pytest.CaptureFixture[str], flags: list[str], levels: list[str]
) -> None:
    speaking = logger(*flags)
    speaking.debug("a")
    speaking.info("b")
    speaking.error("c")
    assert [line["level"] for line in written(capsys)] == levels


@pytest.mark.parametrize("flags", [["--zap-devel"], ["--zap-encoder=console"]])
def test_people_get_lines_to_read(capsys: pytest.CaptureFixture[str], flags: list[str]) -> None:
    logger(*flags).info("stores are filled", objects=3)
    [line] = capsys.readouterr().err.splitlines()
    assert "stores are filled" in line
    assert "objects=3" in line


@pytest.mark.parametrize(
    ("flags", "traced"),
    [pytest.param([], False, id="not by default"), pytest.param(["--zap-stacktrace-level=error"], True, id="if asked")],
)
def test_a_stack_trace_is_written_only_if_asked_for(
    capsys: pytest.CaptureFixture[str], flags: list[str], traced: bool
) -> None:
    speaking = logger(*flags)
    try:
        raise ZeroDivisionError("a mistake of ours")
    except ZeroDivisionError as error:
        speaking.error("pass failed", error=f"ZeroDivisionError: {error}", exc_info=error)
    speaking.error("pass failed", error="the pass took longer than 300 s and was ended", exc_info=None)
    unexpected, expected = written(capsys)
    assert unexpected["error"] == "ZeroDivisionError: a mistake of ours"
    assert ("Traceback" in unexpected.get("exception", "")) == traced
    assert expected["error"] == "the pass took longer than 300 s and was ended"
    assert set(expected) == {"level", "ts", "logger", "msg", "error"}


def test_credentials_are_taken_out_of_every_text(capsys: pytest.CaptureFixture[str]) -> None:
    secret = "hf_AbCdEfGhIjKlMnOpQrSt"
    speaking = logger("--zap-stacktrace-level=error")
    try:
        raise ValueError(f"token {secret} is refused")
    except ValueError as error:
        speaking.error(f"can't fetch with {secret}", error=str(error), exc_info=error)
    text = capsys.readouterr().err
    assert "hf_***" in text
    assert secret not in text
