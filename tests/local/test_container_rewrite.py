"""The rule for machines without namespaces: which paths change, and into what."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.local.container.rewrite import rewrite, rewritten
from aim_engine.local.container.run import Mount, Run

PLACES = {"/data": "/host/volume", "/data/inner": "/host/inner", "/tmp": "/scratch/tmp", "/check.sh": "/book/check.sh"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("/data", "/host/volume", id="the path alone"),
        pytest.param("/data/model.bin", "/host/volume/model.bin", id="the beginning of a longer path"),
        pytest.param("/data/", "/host/volume/", id="a trailing slash stays"),
        pytest.param("/data/inner/x", "/host/inner/x", id="the longer of two mounts counts"),
        pytest.param("/database", "/database", id="another name that begins the same"),
        pytest.param("/data-2", "/data-2", id="a dash belongs to the name"),
        pytest.param("/data.txt", "/data.txt", id="a dot belongs to the name"),
        pytest.param("my/data", "my/data", id="the end of a relative path"),
        pytest.param("/mnt/data", "/mnt/data", id="the end of an absolute path"),
        pytest.param("$HOME/data", "$HOME/data", id="after a variable of the shell"),
        pytest.param("${HOME}/data", "${HOME}/data", id="after a variable in braces"),
        pytest.param("--model=/data/x", "--model=/host/volume/x", id="the value of an option"),
        pytest.param("/data:/usr/bin:/data/bin", "/host/volume:/usr/bin:/host/volume/bin", id="a list with colons"),
        pytest.param("file:///data/x", "file:///host/volume/x", id="the path of a file address"),
        pytest.param("https://data/x", "https://data/x", id="the host of an address"),
        pytest.param("https://example.com/data", "https://example.com/data", id="the path of a web address"),
        pytest.param("cat /data/a > /tmp/b", "cat /host/volume/a > /scratch/tmp/b", id="a shell command"),
        pytest.param("cat </data/a>/tmp/b", "cat </host/volume/a>/scratch/tmp/b", id="redirections without spaces"),
        pytest.param("cd /data&&ls", "cd /host/volume&&ls", id="a command that ends at an ampersand"),
        pytest.param('x="/data"', 'x="/host/volume"', id="inside quotes"),
        pytest.param('{"dir":"/data"}', '{"dir":"/host/volume"}', id="inside JSON"),
        pytest.param("[/data, /tmp]", "[/host/volume, /scratch/tmp]", id="inside a list"),
        pytest.param("(cd /data)", "(cd /host/volume)", id="before a parenthesis"),
        pytest.param("first\n/data\nlast", "first\n/host/volume\nlast", id="on a line of its own"),
        pytest.param("/check.sh --all", "/book/check.sh --all", id="a program of the image"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_paths_become_those_of_the_host(text: str, expected: str) -> None:
    assert rewrite(text, PLACES) == expected


def test_what_a_replacement_brings_in_is_left_alone() -> None:
    assert rewrite("/data /tmp", {"/data": "/tmp/volume", "/tmp": "/data/scratch"}) == "/tmp/volume /data/scratch"


@given(st.text())
def test_without_mounts_nothing_changes(text: str) -> None:
    assert rewrite(text, {}) == text


@given(st.text(alphabet="abc /:=\"'", max_size=30))
def test_text_without_a_mount_path_never_changes(text: str) -> None:
    assert rewrite(text, {"/zzz": "/host"}) == text


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param("/", "/scratch/root", id="the root of the container"),
        pytest.param("/workspace", "/scratch/root", id="a directory of the image"),
        pytest.param("/data", "/host/volume", id="a mount"),
        pytest.param("/data/deeper/", "/host/volume/deeper", id="a directory inside a mount"),
        pytest.param("/data/inner", "/host/inner", id="the inner of two mounts"),
    ],
)
def test_the_working_directory(wanted: str, expected: str) -> None:
    mounts = (Mount(Path("/host/volume"), "/data"), Mount(Path("/host/inner"), "/data/inner"))
    run = Run(
        name="a/b/c",
        argv=("true",),
        scratch=Path("/scratch"),
        log=Path("/log"),
        mounts=mounts,
        working_directory=wanted,
    )
    assert rewritten(run, []).working_directory == expected


def test_a_whole_run_is_rewritten_and_the_replacements_are_exported() -> None:
    run = Run(
        name="a/b/c",
        argv=("/check.sh", "--out=/data/x"),
        environment={"MODEL": "/data/m", "OTHER": "plain"},
        mounts=(Mount(Path("/host/volume"), "/data/"),),
        programs={"/check.sh": Path("/book/check.sh")},
        termination_message=Mount(Path("/host/last"), "/dev/termination-log"),
        scratch=Path("/scratch"),
        log=Path("/log"),
    )
    told = rewritten(run, [])
    assert told.argv == ("/book/check.sh", "--out=/host/volume/x")
    assert told.mounts == () and told.programs == {} and told.termination_message is None
    environment = dict(told.environment)
    assert msgspec.json.decode(environment.pop("AIM_MOUNTS")) == {
        "/check.sh": "/book/check.sh",
        "/data": "/host/volume",
        "/dev/termination-log": "/host/last",
        "/tmp": "/scratch/tmp",
    }
    assert environment == {
        "MODEL": "/host/volume/m",
        "OTHER": "plain",
        "HOME": "/scratch/home",
        "TMPDIR": "/scratch/tmp",
    }


def test_an_interpreter_below_tmp_stays_where_it_is() -> None:
    argv = ("/tmp/project/.venv/bin/python", "/tmp/script.py")
    run = Run(name="a/b/c", argv=argv, scratch=Path("/scratch"), log=Path("/log"))
    told = rewritten(run, [Path("/tmp/project/.venv")])
    assert told.argv == ("/tmp/project/.venv/bin/python", "/scratch/tmp/script.py")
    assert msgspec.json.decode(told.environment["AIM_MOUNTS"]) == {"/tmp": "/scratch/tmp"}
