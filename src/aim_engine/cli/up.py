"""`aim up`: a cluster on this machine that knows the kinds of AIM Engine."""

import asyncio
from pathlib import Path

import click

from aim_engine.cli import cluster, crds


@click.command()
@cluster.directory_option
def command(directory: Path | None) -> None:
    """Start a local cluster with the CustomResourceDefinitions of AIM Engine installed."""
    from aim_engine.local import control_plane

    place = cluster.chosen(directory)
    files = crds.write(place / "crds")
    already = control_plane.find(place)
    if already:
        asyncio.run(control_plane.install(already, [files]))
    else:
        click.echo(f"Starting Kubernetes in {place}", err=True)
    target = already or asyncio.run(control_plane.start(place, crds=[files]))
    click.echo(f"Kubernetes {target.version} is running at {target.server} with the kinds of AIM Engine.")
    click.echo(cluster.hints(target))
