"""`aim kserve`: the real KServe controller for a local cluster."""

import asyncio
from pathlib import Path

import click

from aim_engine.cli.local_kubeconfig import local_kubeconfig


@click.command()
@local_kubeconfig
def command(kubeconfig: Path) -> None:
    """Run KServe until interrupted.

    It is the real controller in Standard mode: an InferenceService becomes a Deployment and a Service. It makes no
    ingress. The first run builds it, which takes some minutes. Its log is kserve.log among those of the cluster.
    """
    from aim_engine.local import interruption, kserve
    from aim_engine.local.binaries.catalog import KSERVE
    from aim_engine.local.control_plane.local_cluster import cluster_of

    version = KSERVE.required("github.com/kserve/kserve")
    cluster = cluster_of(kubeconfig)
    asyncio.run(interruption.until(kserve.run(cluster, lambda: click.echo(f"KServe {version} is ready."))))
