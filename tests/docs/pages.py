"""The commands that the pages for users show, and what they are held to.

- A block ```console is run by a test, on a real start of `aim up`: a line `$ command` is run as it stands, `> `
  continues it (a here-document), and every other line has to be in what it prints, in this order; `...` stands for
  anything, and a line that is only `...` is passed over.
- A block ```sh is not run, because it needs another machine or does not end by itself; each of its commands is held
  against the real program: subcommands and flags have to exist.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>[\w-]*)\n(?P<text>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)


class Command(NamedTuple):
    """A command of a console block."""

    text: str
    expected: tuple[str, ...]


def pages() -> list[Path]:
    """Every page for users."""
    chart = ROOT / "deploy" / "helm" / "aim-engine" / "README.md"
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", chart, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, kind: str) -> Iterator[str]:
    """The texts of a page's blocks of one kind, without indentation."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if found["kind"] == kind:
            yield "".join(line.removeprefix(found["indent"]) for line in found["text"].splitlines(keepends=True))


def console(page: Path) -> list[Command]:
    """The commands of a page's console blocks, in order."""
    found: list[Command] = []
    for text in blocks(page, "console"):
        for line in text.splitlines():
            if line.startswith("$ "):
                found.append(Command(line.removeprefix("$ "), ()))
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
