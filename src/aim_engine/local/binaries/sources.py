"""Where programs may come from: the one place of the local cluster that reads the environment for them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KUBERNETES_RELEASES = "https://dl.k8s.io"
ETCD_RELEASES = "https://github.com/etcd-io/etcd/releases/download"


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the four ways to get a program start from."""

    given: Path | None
    """AIM_KUBERNETES_BIN: a directory in which the user keeps the programs."""
    cache: Path
    """Where programs are kept, once per version."""
    kubernetes_releases: str = KUBERNETES_RELEASES
    """AIM_KUBERNETES_RELEASES: base address of the Kubernetes releases, or of a mirror with the same paths."""
    etcd_releases: str = ETCD_RELEASES
    """AIM_ETCD_RELEASES: the same for etcd."""
    environment: Mapping[str, str]
    """What Go and the Python installer are started with; its PATH says where they are."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Sources":
        given = environment.get("AIM_KUBERNETES_BIN")
        return cls(
            given=Path(given).expanduser().absolute() if given else None,
            cache=cache_directory(environment),
            kubernetes_releases=environment.get("AIM_KUBERNETES_RELEASES") or KUBERNETES_RELEASES,
            etcd_releases=environment.get("AIM_ETCD_RELEASES") or ETCD_RELEASES,
            environment=environment,
        )


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's cache directory for this project."""
    base = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".cache")
    return Path(base).absolute() / "aim-engine"
