"""A real Kubernetes control plane on this machine: etcd, API server, controllers and scheduler, without root.

    async with control_plane.running(directory, ephemeral=True) as cluster:
        ...  # cluster.kubeconfig, cluster.server, cluster.network

    start: the caller                        the supervisor (a process of its own)
           find the programs
           start the supervisor ───────────> lock the directory, claim a network, write certificates
           wait for its one line             etcd ─> API server ─> CRDs ─> controllers, scheduler
           <──────────────────────────────── "ready", or one sentence why not
                                             wait for SIGTERM, the end of the owner or of a child; end all children

Whatever ends the supervisor, the kernel ends its children.
"""

from aim_engine.local.control_plane.cluster import Cluster, default_directory
from aim_engine.local.control_plane.crds import install
from aim_engine.local.control_plane.running import find, require, running, start, stop

__all__ = ["Cluster", "default_directory", "find", "install", "require", "running", "start", "stop"]
