"""The walk of the README, command by command, on a start of `aim up`; see tests/docs/pages.py."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, console, missing
from tests.local.census import alive

WALKED = ("README.md", "docs/quickstart.md")
"""Pages whose console blocks are run, in this order; each ends what it started."""
PORT = "localhost:8080"
"""Where pages find the gateway; where it is taken, `aim up` says so and takes the next one."""
END = "-- the command has ended with"


class Shell:
    """One bash for a whole page, so that what a command exports is there for the next one."""

    def __init__(self, directory: Path) -> None:
        environment = {**os.environ, "AIM_CLUSTER_DIRECTORY": str(directory)}
        self._bash = subprocess.Popen(
            ["/bin/bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=environment,
            text=True,
        )

    def run(self, command: str) -> str:
        """What a command prints; it has to succeed."""
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.write(f"{command}\necho; echo '{END}' $?\n")
        self._bash.stdin.flush()
        printed = ""
        for line in self._bash.stdout:
            if line.startswith(END):
                assert line.split()[-1] == "0", f"{command}\n{printed}"
                return printed
            printed += line
        raise AssertionError(f"the shell ended with: {command}\n{printed}")

    def close(self) -> None:
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.close()
        self._bash.wait()
        self._bash.stdout.close()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory for the cluster, where nothing runs after the test, whatever happened in it."""
    place = tmp_path / "cluster"
    yield place
    subprocess.run([aim(), "down", "--directory", str(place)], check=False)


def aim() -> str:
    return str(ROOT / ".venv" / "bin" / "aim") if (ROOT / ".venv").is_dir() else shutil.which("aim") or "aim"


@pytest.mark.xdist_group("walk")
@pytest.mark.parametrize("page", WALKED)
def test_every_command_of_the_page_does_what_the_page_says(page: str, directory: Path) -> None:
    shell, port, processes = Shell(directory), PORT, set[int]()
    commands = console(ROOT / page)
    assert any("aim up --detach" in command.text for command in commands)
    try:
        for command in commands:
            printed = shell.run(command.text.replace(PORT, port))
            if found := re.search(r"curl http://(localhost:\d+)/", printed):
                port = found[1]
            wrong = missing(printed.replace(port, PORT), command.expected)
            assert wrong is None, f"$ {command.text}\nprinted\n{printed}\nand not\n{wrong}"
            processes |= of(directory)
    finally:
        shell.close()
    assert processes, "nothing ran"
    assert not [process for process in processes if alive(process)]
    assert not of(directory)
    assert is_free(port)


def of(directory: Path) -> set[int]:
    """The processes that have to do with a directory."""
    found: set[int] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(directory).encode() in (process / "cmdline").read_bytes():
                found.add(int(process.name))
    return found


def is_free(address: str) -> bool:
    host, port = address.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0
