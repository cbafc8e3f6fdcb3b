"""`aim gateway`: a gateway for a local cluster."""

import asyncio
from pathlib import Path

import click

from aim_engine.cli.local_kubeconfig import local_kubeconfig


@click.command()
@local_kubeconfig
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The port to listen at; 0 is any that is free.",
)
def command(kubeconfig: Path, host: str, port: int) -> None:
    """Serve the HTTPRoutes of the cluster until interrupted.

    Gateways of the class `aim-local` are served, all of them at this one address whatever their listeners say.
    Requests go to Ready pods by path prefix, with rewriting and timeouts.
    """
    from aim_engine.cli import logs
    from aim_engine.local import interruption
    from aim_engine.settings import Settings

    logs.configure(Settings(zap_encoder="console"))
    asyncio.run(interruption.until(_run(kubeconfig, host, port)))


async def _run(kubeconfig: Path, host: str, port: int) -> None:
    from aim_engine.kube.client import Client
    from aim_engine.kube.kubeconfig import from_kubeconfig
    from aim_engine.local import control_plane, foreign_crds
    from aim_engine.local.control_plane.local_cluster import cluster_of
    from aim_engine.local.stand_ins import gateway

    cluster = cluster_of(kubeconfig)
    await control_plane.install(cluster, await foreign_crds.paths(groups=foreign_crds.GATEWAY_GROUPS))
    async with Client(from_kubeconfig([kubeconfig]), agent="aim-gateway") as client:
        await gateway.run(client, host, port, lambda address: click.echo(f"The gateway is ready at {address}"))
