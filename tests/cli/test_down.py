"""`aim down --purge` removes the directory of a cluster, and no other one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from aim_engine.cli import down
from aim_engine.local.control_plane.cluster import Files
from aim_engine.local.errors import LocalError
from aim_engine.local.up.facts import UpFiles


@pytest.mark.parametrize(
    "mark",
    [
        pytest.param(lambda place: UpFiles(place).lock, id="`aim up` ran there"),
        pytest.param(lambda place: Files(place).running, id="a control plane began to start there"),
        pytest.param(lambda place: Files(place).facts, id="a control plane ran there"),
    ],
)
def test_a_directory_with_any_file_of_a_cluster_is_removed(tmp_path: Path, mark: Callable[[Path], Path]) -> None:
    place = tmp_path / "cluster"
    place.mkdir()
    mark(place).touch()
    assert CliRunner().invoke(down.command, ["--purge", "--directory", str(place)]).exit_code == 0
    assert not place.exists()


def test_another_directory_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = CliRunner().invoke(down.command, ["--purge", "--directory", str(tmp_path)])
    assert isinstance(result.exception, LocalError)
    assert (tmp_path / "mine").exists()
