"""The commands that the pages for users show, as a reader comes upon them.

- A block ```console is run by a test: a line `$ command` is run as it stands, `> ` continues it (a here-document), and
  every other line has to be in what it prints, in this order; `...` stands for anything, and a line that is only `...`
  is passed over. A command that ends with `&` goes on in the background once it has printed its lines.
- A block ```yaml with a manifest is applied at its place, on pages that are about a cluster.
- A block ```sh only repeats commands that are run elsewhere.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>[\w-]*)\n(?P<text>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)


class Command(NamedTuple):
    """Something that a reader does, and what it has to print."""

    text: str
    expected: tuple[str, ...] = ()


class Block(NamedTuple):
    """A block of a page, without indentation."""

    kind: str
    text: str


def pages() -> list[Path]:
    """Every page for users."""
    chart = ROOT / "deploy" / "helm" / "aim-engine" / "README.md"
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", chart, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path | str, section: str = "") -> Iterator[Block]:
    """The blocks of a page, or of one of its sections, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section:
        found = re.search(rf"^#+ {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        assert found, f"{page} has no section {section}"
        text = found[1]
    for block in BLOCK.finditer(text):
        lines = block["text"].splitlines(keepends=True)
        yield Block(block["kind"], "".join(line.removeprefix(block["indent"]) for line in lines))


def commands(page: Path | str, section: str = "") -> list[Command]:
    """What a reader of the console blocks does."""
    return [command for block in blocks(page, section) if block.kind == "console" for command in of_console(block.text)]


def with_manifests(page: Path | str, section: str = "") -> list[Command]:
    """What a reader with a cluster does, who also applies the manifests of the page."""
    found: list[Command] = []
    for block in blocks(page, section):
        if block.kind == "console":
            found.extend(of_console(block.text))
        elif block.kind == "yaml" and block.text.startswith("apiVersion:"):
            found.append(Command(f"kubectl apply -f - <<'END'\n{block.text}END"))
    return found


def of_console(text: str) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line.removeprefix("$ ")))
        elif line.startswith("> "):
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line.removeprefix('> ')}")
        elif line.strip() not in ("", "..."):
            found[-1] = found[-1]._replace(expected=(*found[-1].expected, line.rstrip()))
    return found


def missing(printed: str, expected: tuple[str, ...]) -> str | None:
    """The first expected line that is not there after the one before it."""
    place = 0
    for line in expected:
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
        found = pattern.search(printed, place)
        if found is None:
            return line
        place = found.end()
    return None
