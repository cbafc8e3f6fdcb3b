"""What pages say of this machine, done command by command; each page ends what it starts."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.conftest import free_port
from tests.local.census import alive, of
from tests.walks.pages import ROOT, commands
from tests.walks.shell import GATEWAY, shell

PROGRAMS = ROOT / ".venv" / "bin"
WALKS = {
    "README.md": "Try it on this machine",
    "docs/quickstart.md": "On this machine",
    "docs/guides/local-cluster.md": "",
    "docs/guides/local-nodes.md": "",
}
"""Page -> its section, if not all of it is about this machine."""


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory for the cluster, where nothing runs after the test, whatever happened in it."""
    place = tmp_path / "cluster"
    yield place
    subprocess.run([PROGRAMS / "aim", "down", "--directory", place], check=False)


@pytest.mark.xdist_group("walk")
@pytest.mark.parametrize("page", WALKS)
def test_every_command_of_the_page_does_what_the_page_says(page: str, directory: Path) -> None:
    environment = {**os.environ, "AIM_CLUSTER_DIRECTORY": str(directory), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    processes = set[int]()
    with shell(environment, {"9080": str(free_port())}) as reader:
        for command in commands(page, WALKS[page]):
            reader.run(command)
            processes |= of(directory)
    assert processes, "nothing ran"
    assert not [process for process in processes if alive(process)]
    assert not of(directory)
    assert is_free(reader.places.get(GATEWAY, GATEWAY))


@pytest.mark.xdist_group("walk")
def test_make_up_ends_with_a_command_that_works_and_ctrl_c_ends_everything(directory: Path) -> None:
    environment = {**os.environ, "AIM_CLUSTER_DIRECTORY": str(directory)}
    made = subprocess.Popen(
        ["make", "up"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, process_group=0
    )
    assert made.stdout
    printed: list[str] = []
    for line in made.stdout:
        printed.append(line)
        if line.strip() == "stop       Ctrl-C":
            break
    (question,) = [line.partition("ask it")[2].strip() for line in printed if "ask it" in line]
    answer = subprocess.run(question, shell=True, capture_output=True, text=True, check=True)
    assert '"role": "assistant"' in answer.stdout
    processes = of(directory)
    os.killpg(made.pid, signal.SIGINT)
    assert "Everything is stopped" in made.communicate()[0]
    assert processes and not [process for process in processes if alive(process)]


def is_free(address: str) -> bool:
    host, port = address.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0
