"""What is known of one local cluster, and the names of the files in its directory."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec


def default_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the user's own local cluster lives when no other directory is named."""
    base = environment.get("XDG_STATE_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".local/state")
    return Path(base).absolute() / "aim-engine" / "cluster"


class Files(NamedTuple):
    """The files of a cluster; everything in the directory is readable by its owner only."""

    directory: Path

    @property
    def facts(self) -> Path:
        """The `Cluster`, as JSON."""
        return self.directory / "cluster.json"

    @property
    def failure(self) -> Path:
        """Why the cluster ended, if nobody asked it to."""
        return self.directory / "failure"

    @property
    def starting(self) -> Path:
        """Locked by whoever starts or stops the cluster."""
        return self.directory / "starting.lock"

    @property
    def running(self) -> Path:
        """Locked by the supervisor as long as it lives; holds its process id."""
        return self.directory / "running.lock"

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def keys(self) -> Path:
        """Certificates and keys."""
        return self.directory / "pki"

    def log(self, program: str) -> Path:
        return self.directory / "logs" / f"{program}.log"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A local cluster: how to reach it and what it may use."""

    directory: str
    server: str
    """Address of the API server, such as https://127.18.0.1:6443."""
    network: str
    """A /16 of the loopback network that no other local cluster uses while this one runs, such as 127.18.0.0/16. The
    control plane uses its first 256 addresses; the rest is for nodes and pods."""
    programs: str
    """The directory of etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl."""
    version: str
    """Of Kubernetes, such as v1.34.4."""
    ephemeral: bool

    @property
    def files(self) -> Files:
        return Files(Path(self.directory))

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of a cluster administrator, readable by its owner only."""
        return self.files.kubeconfig

    @property
    def keys(self) -> Path:
        """The directory of certificates and keys; those of the administrator are admin.crt and admin.key."""
        return self.files.keys

    @property
    def ca_certificate(self) -> Path:
        """Signs the certificates of the API server, of clients and of kubelets."""
        return self.keys / "ca.crt"

    @property
    def kubectl(self) -> Path:
        return Path(self.programs) / "kubectl"
