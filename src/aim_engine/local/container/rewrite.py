"""Containers without namespaces: paths inside the container become paths of the host.

The rule, for machines where this user may not make a mount namespace. Every mount path of the run, every program of the
image, the termination message and /tmp, but not the interpreter's own directories, are replaced by where they are on
the host

- in the words of the command line and in the values of the environment, wherever the path stands alone or begins a
  longer path: after the beginning, a space, a quote or one of ``= : , ; ( < > | & [ { !``, and before the end, a slash
  or anything that can't be part of a name. `/data` changes in `--model=/data/x:/data`, and not in `/database`,
  `$HOME/data` or `a/data`; of two mounts that fit, the longer path counts;
- as the working directory, which is a directory of the run itself if no mount contains it.

HOME and TMPDIR lead into the run's scratch directory, and AIM_MOUNTS holds all replacements as a JSON object, for
programs with paths of their own inside. The rest is as in a namespace, except that processes see those of the host, and
that nothing is read-only.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from aim_engine.local.container.root import mounts
from aim_engine.local.container.run import Run

BEFORE = r"""(?:^|(?<=[\s'"`=:,;(<>|&\[{!])|(?<=://))"""
AFTER = r"(?![\w.~%@+-])"


def places(run: Run, kept: Iterable[Path]) -> dict[str, str]:
    """Path inside the container -> path of the host; below `kept`, both are the same."""
    same = {str(path): str(path) for path in kept}
    return {**same, "/tmp": str(run.scratch / "tmp"), **_asked(run)}


def _asked(run: Run) -> dict[str, str]:
    return {os.path.normpath(mount.target): str(mount.source) for mount in mounts(run)}


def rewritten(run: Run, kept: Iterable[Path]) -> Run:
    """The same run in words that are true on the host, without mounts."""
    known = places(run, kept)
    exported = {
        "HOME": str(run.scratch / "home"),
        "TMPDIR": known["/tmp"],
        "AIM_MOUNTS": msgspec.json.encode({"/tmp": known["/tmp"], **_asked(run)}, order="sorted").decode(),
    }
    return msgspec.structs.replace(
        run,
        argv=tuple(rewrite(word, known) for word in run.argv),
        environment={**exported, **{name: rewrite(value, known) for name, value in run.environment.items()}},
        working_directory=_directory(run, known),
        mounts=(),
        programs={},
        termination_message=None,
    )


def rewrite(text: str, known: Mapping[str, str]) -> str:
    """The text with every path of `known` replaced, each once: what a replacement brings in is left alone."""
    if not known:
        return text
    longest_first = sorted(known, key=len, reverse=True)
    paths = re.compile(f"{BEFORE}({'|'.join(map(re.escape, longest_first))}){AFTER}")
    return paths.sub(lambda found: known[found[1]], text)


def _directory(run: Run, known: Mapping[str, str]) -> str:
    wanted = os.path.normpath(run.working_directory)
    inside = [target for target in known if Path(wanted).is_relative_to(target)]
    if not inside:
        return str(run.scratch / "root")
    nearest = max(inside, key=len)
    return known[nearest] + wanted[len(nearest) :]
