"""`aim autoscaler`: an autoscaler for a local cluster."""

import asyncio
from pathlib import Path

import click

from aim_engine.cli.local_kubeconfig import local_kubeconfig


@click.command()
@local_kubeconfig
@click.option(
    "--interval",
    type=click.FloatRange(0.1),
    default=5.0,
    show_default=True,
    help="Seconds between two looks at the metrics.",
)
def command(kubeconfig: Path, interval: float) -> None:
    """Scale Deployments as KEDA's ScaledObjects say until interrupted.

    Each ScaledObject gets its HorizontalPodAutoscaler. The numbers are read from the metrics of the pods themselves.
    """
    from aim_engine.cli import logs
    from aim_engine.local import interruption
    from aim_engine.settings import Settings

    logs.configure(Settings(zap_encoder="console"))
    asyncio.run(interruption.until(_run(kubeconfig, interval)))


async def _run(kubeconfig: Path, interval: float) -> None:
    from aim_engine.kube.client import Client
    from aim_engine.kube.kubeconfig import from_kubeconfig
    from aim_engine.local import control_plane, foreign_crds
    from aim_engine.local.binaries.catalog import KSERVE
    from aim_engine.local.control_plane.local_cluster import cluster_of
    from aim_engine.local.stand_ins import autoscaler

    version = KSERVE.required("github.com/kedacore/keda/v2").removeprefix("v")
    cluster = cluster_of(kubeconfig)
    await control_plane.install(cluster, await foreign_crds.paths(groups=foreign_crds.AUTOSCALER_GROUPS))
    async with Client(from_kubeconfig([kubeconfig]), agent="aim-autoscaler") as client:
        await autoscaler.run(client, version, interval, lambda: click.echo("The autoscaler is ready."))
