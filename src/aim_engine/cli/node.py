"""`aim node`: nodes with AMD GPUs for a local cluster, whose containers are processes of this machine."""

import asyncio
import signal
import sys
from pathlib import Path

import click

from aim_engine.cli.local_kubeconfig import local_kubeconfig
from aim_engine.local.errors import LocalError


@click.command()
@local_kubeconfig
@click.option(
    "--images",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    help="An image book: which programs stand for an image. May come several times; the built-in book comes last.",
)
@click.option(
    "--gpus",
    multiple=True,
    default=("MI300X:8",),
    show_default=True,
    help="Nodes by the model and number of their GPUs: MI300X:8x2,MI355X:8 is two nodes of 8 and one of 8; "
    "`none` is a node without GPUs.",
)
def command(kubeconfig: Path, images: tuple[Path, ...], gpus: tuple[str, ...]) -> None:
    """Run nodes until interrupted; at the end nothing of their pods is left on this machine.

    CPU, memory and GPUs of the nodes are made up, the scheduler that counts them is the real one. An image that no
    book names fails as one that does not exist.
    """
    from aim_engine.cli import logs
    from aim_engine.settings import Settings

    if sys.platform != "linux":
        raise LocalError("Nodes run on Linux only: their containers are processes with namespaces of the Linux kernel.")
    logs.configure(Settings(zap_encoder="console"))
    asyncio.run(_run(kubeconfig, images, gpus))


async def _run(kubeconfig: Path, images: tuple[Path, ...], gpus: tuple[str, ...]) -> None:
    from aim_engine.core.gpu_models import BY_NAME
    from aim_engine.local.container.book import read_books
    from aim_engine.local.control_plane.local_cluster import cluster_of
    from aim_engine.local.node import capacity
    from aim_engine.local.node.agent import Agent
    from aim_engine.local.node.timings import Timings

    machines = capacity.parse(gpus, BY_NAME)
    agent = Agent(cluster_of(kubeconfig), machines, read_books(images), Timings())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, agent.stop)
    names = ", ".join(machine.name for machine in machines)
    await agent.run(lambda: click.echo(f"Nodes are ready: {names}. Interrupt (Ctrl-C) to end them."))
