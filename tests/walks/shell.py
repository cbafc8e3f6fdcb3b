"""A reader's shell: runs what a page shows, and holds what is printed against what the page says."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.walks.pages import ROOT, Command, missing

GATEWAY = "localhost:8080"
"""Where pages find the gateway of `aim up`; where that port is taken, it says so and takes the next one."""
END, GONE = "-- the command has ended with", "-- the command in the background has ended with"


class Shell:
    """One bash for a whole page, so that what a command exports is there for the next one.

    `places` are words of the pages that stand for something of their reader's, and what they are here.
    """

    def __init__(self, bash: "subprocess.Popen[str]", places: Mapping[str, str]) -> None:
        self._bash = bash
        self.places = dict(places)

    def run(self, command: Command) -> str:
        """Run a command, which has to succeed and to print what is expected; returns what it printed."""
        background = command.text.endswith(" &")
        text = self._here(command.text)
        self._write(f"{{ {text[:-2]}; echo '{GONE}' $?; }} &" if background else f"{text}\necho; echo '{END}' $?")
        printed = ""
        for line in self._lines():
            assert not line.startswith(GONE), f"$ {command.text}\nended by itself, and printed\n{printed}"
            if line.startswith(END):
                assert line.split()[-1] == "0", f"$ {command.text}\nfailed, and printed\n{printed}"
                break
            printed += line
            if background and missing(self._there(printed), command.expected) is None:
                break
        if found := re.search(r"curl http://(localhost:\d+)/", printed):
            self.places[GATEWAY] = found[1]
        printed = self._there(printed)
        wrong = missing(printed, command.expected)
        assert wrong is None, f"$ {command.text}\nprinted\n{printed}\nand not\n{wrong}"
        return printed

    def _here(self, text: str) -> str:
        for there, here in self.places.items():
            text = text.replace(there, here)
        return text

    def _there(self, text: str) -> str:
        for there, here in self.places.items():
            text = text.replace(here, there)
        return text

    def _write(self, text: str) -> None:
        assert self._bash.stdin
        self._bash.stdin.write(f"{text}\n")
        self._bash.stdin.flush()

    def _lines(self) -> Iterator[str]:
        assert self._bash.stdout
        yield from iter(self._bash.stdout.readline, "")
        raise AssertionError("the shell has ended")


@contextmanager
def shell(environment: Mapping[str, str], places: Mapping[str, str] | None = None) -> Iterator[Shell]:
    """A shell in the project's folder, with jobs of its own as at a terminal."""
    with subprocess.Popen(
        ["/bin/bash", "--noprofile", "--norc", "-o", "pipefail"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env=dict(environment),
        text=True,
    ) as bash:
        reader = Shell(bash, places or {})
        reader.run(Command("set -m"))
        yield reader
