"""Installs CustomResourceDefinitions in a running cluster."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from aim_engine.local.control_plane.cluster import Cluster
from aim_engine.local.errors import LocalError

SERVED_SECONDS = 60


async def install(cluster: Cluster, paths: Sequence[Path]) -> None:
    """Apply the CRDs in `paths`, files or directories, and wait until the API server serves their kinds."""
    files = [f"--filename={path}" for path in paths]
    await _kubectl(cluster, "apply", "--server-side", "--force-conflicts", *files)
    await _kubectl(cluster, "wait", "--for=condition=Established", f"--timeout={SERVED_SECONDS}s", *files)


async def _kubectl(cluster: Cluster, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        cluster.kubectl,
        f"--kubeconfig={cluster.kubeconfig}",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    if process.returncode:
        raise LocalError(f"kubectl {arguments[0]} refuses the CRDs: {errors.decode(errors='replace').strip()}")
