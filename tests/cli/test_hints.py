"""What is shown to be copied into a shell means the same there, whatever the directory is called."""

import shlex

import pytest

from aim_engine.cli import cluster, up
from aim_engine.local.control_plane import Cluster
from aim_engine.local.up.facts import Facts

DIRECTORIES = pytest.mark.parametrize("directory", ["/srv/plain", "/srv/two words; and $more"])


def words(shown: str, command: str) -> list[str]:
    """The words that a shell makes of the one line that has this command in it."""
    return shlex.split(next(line for line in shown.splitlines() if command in line))


@DIRECTORIES
def test_a_clusters_hints_can_be_copied(directory: str) -> None:
    shown = cluster.hints(
        Cluster(directory=directory, server="", network="", programs="", version="v1", ephemeral=True)
    )
    assert f"KUBECONFIG={directory}/kubeconfig" in words(shown, "export")
    assert f"AIM_CLUSTER_DIRECTORY={directory}" in words(shown, "kubectl")
    assert words(shown, "cluster stop")[-2:] == ["--directory", directory]


@DIRECTORIES
def test_the_summary_of_a_start_can_be_copied(directory: str) -> None:
    facts = Facts(
        directory=directory,
        server="",
        version="v1",
        kubeconfig=f"{directory}/kubeconfig",
        gpus=("MI300X:8",),
        gateway=None,
        sample=None,
        parts=(),
    )
    assert f"KUBECONFIG={directory}/kubeconfig" in words(up.summary(facts), "export")
    assert f"AIM_CLUSTER_DIRECTORY={directory}" in words(up.summary(facts), "kubectl get")


def test_plain_paths_are_shown_as_they_are() -> None:
    shown = cluster.hints(
        Cluster(directory="/srv/plain", server="", network="", programs="", version="v1", ephemeral=True)
    )
    use_it, export, _ = shown.splitlines()
    assert use_it.startswith("  use it    AIM_CLUSTER_DIRECTORY=/srv/plain ")
    assert export == "  or        export KUBECONFIG=/srv/plain/kubeconfig"
