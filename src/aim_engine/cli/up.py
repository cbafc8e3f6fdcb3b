"""`aim up`: everything on this machine, in one command."""

import asyncio
import contextlib
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aim_engine.cli import cluster, crds
from aim_engine.local.errors import LocalError

if TYPE_CHECKING:
    from aim_engine.local.up.events import Tell
    from aim_engine.local.up.facts import Facts, Wish

OPTIONAL = ("kserve", "gateway", "autoscaler", "registry", "hub", "operator")
"""Parts that can be left out."""
QUESTION = '{"messages": [{"role": "user", "content": "Hello"}]}'


@click.command()
@click.option("--detach", is_flag=True, help="Return when everything runs; `aim down` ends it.")
@click.option(
    "--gpus",
    multiple=True,
    help="Nodes by the model and number of their GPUs, such as MI300X:8x2,MI355X:8. "
    "[default: those of the last start, at first MI300X:8]",
)
@click.option(
    "--images",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    help="An image book for the nodes: which programs stand for an image. May come several times.",
)
@click.option(
    "--without",
    type=click.Choice(OPTIONAL),
    multiple=True,
    help="Leave a part out, to use a real one, or one of your own, in its place. May come several times.",
)
@click.option("--no-sample", is_flag=True, help="Make no sample service.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port of the gateway on localhost. [default: that of the last start, or the first free one from 8080]",
)
@cluster.directory_option
@click.option("--events", is_flag=True, hidden=True)
def command(
    *,
    detach: bool,
    gpus: tuple[str, ...],
    images: tuple[Path, ...],
    without: tuple[str, ...],
    no_sample: bool,
    port: int | None,
    directory: Path | None,
    events: bool,
) -> None:
    """Run AIM Engine on this machine, with everything it needs, and a sample service that answers.

    A real Kubernetes with nodes that have simulated GPUs, the real KServe, stand-ins for gateway, autoscaler, registry
    and Hugging Face hub, and the operator. Without root, containers or GPUs, on loopback addresses only, except for
    KServe's webhooks. Ctrl-C ends all of it; the next start goes on where this one was.
    """
    from aim_engine.local.up import facts
    from aim_engine.local.up.facts import Wish

    wish = Wish(
        directory=cluster.chosen(directory),
        gpus=gpus or None,
        images=tuple(book.absolute() for book in images),
        port=port,
        without=frozenset(without),
        sample=not no_sample,
    )
    if running := facts.find(wish.directory):
        click.echo("AIM Engine is up already; to change how it runs, end it with `aim down` first.")
        click.echo(summary(running))
    elif events:
        _as_events(wish)
    elif detach:
        _detached(wish)
    else:
        _attached(wish)


def _attached(wish: "Wish") -> None:
    """Run everything in this process, until a signal comes."""
    from aim_engine.cli import up_view
    from aim_engine.local.up.events import Event, Up

    with contextlib.ExitStack() as stack:
        view = stack.enter_context(up_view.shown())

        def tell(event: Event) -> None:
            view.tell(event)
            if isinstance(event, Up):
                stack.close()
                click.echo(f"{summary(event.facts)}\n  stop       Ctrl-C")

        _run(wish, tell)
    click.echo("Everything is stopped; the next `aim up` goes on from here.")


def _as_events(wish: "Wish") -> None:
    """Run everything in this process and tell another one about it, until that has heard that all is up."""
    from aim_engine.local.up.events import Event, Failed, Up, encode
    from aim_engine.local.up.facts import UpFiles

    def tell(event: Event) -> None:
        try:
            os.write(1, encode(event))
        except BrokenPipeError:
            if not isinstance(event, Failed):
                os.kill(os.getpid(), signal.SIGTERM)
        if isinstance(event, Up):
            log = os.open(UpFiles(wish.directory).log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            for descriptor in (1, 2):
                os.dup2(log, descriptor)

    try:
        _run(wish, tell)
    except LocalError as failure:
        tell(Failed(str(failure)))
        sys.exit(1)


def _run(wish: "Wish", tell: "Tell") -> None:
    """Run everything until SIGINT or SIGTERM, which end it in good order."""
    from aim_engine.local import interruption
    from aim_engine.local.up import supervision

    async def work() -> None:
        await supervision.run(wish, crds.write(_made(wish.directory) / "crds"), tell)

    asyncio.run(interruption.until(work()))


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _detached(wish: "Wish") -> None:
    """Run everything in a process of its own, and show it until it is up."""
    import subprocess

    from aim_engine.cli import up_view
    from aim_engine.local.up.events import Failed, Up, decode

    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "aim_engine", "up", "--events", *_arguments(wish)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert running.stdout
    try:
        with up_view.shown() as view:
            for line in running.stdout:
                event = decode(line)
                view.tell(event)
                if isinstance(event, Failed):
                    raise LocalError(event.text)
                if isinstance(event, Up):
                    break
            else:
                raise LocalError(f"AIM Engine in {wish.directory} ended while it was starting.")
    except KeyboardInterrupt:
        running.terminate()
        running.wait()
        raise LocalError("The start was given up; everything is stopped.") from None
    click.echo(f"{summary(event.facts)}\n  stop       {cluster.aim()} down{cluster.option(event.facts.directory)}")
    running.stdout.close()
    running.returncode = 0  # it goes on without us


def _arguments(wish: "Wish") -> list[str]:
    """The command line of this wish."""
    words = ["--directory", str(wish.directory), *([] if wish.sample else ["--no-sample"])]
    words += [word for kind in wish.gpus or () for word in ("--gpus", kind)]
    words += [word for book in wish.images for word in ("--images", str(book))]
    words += [word for part in sorted(wish.without) for word in ("--without", part)]
    return [*words, *(["--port", str(wish.port)] if wish.port else [])]


def summary(facts: "Facts") -> str:
    """How to use what runs."""
    operated = any(part.name == "operator" for part in facts.parts)
    kind = "aimservices" if operated else "nodes"
    up = "AIM Engine is up" if operated else "Everything but the operator is up"
    lines = {
        "ask it": f"curl {facts.gateway}{facts.sample}/v1/chat/completions -d {shlex.quote(QUESTION)}"
        if facts.gateway and facts.sample
        else "",
        "look": f"{cluster.variable(facts.directory)}{cluster.aim()} kubectl get {kind}",
        "": cluster.export(facts.kubeconfig),
        "logs": str(facts.logs),
    }
    return "\n".join(
        (
            f"{up}: Kubernetes {facts.version} at {facts.server} with {', '.join(facts.gpus)}.",
            *(f"  {name:<11}{text}" for name, text in lines.items() if text),
        )
    )
