"""`aim kubectl …`: the kubectl of the local cluster, against the local cluster."""

import os
from pathlib import Path

import click

from aim_engine.cli import cluster


@click.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Run kubectl against the local cluster; AIM_CLUSTER_DIRECTORY names one that is not in its usual directory."""
    directory = os.environ.get(cluster.DIRECTORY_VARIABLE)
    target = cluster.running(Path(directory) if directory else None)
    os.environ["KUBECONFIG"] = str(target.kubeconfig)
    os.execv(target.kubectl, ["kubectl", *arguments])
