"""Commands that pages show without a test that runs them: each is held against the program it is for."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.conftest import run as finished
from tests.docs.pages import ROOT, blocks, pages
from tests.local.test_walk import WALKED

from aim_engine import settings
from aim_engine.cli.main import aim
from aim_engine.local import binaries

OTHERS = {"curl", "export", "grep", "skopeo"}
"""Programs that are not ours, or the shell's own."""
NESTED = re.compile(r"\$\(([^()]*)\)")
HERE = re.compile(r"<<\s*'?(\w+)'?\n.*?^\1$", re.MULTILINE | re.DOTALL)


def commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a shell text, word by word; what stands in `$(…)` comes as a command of its own."""
    text = HERE.sub("", text.replace("\\\n", " "))
    for line in text.splitlines():
        for nested in NESTED.findall(line):
            yield from commands(nested)
        lexer = shlex.shlex(NESTED.sub("nested", line), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in (*lexer, ";"):
            if word in {"|", "||", "&&", ";"}:
                if words:
                    yield words
                words = []
            else:
                words.append(word)


def refusal(words: list[str]) -> str | None:
    """What is wrong with a command."""
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if program == "aim":
        return refused_by_us(arguments)
    if program == "make":
        made = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return None if set(arguments) <= set(made) else f"the Makefile makes only {made}"
    if program in {"kubectl", "helm"}:
        return refused_by(program, arguments)
    return None if program in OTHERS else f"{program} is neither ours nor known to this test"


def refused_by_us(arguments: list[str]) -> str | None:
    """What the command line of `aim` says of these arguments."""
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
    try:
        if names == ["operator"]:
            list(settings.flags(arguments))
        else:
            command.make_context(" ".join(names), list(arguments))
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


SHOWN = [
    pytest.param(words, id=f"{page.relative_to(ROOT)}: {shlex.join(words)}")
    for page in pages()
    for text in blocks(page, "sh")
    for words in commands(text)
]


@pytest.mark.parametrize("words", SHOWN)
def test_a_command_that_is_shown_exists_with_its_flags(words: list[str]) -> None:
    assert refusal(words) is None


def test_commands_are_in_no_other_kind_of_block() -> None:
    """A test runs those of console blocks, and this file looks at those of sh blocks."""
    for page in pages():
        assert not [kind for kind in ("bash", "shell", "zsh") for _ in blocks(page, kind)], page
        if str(page.relative_to(ROOT)) not in WALKED:
            assert not list(blocks(page, "console")), f"{page} has console blocks, and tests/local/test_walk.py not it"


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
    assert words in (refusal(next(commands(line))) or "")
