"""`aim operator`: run the operator until it is told to stop."""

import os
import platform
import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from aim_engine.controllers.pipeline import Timings as PipelineTimings
    from aim_engine.kube.timings import Timings
    from aim_engine.registry.limits import Limits
    from aim_engine.settings import Settings


ADDRESSES = ("metrics_bind_address", "health_probe_bind_address")
"""Settings that have to be bind addresses."""


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Run the operator."""
    from aim_engine import settings
    from aim_engine.web import address

    try:
        told = settings.read(arguments, os.environ, platform.node() or f"unknown-{time.time_ns()}")
        for name in ADDRESSES:
            try:
                address.parse(getattr(told, name))
            except ValueError as mistake:
                raise settings.UsageError(f"flag --{name.replace('_', '-')}: {mistake}") from mistake
    except settings.HelpAsked:
        click.echo(f"Usage: aim operator [FLAGS]\n\n{settings.usage()}")
        return
    except settings.UsageError as mistake:
        click.echo(f"aim operator: {mistake}\n\n{settings.usage()}", err=True)
        sys.exit(2)
    run(told)


def run(
    told: "Settings",
    timings: "Timings | None" = None,
    pipeline_timings: "PipelineTimings | None" = None,
    registry_limits: "Limits | None" = None,
) -> None:
    """Run until a signal comes; a failure that ends it is one sentence and exit code 1."""
    import asyncio

    from aim_engine.cli import logs, process
    from aim_engine.kube.errors import KubeError
    from aim_engine.registry.errors import RegistryError

    logs.configure(told)
    try:
        asyncio.run(process.run(told, timings, pipeline_timings, registry_limits))
    except (KubeError, RegistryError, ValueError, OSError) as failure:
        click.echo(f"aim operator: {failure}", err=True)
        sys.exit(1)
