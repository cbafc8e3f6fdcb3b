"""Every command that a page shows is run by a test, and one inside a sentence exists with its flags."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.conftest import run as finished
from tests.walks import pages, test_installing, test_this_machine, test_your_cluster
from tests.walks.pages import ROOT

from aim_engine import settings
from aim_engine.cli.main import aim
from aim_engine.local import binaries

OURS = re.compile(r"`((?:aim|helm|kubectl|make) [^`\n]+)`")
"""A command inside a sentence."""


def refusal(line: str) -> str | None:
    """What is wrong with a command."""
    program, *arguments = shlex.split(line)
    if program == "aim":
        return refused_by_us(arguments)
    if program == "make":
        made = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return None if set(arguments) <= set(made) else f"the Makefile makes only {made}"
    return refused_by(program, arguments)


def refused_by_us(arguments: list[str]) -> str | None:
    """What the command line of `aim` says of these arguments; a sentence may leave out those that are required."""
    command: click.Command | None = aim
    context = click.Context(aim)
    names: list[str] = []
    while isinstance(command, click.Group) and arguments:
        name, *arguments = arguments
        names.append(name)
        command = command.get_command(context, name)
    if command is None:
        return f"aim has no {' '.join(names)}"
    if names == ["kubectl"]:
        return refused_by("kubectl", arguments)
    if isinstance(command, click.Group):
        return None
    try:
        if names == ["operator"]:
            list(settings.flags(arguments))
        else:
            command.make_context(" ".join(names), list(arguments))
    except (click.exceptions.Exit, click.MissingParameter):
        return None
    except (click.UsageError, settings.UsageError) as reason:
        return str(reason)
    return None


def refused_by(program: str, arguments: list[str]) -> str | None:
    """What kubectl or helm says: with --help it checks the flags of a command and does nothing."""
    file: Path = finished(binaries.find(program))
    asked = subprocess.run([file, *arguments, "--help"], capture_output=True, text=True, check=False, timeout=60)
    verb = next(iter(word for word in plain(arguments)), "")
    if asked.returncode:
        return asked.stderr.strip()
    return None if f"{program} {verb}" in asked.stdout.partition("Usage:")[2] else f"{program} has no {verb}"


def plain(arguments: list[str]) -> Iterator[str]:
    """The words that are no flags, nor values of the flags that stand before the verb."""
    rest = iter(arguments)
    for word in rest:
        if word in {"-n", "--namespace"}:
            next(rest)
        elif not word.startswith("-"):
            yield word


def run_somewhere() -> set[str]:
    """Every command that a test runs, as a page shows it."""
    sections = [*test_this_machine.WALKS.items(), ("docs/quickstart.md", "On your cluster")]
    sections += [(page, "") for page in (*test_your_cluster.WALKS, test_installing.GUIDE)]
    walked = {command.text for page, section in sections for command in pages.commands(page, section)}
    return walked | {f"make {target}" for target in MAKE}


MAKE = ("up", "test", "check", "bench", "format")
"""What pages say of make: the first is run by a test, the next two run these tests, the last are for developers."""


def repeated(text: str) -> set[str]:
    """The commands of a block that repeats what is run elsewhere, one on a line."""
    return {line.partition("#")[0].strip() for line in text.splitlines()}


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_is_run_by_a_test(page: Path) -> None:
    shown = {command.text for command in pages.commands(page)}
    for block in pages.blocks(page):
        assert block.kind not in {"bash", "shell", "zsh"}, "commands are in blocks console or sh"
        shown |= repeated(block.text) if block.kind == "sh" else set()
    assert shown <= run_somewhere()


SENTENCES = [
    pytest.param(line, id=f"{page.relative_to(ROOT)}: {line}")
    for page in pages.pages()
    for line in sorted(set(OURS.findall(pages.BLOCK.sub("", page.read_text()))))
]


@pytest.mark.parametrize("line", SENTENCES)
def test_a_command_inside_a_sentence_exists_with_its_flags(line: str) -> None:
    assert refusal(line) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("aim up --dettach", "No such option", id="a flag of ours"),
        pytest.param("aim dwon", "aim has no dwon", id="a command of ours"),
        pytest.param("aim operator --metrics-secured", "unknown flag", id="a flag of the operator"),
        pytest.param("make upp", "the Makefile makes only", id="a target"),
        pytest.param("kubectl get pods --sorted", "unknown flag: --sorted", id="a flag of kubectl"),
        pytest.param("kubectl gett pods", 'unknown command "gett"', id="a command of kubectl"),
        pytest.param("helm install x y --sett a=b", "unknown flag: --sett", id="a flag of helm"),
    ],
)
def test_a_command_with_a_mistake_is_noticed(line: str, words: str) -> None:
    assert words in (refusal(line) or "")
