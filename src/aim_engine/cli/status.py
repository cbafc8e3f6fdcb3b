"""`aim status`: what `aim up` runs, and how its services are."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aim_engine.cli import cluster

if TYPE_CHECKING:
    from aim_engine.api.service import AIMService
    from aim_engine.local.up.facts import Facts


@click.command()
@cluster.directory_option
def command(directory: Path | None) -> None:
    """Say what runs, how to reach it, and how the services are; the exit code is 1 if AIM Engine is not up."""
    from aim_engine.cli import up
    from aim_engine.local.up import facts

    found = facts.require(cluster.chosen(directory))
    click.echo(up.summary(found))
    click.echo("\nparts")
    for part in found.parts:
        click.echo(f"  {part.name:<12}process {part.process:<9}{part.log}")
    click.echo("\nservices")
    services = asyncio.run(_services(found))
    for service in services:
        click.echo(f"  {_line(service, found)}")
    if not services:
        click.echo("  none")


async def _services(found: "Facts") -> "list[AIMService]":
    from aim_engine.api.service import AIMService
    from aim_engine.kube.client import Client
    from aim_engine.kube.errors import NotFound
    from aim_engine.kube.kubeconfig import from_kubeconfig
    from aim_engine.local.up.objects import SERVICES

    async with Client(from_kubeconfig([Path(found.kubeconfig)])) as client:
        try:
            return list((await client.list(SERVICES, into=AIMService)).items)
        except NotFound:
            return []  # without our operator nobody has brought the kind yet


def _line(service: "AIMService", found: "Facts") -> str:
    metadata, status = service.metadata, service.status
    path = status.routing.path if status and status.routing else None
    address = f"{found.gateway}{path}" if found.gateway and path else ""
    return f"{metadata.namespace}/{metadata.name:<20}{(status and status.status) or 'Pending':<12}{address}".rstrip()
