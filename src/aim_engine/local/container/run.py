"""What one container is, and how one ended: plain values, complete before anything starts."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

Reason = Literal["Completed", "Error", "OOMKilled"]
"""How Kubernetes names the end of a container."""

Mode = Literal["isolated", "mounted", "rewritten"]
"""How much of a container this machine allows."""


MODES: Mapping[Mode, str] = {
    "isolated": "own root and mounts, own process ids",
    "mounted": "own root and mounts, process ids of the machine, where /proc may not be mounted anew",
    "rewritten": "no namespaces: mount paths in command, environment and working directory become paths of the machine",
}
"""What the modes mean, best first."""


class Mount(msgspec.Struct, frozen=True):
    """A file or directory of the host that the container sees at `target`, an absolute path."""

    source: Path
    target: str
    read_only: bool = False


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one start of one container needs.

    The environment of the container is `environment` and, where absent from it, PATH, HOME, HOSTNAME and POD_IP;
    nothing of the agent's own environment. `scratch` is a directory of this run alone: the container's root, /tmp and
    HOME are kept in it, and the caller removes it when the container has ended. A restart is another Run with another
    scratch and log.
    """

    name: str
    """For messages and process lists, like `namespace/pod/container`."""
    argv: tuple[str, ...]
    """The whole command line; a first word without a slash is looked up in the container's PATH."""
    scratch: Path
    log: Path
    """The log file, in the format of `logs`; its directory exists."""
    environment: Mapping[str, str] = {}
    working_directory: str = "/"
    """Made if it is not there."""
    mounts: tuple[Mount, ...] = ()
    programs: Mapping[str, Path] = {}
    """Path inside the image -> file or directory of the host, read-only."""
    user: int | None = None
    """An agent that is root makes it this user; to any other agent's container it looks so. None: the agent's own."""
    group: int | None = None
    groups: tuple[int, ...] = ()
    """Supplementary groups; only root can give them."""
    read_only_root: bool = False
    termination_message: Mount | None = None
    """Where the container writes its last words; the file of the host is made empty at the start."""
    memory_limit: int | None = None
    """In bytes. Above it every process of the container is killed and the reason is OOMKilled."""
    pod_ip: str = "127.0.0.1"
    hostname: str = "localhost"


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a container ended; killed by signal N has the code 128+N, as containers have it."""

    code: int
    signal: int | None
    reason: Reason
    started_at: datetime
    finished_at: datetime
