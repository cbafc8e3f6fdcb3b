"""The option by which the parts of a local cluster are told where it is."""

from pathlib import Path
from typing import Final

import click

local_kubeconfig: Final = click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The kubeconfig of a cluster that was started with `aim cluster start`.",
)
