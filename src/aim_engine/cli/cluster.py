"""`aim cluster`: a real Kubernetes control plane on this machine."""

import asyncio
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from aim_engine.local.control_plane import Cluster

DIRECTORY_VARIABLE = "AIM_CLUSTER_DIRECTORY"

directory_option = click.option(
    "--directory",
    envvar=DIRECTORY_VARIABLE,
    show_envvar=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the cluster keeps its state, keys and logs. [default: ~/.local/state/aim-engine/cluster]",
)


@click.group()
def command() -> None:
    """Run a real Kubernetes control plane on this machine.

    etcd, the API server, the controllers and the scheduler run as processes of this user, on loopback addresses only.
    The first start downloads or builds them, which takes up to some minutes.
    """


@command.command()
@click.option("--ephemeral", is_flag=True, help="Start empty, forget everything at the end, and be quicker.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the API server. [default: 6443 or the next free one]"
)
@directory_option
def start(ephemeral: bool, port: int | None, directory: Path | None) -> None:
    """Start the cluster and return when it is ready; it runs until `aim cluster stop`.

    It knows the kinds of AIM Engine, so that `kubectl apply -f deploy/crds -f deploy/samples` works at once.
    """
    from aim_engine.cli import crds
    from aim_engine.local import control_plane

    place = chosen(directory)
    already = control_plane.find(place)
    if not already:
        click.echo(f"Starting Kubernetes in {place}", err=True)
    cluster = already or asyncio.run(
        control_plane.start(place, ephemeral=ephemeral, port=port, crds=[crds.write(place / "crds")])
    )
    click.echo(
        f"Kubernetes {cluster.version} {'was already running' if already else 'is running'} at {cluster.server}."
    )
    click.echo(hints(cluster))


@command.command()
@directory_option
def stop(directory: Path | None) -> None:
    """Stop the cluster; what it keeps is there again at the next start, unless it was ephemeral."""
    from aim_engine.local import control_plane

    place = chosen(directory)
    ended = asyncio.run(control_plane.stop(place))
    click.echo(f"The cluster in {place} is stopped." if ended else f"No cluster was running in {place}.")


@command.command()
@directory_option
def status(directory: Path | None) -> None:
    """Say whether the cluster runs and how to reach it; the exit code is 1 if it does not run."""
    cluster = running(directory)
    lasting = "ephemeral" if cluster.ephemeral else "keeps its state"
    click.echo(f"Kubernetes {cluster.version} is running ({lasting}).")
    for name, value in {
        "server": cluster.server,
        "kubeconfig": cluster.kubeconfig,
        "network": cluster.network,
        "directory": cluster.directory,
        "programs": cluster.programs,
    }.items():
        click.echo(f"  {name:<11}{value}")


@command.command()
@directory_option
def kubeconfig(directory: Path | None) -> None:
    """Print the path of the kubeconfig, as in `export KUBECONFIG=$(aim cluster kubeconfig)`."""
    click.echo(running(directory).kubeconfig)


def chosen(directory: Path | None) -> Path:
    """The directory of the cluster that is meant."""
    from aim_engine.local import control_plane

    return directory.absolute() if directory else control_plane.default_directory()


def running(directory: Path | None) -> "Cluster":
    """The cluster that runs in `directory`; a sentence says what to do if none does."""
    from aim_engine.local import control_plane

    return control_plane.require(chosen(directory))


def hints(cluster: "Cluster") -> str:
    """How to use the cluster and how to end it."""
    return (
        f"  use it    {variable(cluster.directory)}{aim()} kubectl get namespaces\n"
        f"  or        {export(cluster.kubeconfig)}\n"
        f"  stop it   {aim()} cluster stop{option(cluster.directory)}"
    )


def aim() -> str:
    """This program, as the user's shell finds it."""
    return "aim" if shutil.which("aim") else shlex.quote(sys.argv[0])


def option(directory: str) -> str:
    """What a command is told behind it about a directory, if that is not the usual one."""
    return "" if _is_usual(directory) else f" --directory {shlex.quote(directory)}"


def variable(directory: str) -> str:
    """The same before a command that takes no option of ours."""
    return "" if _is_usual(directory) else f"{DIRECTORY_VARIABLE}={shlex.quote(directory)} "


def export(kubeconfig: Path | str) -> str:
    """How a shell is told of a kubeconfig."""
    return f"export KUBECONFIG={shlex.quote(str(kubeconfig))}"


def _is_usual(directory: str) -> bool:
    from aim_engine.local import control_plane

    return Path(directory) == control_plane.default_directory()
