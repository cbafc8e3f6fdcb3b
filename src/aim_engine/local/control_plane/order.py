"""What the supervisor of a control plane is asked, and what it answers."""

import msgspec

from aim_engine.local.control_plane.cluster import Cluster


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster to run."""

    directory: str
    programs: str
    version: str
    ephemeral: bool
    port: int | None
    crds: tuple[str, ...]
    """Files and directories of CRDs to install before the controllers start, so that these know them from the start:
    the garbage collector looks for new kinds only twice a minute."""
    owner: int | None
    """A process with which the cluster ends, or none for a cluster that lasts until it is told to stop."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How it went: one of both is there."""

    cluster: Cluster | None = None
    failure: str | None = None
