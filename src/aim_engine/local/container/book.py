"""The image book: what an image stands for on a machine without images.

A book is a YAML file with one list. The first entry whose pattern matches wins; books that a user names come before the
built-in one (`images.yaml` beside this file, which is also the example to copy from).

    images:
      - image: ["ghcr.io/acme/*", "acme"]       # one glob or several; * also matches /
        entrypoint: ["/serve", "{podIP}"]       # ENTRYPOINT of the image; looked up inside the container
        arguments: ["--port=8000"]              # CMD of the image
        programs:                               # path inside the image -> file or directory, relative to this book
          /serve: programs/serve.sh
        environment: {MODE: test}
        workingDirectory: /workspace
        user: 1000
      - image: broken
        fault: {pull: unauthorized}
      - image: filler
        idle: true                              # Running and Ready without a process, for benchmarks

A pattern is held against the image as the pod writes it and, without `docker.io/` and `library/`, as people write it; a
pattern that names no tag matches every tag and digest. Placeholders in entrypoint, arguments and environment are the
names of `PLACEHOLDERS` in braces; braces around anything else stay as they are.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import yaml

from aim_engine.local.container.errors import BookError, StartError

BUILT_IN = Path(__file__).with_name("images.yaml")

PLACEHOLDERS = ("python", "podIP", "podName", "podNamespace", "nodeName", "image")
"""`{python}` is the interpreter that runs the agent, with the agent's packages; the others come from the pod."""

PullProblem = Literal["unauthorized", "notFound", "notInBook"]

PULL_PROBLEMS: Mapping[PullProblem, str] = {
    "unauthorized": (
        "pull access denied, repository does not exist or may require authorization: authorization failed: "
        "401 Unauthorized"
    ),
    "notFound": "{image}: not found: manifest unknown",
    "notInBook": "{image}: not found: no entry of the image book matches it",
}
"""Why a pull failed, as a container runtime words it; `pull_message` gives the whole text."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What goes wrong with every container of an image; seconds count from the start of the container."""

    pull: Literal["unauthorized", "notFound"] | None = None
    pull_seconds: float = 0.0
    oom_killed_after: float | None = None
    evicted_after: float | None = None
    exit_code: int | None = None
    exit_after: float = 0.0


class Image(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One entry of a book."""

    image: str | list[str]
    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    programs: dict[str, Path] = {}
    environment: dict[str, str] = {}
    working_directory: str = "/"
    user: int | None = None
    fault: Fault = Fault()
    idle: bool = False

    @property
    def patterns(self) -> tuple[str, ...]:
        return (self.image,) if isinstance(self.image, str) else tuple(self.image)

    def filled(self, places: Mapping[str, str]) -> "Image":
        """The same entry with the placeholders in braces replaced by `places`; `{python}` need not be among them."""
        known = {"python": sys.executable, **places}
        return msgspec.structs.replace(
            self,
            entrypoint=tuple(_fill(word, known) for word in self.entrypoint),
            arguments=tuple(_fill(word, known) for word in self.arguments),
            environment={name: _fill(value, known) for name, value in self.environment.items()},
        )

    def command_line(self, command: Sequence[str], arguments: Sequence[str]) -> tuple[str, ...]:
        """What runs when a pod asks for `command` and `arguments`, either of which may be empty.

        A command of the pod replaces the image's entrypoint and its arguments. An image whose fault is an exit code
        runs nothing else, whatever the pod asks for.
        """
        if self.fault.exit_code is not None:
            return ("/bin/sh", "-c", f"sleep {self.fault.exit_after}; exit {self.fault.exit_code}")
        entrypoint = self.entrypoint or (WAITING if self.fault != Fault() else ())
        words = (*command, *arguments) if command else (*entrypoint, *(arguments or self.arguments))
        if not words:
            raise StartError("no command specified: neither the pod nor the image's entry in the book names one")
        return words


WAITING = ("/bin/sh", "-c", "exec sleep infinity")
"""What an image runs that names a fault and no program: it has to live until the fault happens."""


class Book(msgspec.Struct, frozen=True):
    """Entries in the order in which they are tried."""

    images: tuple[Image, ...]

    def find(self, reference: str) -> Image | None:
        """The first entry that matches an image as a pod names it."""
        names = _spellings(reference)
        return next((entry for entry in self.images if any(_matches(p, names) for p in entry.patterns)), None)


def read_books(paths: Iterable[Path] = ()) -> Book:
    """The user's books in their order, then the built-in one; BookError if one can't be used."""
    return Book(tuple(entry for path in (*paths, BUILT_IN) for entry in read(path)))


def read(path: Path) -> tuple[Image, ...]:
    """The entries of one book, with the paths of their programs made absolute."""
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise BookError(f"Image book {path} can't be read: {failure.strerror}.") from failure
    except (yaml.YAMLError, UnicodeDecodeError) as failure:
        raise BookError(f"Image book {path} is not YAML: {' '.join(str(failure).split())}.") from failure
    entries = cast("dict[Any, Any]", content) if isinstance(content, dict) else {}
    listed: Any = entries.get("images")
    if set(entries) != {"images"} or not isinstance(listed, list):
        raise BookError(f"Image book {path}: the file must have the one field `images`, a list of entries.")
    return tuple(_entry(path, number, raw) for number, raw in enumerate(cast("list[Any]", listed), 1))


def pull_message(image: str, problem: PullProblem) -> str:
    """What the container runtime says of a pull that failed."""
    text = 'failed to pull and unpack image "{image}": failed to resolve reference "{image}": ' + PULL_PROBLEMS[problem]
    return text.format(image=image)


def _entry(path: Path, number: int, raw: Any) -> Image:
    try:
        entry = msgspec.convert(raw, Image, dec_hook=_decoded)
    except msgspec.ValidationError as failure:
        what, _, where = str(failure).partition(" - at `$")
        place = f", field {where.strip('.`')}" if where else ""
        raise BookError(f"Image book {path}, {_called(number, raw)}{place}: {what.replace('`', '')}.") from failure
    for check in CHECKS:
        if problem := check(entry):
            raise BookError(f"Image book {path}, {_called(number, raw)}, field {problem}.")
    places = {target: (path.parent / source).absolute() for target, source in entry.programs.items()}
    if missing := next((target for target, source in places.items() if not source.exists()), None):
        absent = f"{places[missing]} for {missing} does not exist"
        raise BookError(f"Image book {path}, {_called(number, raw)}, field programs: {absent}.")
    return msgspec.structs.replace(entry, programs=places)


def _decoded(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise TypeError(f"Expected {'str' if kind is Path else kind.__name__}, got {type(value).__name__}")


def _called(number: int, raw: Any) -> str:
    name: Any = cast("dict[str, Any]", raw).get("image") if isinstance(raw, dict) else None
    return f"entry {number} ({name})" if name else f"entry {number}"


def _without_pattern(entry: Image) -> str | None:
    return None if all(entry.patterns) and entry.patterns else "image: name at least one pattern, none of them empty"


def _without_purpose(entry: Image) -> str | None:
    if entry.entrypoint or entry.programs or entry.idle or entry.fault != Fault():
        return None
    return "entrypoint: say what the image runs, or set programs, fault or idle"


def _idle_with_program(entry: Image) -> str | None:
    return (
        "idle: an idle image runs nothing, so it can't have an entrypoint" if entry.idle and entry.entrypoint else None
    )


def _relative_target(entry: Image) -> str | None:
    relative = next((target for target in entry.programs if not target.startswith("/")), None)
    return f"programs: {relative} must be an absolute path inside the image" if relative is not None else None


def _relative_directory(entry: Image) -> str | None:
    absolute = entry.working_directory.startswith("/")
    return None if absolute else f"workingDirectory: {entry.working_directory} must be an absolute path"


def _negative_user(entry: Image) -> str | None:
    return f"user: {entry.user} must not be negative" if entry.user is not None and entry.user < 0 else None


def _odd_exit_code(entry: Image) -> str | None:
    code = entry.fault.exit_code
    return None if code is None or 0 <= code <= 255 else f"fault.exitCode: {code} must be between 0 and 255"


def _negative_seconds(entry: Image) -> str | None:
    seconds = {
        "pullSeconds": entry.fault.pull_seconds,
        "oomKilledAfter": entry.fault.oom_killed_after,
        "evictedAfter": entry.fault.evicted_after,
        "exitAfter": entry.fault.exit_after,
    }
    wrong = next((name for name, value in seconds.items() if value is not None and value < 0), None)
    return f"fault.{wrong}: {seconds[wrong]} must not be negative" if wrong else None


CHECKS = (
    _without_pattern,
    _without_purpose,
    _idle_with_program,
    _relative_target,
    _relative_directory,
    _negative_user,
    _odd_exit_code,
    _negative_seconds,
)
"""What the types can't say; each gives the field and what is wrong with it, or None."""


def _fill(text: str, places: Mapping[str, str]) -> str:
    return re.sub(
        r"\{(\w+)\}",
        lambda found: places.get(found[1], found[0]) if found[1] in PLACEHOLDERS else found[0],
        text,
    )


def _spellings(reference: str) -> tuple[str, str]:
    """An image as written and as people shorten it."""
    return reference, re.sub(r"^((index\.)?docker\.io/)?(library/)?", "", reference)


def _matches(pattern: str, names: Iterable[str]) -> bool:
    if _without_version(pattern) == pattern:
        names = (*names, *(_without_version(name) for name in names))
    return any(fnmatchcase(name, pattern) for name in names)


def _without_version(reference: str) -> str:
    """The image without digest and tag; a colon before a slash belongs to a port."""
    return re.sub(r":[^/:]*$", "", reference.partition("@")[0])
