"""`aim operator` ends with a sentence and the right exit code when it cannot start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from aim_engine.cli.main import aim


def kubeconfig(directory: Path, server: str) -> Path:
    content = {
        "clusters": [{"name": "a", "cluster": {"server": server}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": ""}}],
        "current-context": "a",
    }
    path = directory / "kubeconfig"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["--leader"], "unknown flag '--leader'", id="an unknown flag"),
        pytest.param(["-zap-encoder=xml"], "flag --zap-encoder is 'xml'; it takes one of: json, console", id="a value"),
        pytest.param(["--kubeconfig"], "flag --kubeconfig needs a value", id="a missing value"),
        pytest.param(["start"], "unexpected argument 'start': the operator takes only flags", id="a word"),
        pytest.param(
            ["--metrics-bind-address=8443"],
            "flag --metrics-bind-address: '8443' is no bind address; write :PORT, HOST:PORT, or 0 for nowhere",
            id="no address for metrics",
        ),
        pytest.param(
            ["--health-probe-bind-address", ":http"],
            "flag --health-probe-bind-address: ':http' is no bind address; write :PORT, HOST:PORT, or 0 for nowhere",
            id="no address for probes",
        ),
    ],
)
def test_a_bad_flag_is_answered_with_usage_and_exit_code_2(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(aim, ["operator", *arguments])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0] == f"aim operator: {sentence}"
    assert "--leader-elect\n" in result.stderr


@pytest.mark.parametrize("flag", ["-h", "--help", "-help"])
def test_help_lists_the_flags(flag: str) -> None:
    result = CliRunner().invoke(aim, ["operator", flag])
    assert result.exit_code == 0
    assert "--metrics-bind-address VALUE" in result.stdout


def operator(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("aim")), "operator", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def test_an_unreachable_cluster_is_one_sentence_and_exit_code_1(tmp_path: Path) -> None:
    ended = operator("--kubeconfig", str(kubeconfig(tmp_path, "https://127.0.0.1:1")))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "aim operator: can't get /version: no answer from https://127.0.0.1:1: "
        "[Errno 111] Connect call failed ('127.0.0.1', 1)\n"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "does not exist", id="no file"),
        pytest.param("{", "", id="no YAML"),
        pytest.param("clusters: []\n", "context", id="no context"),
    ],
)
def test_a_wrong_kubeconfig_is_one_sentence_that_names_the_file(
    tmp_path: Path, content: str | None, words: str
) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    result = CliRunner().invoke(aim, ["operator", f"--kubeconfig={path}"])
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("aim operator: ")
    assert str(path) in result.stderr
    assert words in result.stderr
