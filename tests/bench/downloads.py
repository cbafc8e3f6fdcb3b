"""Downloads from the hub stand-in on this machine, against huggingface_hub and against plain copying.

Each contender is a process, timed from its start to its end, and they take turns, so that a ratio means something on a
busy machine too. Verification is timed apart, because huggingface_hub's download does not verify.
"""

import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from tests.downloader import stage

MIB = 1024 * 1024
ROUNDS = 3
LIBRARY = "import sys, huggingface_hub; huggingface_hub.snapshot_download(sys.argv[1], local_dir=sys.argv[2])"
COPY = "import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2])"
DOWNLOADER = ("-m", "aim_engine.downloader")


class Cost(NamedTuple):
    """Of one run."""

    seconds: float
    mebibytes: float
    """The most memory that a process of it had."""


class Contender(NamedTuple):
    """A program that brings a repository into a directory, or reads it there."""

    words: Sequence[str]
    environment: Mapping[str, str] = {}


def run() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="aim-bench-") as name:
        root = Path(name)
        with stage.hub(root / "hub") as hub:
            table = Table("repository", "what", "time", "throughput", "library", "copying", "memory")
            for repository, title, write in (
                ("bench/large", "8 x 256 MiB", large),
                ("bench/many", "2,000 x 4 KiB", many),
            ):
                write(hub.root / repository)
                measure(table, title, repository, hub, root)
    Console(width=120).print(table)


def large(folder: Path) -> None:
    """Write 2 GiB in eight files."""
    folder.mkdir(parents=True)
    block = random.Random(0).randbytes(MIB)
    for number in range(8):
        with (folder / f"model-{number + 1:05d}-of-00008.safetensors").open("wb") as stream:
            for count in range(256):
                stream.write((number * 256 + count).to_bytes(8, "little") + block[8:])


def many(folder: Path) -> None:
    """Write 2,000 small files in twenty directories."""
    for number in range(2000):
        location = folder / f"part-{number % 20:02d}" / f"{number:04d}.json"
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_bytes(random.Random(number).randbytes(4096))


def measure(table: Table, title: str, repository: str, hub: stage.Hub, root: Path) -> None:
    """Let the contenders take turns on one repository and add their rows."""
    uri, source, target = f"hf://{repository}", str(hub.root / repository), str(root / "target")
    contenders = {
        "copying": Contender(("-c", COPY, source, target)),
        "huggingface_hub over HTTP": Contender(("-c", LIBRARY, repository, target), {"HF_HUB_DISABLE_XET": "1"}),
        "downloader, HTTP": Contender((*DOWNLOADER, "hf-download", uri, target), {"AIM_DOWNLOADER_PROTOCOL": "HTTP"}),
        "downloader, HF_TRANSFER": Contender(
            (*DOWNLOADER, "hf-download", uri, target), {"AIM_DOWNLOADER_PROTOCOL": "HF_TRANSFER"}
        ),
    }
    if repository == "bench/large":
        contenders |= {
            "huggingface_hub over Xet": Contender(("-c", LIBRARY, repository, target)),
            "downloader, XET": Contender((*DOWNLOADER, "hf-download", uri, target), {"AIM_DOWNLOADER_PROTOCOL": "XET"}),
        }
    verification = Contender((*DOWNLOADER, "hf-verify", uri, target))
    timed(Contender((*DOWNLOADER, "check-size", uri)), hub, root)  # the hub hashes the files once, before it counts
    costs: dict[str, list[Cost]] = {name: [] for name in (*contenders, "verification")}
    for _, (name, contender) in itertools.product(range(ROUNDS), contenders.items()):
        shutil.rmtree(target, ignore_errors=True)
        costs[name].append(timed(contender, hub, root))
        if name == "downloader, HTTP":
            costs["verification"].append(timed(verification, hub, root))
    shutil.rmtree(target)
    size = sum(path.stat().st_size for path in Path(source).rglob("*") if path.is_file())
    rows(table, title, size, costs)


def rows(table: Table, title: str, size: int, costs: Mapping[str, Sequence[Cost]]) -> None:
    """Add the medians; an XET row is compared with the library over Xet."""

    def middle(name: str) -> float:
        return statistics.median(cost.seconds for cost in costs[name])

    for name, taken in costs.items():
        seconds = middle(name)
        library = "huggingface_hub over Xet" if "XET" in name else "huggingface_hub over HTTP"
        compared = name.startswith("downloader")
        table.add_row(
            title,
            name,
            f"{seconds:.2f} s",
            f"{size / MIB / seconds:.0f} MiB/s",
            f"{middle(library) / seconds:.2f}x" if compared else "",
            f"{middle('copying') / seconds:.2f}x" if name != "copying" else "",
            f"{max(cost.mebibytes for cost in taken):.0f} MiB",
        )


def timed(contender: Contender, hub: stage.Hub, root: Path) -> Cost:
    """Run a contender to its end."""
    scratch = root / "scratch"
    scratch.mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "HF_HOME": str(scratch / "hf"),
        "HF_ENDPOINT": hub.url,
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        **contender.environment,
    }
    begun = time.monotonic()
    with (root / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, *contender.words], env=environment, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (root / "log").read_text()
    return Cost(time.monotonic() - begun, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    run()
