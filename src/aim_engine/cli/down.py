"""`aim down`: end what `aim up` runs."""

import asyncio
import shutil
from pathlib import Path

import click

from aim_engine.cli import cluster
from aim_engine.local.errors import LocalError


@click.command()
@click.option("--purge", is_flag=True, help="Also remove what it keeps: objects, weights, keys and logs.")
@cluster.directory_option
def command(purge: bool, directory: Path | None) -> None:
    """End everything that runs in the directory; the next `aim up` goes on from there, unless it is purged."""
    from aim_engine.local.up import supervision

    place = cluster.chosen(directory)
    ended = asyncio.run(supervision.stop(place))
    click.echo(f"AIM Engine in {place} is stopped." if ended else f"AIM Engine was not up in {place}.")
    if purge:
        _purge(place)


def _purge(place: Path) -> None:
    if not place.exists():
        return
    if not any(mark.exists() for mark in _marks(place)):
        raise LocalError(f"{place} is not the directory of a cluster; nothing is removed.")
    shutil.rmtree(place)
    click.echo(f"{place} is removed.")


def _marks(place: Path) -> tuple[Path, ...]:
    """The files of which a cluster's directory has at least one."""
    from aim_engine.local.control_plane.cluster import Files
    from aim_engine.local.up.facts import UpFiles

    return UpFiles(place).lock, Files(place).running, Files(place).facts
