"""Decoding of 3,000 pods and 1,000 services as the API server sends them, into our types and into dicts.

Time and memory are taken in runs of their own, for tracing of memory slows everything down. The dicts are decoded
without managedFields, as a careful program would keep them.
"""

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table
from tests.bench import wire

from aim_engine.api.foreign import Pod
from aim_engine.api.service import AIMService

Decode = Callable[[bytes], Any]
REPEATS = 5


class Cost(NamedTuple):
    """Of one object."""

    milliseconds: float
    kibibytes: float


def run() -> None:
    table = Table("objects", "JSON each", "decoded into", "time each", "memory each", "time", "memory")
    for title, texts, view in (
        ("3,000 pods", [wire.pod(number) for number in range(3000)], Pod),
        ("1,000 services", [wire.service(number) for number in range(1000)], AIMService),
    ):
        size = f"{statistics.mean(map(len, texts)) / 1024:.1f} KiB"
        dicts = measure(texts, as_dict)
        typed = measure(texts, msgspec.json.Decoder(view).decode)
        for name, cost in (("dict", dicts), (f"{view.__module__.removeprefix('aim_engine.')}.{view.__name__}", typed)):
            table.add_row(
                title,
                size,
                name,
                f"{cost.milliseconds:.3f} ms",
                f"{cost.kibibytes:.1f} KiB",
                f"{cost.milliseconds / dicts.milliseconds:.2f}x",
                f"{cost.kibibytes / dicts.kibibytes:.2f}x",
            )
    Console(width=110).print(table)


def as_dict(text: bytes) -> Any:
    decoded = msgspec.json.decode(text)
    del decoded["metadata"]["managedFields"]
    return decoded


def measure(texts: list[bytes], decode: Decode) -> Cost:
    return Cost(
        min(duration(texts, decode) for _ in range(REPEATS)) * 1000 / len(texts),
        kept(texts, decode) / 1024 / len(texts),
    )


def duration(texts: list[bytes], decode: Decode) -> float:
    """Seconds of CPU for all of them, kept together as a store does."""
    gc.collect()
    begin = time.process_time()
    store = [decode(text) for text in texts]
    end = time.process_time()
    del store
    return end - begin


def kept(texts: list[bytes], decode: Decode) -> int:
    """Bytes that all of them take."""
    gc.collect()
    tracemalloc.start()
    store = [decode(text) for text in texts]
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del store
    return size
