"""Which processes of a cluster live, and where they listen, as the kernel tells it."""

import os
import socket
import struct
from contextlib import suppress
from pathlib import Path

from aim_engine.local.control_plane import Cluster

LISTENING = "0A"


def supervisor(cluster: Cluster) -> int:
    """The process id of the cluster's supervisor."""
    return int(cluster.files.running.read_text())


def children(parent: int) -> dict[int, str]:
    """Process id -> program of everything that `parent` started and that still runs."""
    found: dict[int, str] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and fields[0] != "Z":
                found[int(directory.name)] = Path(
                    os.fsdecode((directory / "cmdline").read_bytes().split(b"\0")[0])
                ).name
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def of(directory: Path) -> set[int]:
    """The processes whose command line names a directory."""
    found = set[int]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.fsencode(directory) in (process / "cmdline").read_bytes():
                found.add(int(process.name))
    return found


def listening_addresses(pid: int) -> list[str]:
    """The addresses at which a process accepts TCP connections; one of IPv6 stands as it is in /proc."""
    process = Path("/proc") / str(pid)
    inodes = set[str]()
    for file in (process / "fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            inodes.add(str(file.readlink()).removeprefix("socket:[").removesuffix("]"))
    addresses: list[str] = []
    for table in ("tcp", "tcp6"):
        for line in (process / "net" / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in inodes:
                address = fields[1].partition(":")[0]
                readable = socket.inet_ntoa(struct.pack("=I", int(address, 16))) if table == "tcp" else address
                addresses.append(readable)
    return addresses
