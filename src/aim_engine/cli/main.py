"""The table of subcommands, and the one place where an expected failure becomes a sentence and an exit code."""

import importlib
import sys

import click

import aim_engine
from aim_engine.kube.errors import KubeError
from aim_engine.local.errors import LocalError

SUBCOMMANDS = {
    "operator": "Run the operator",
    "cluster": "Run a real Kubernetes control plane on this machine",
    "node": "Run nodes whose containers are processes of this machine",
    "kserve": "Run the real KServe controller for the local cluster",
    "gateway": "Run a gateway that passes requests on to the pods of the local cluster",
    "autoscaler": "Run an autoscaler for the Deployments of the local cluster",
    "kubectl": "Run kubectl against the local cluster",
    "up": "Run everything on this machine, with a sample service that answers",
    "down": "End what `aim up` runs",
    "status": "Say what `aim up` runs, and how its services are",
    "download": "Download weights from the hub or from S3 into a directory",
    "crds": "Print or write the CustomResourceDefinitions",
}
"""Name of a subcommand -> its line in the help. The module `aim_engine.cli.<name>` holds it as `command`."""


class Subcommands(click.Group):
    """A group that imports the module of a subcommand when that subcommand is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = importlib.import_module(f"aim_engine.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.command(cls=Subcommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(aim_engine.__version__, prog_name="aim")
def aim() -> None:
    """Serve language models on AMD GPUs with Kubernetes."""


def main() -> None:
    """Run `aim`; an expected failure ends as one sentence on standard error and exit code 1."""
    try:
        aim()
    except (KubeError, LocalError) as failure:
        click.echo(f"aim: {failure}", err=True)
        sys.exit(1)
