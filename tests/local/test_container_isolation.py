"""What a container sees of the machine and of other containers, where the kernel gives it namespaces."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.local.containers import Box, line_of

from aim_engine.local.container.errors import StartError
from aim_engine.local.container.run import Mode, Mount
from aim_engine.local.container.sandbox import Sandbox

ROOT = os.geteuid() == 0


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Box]:
    async with Sandbox("isolated") as sandbox:
        yield Box(sandbox, tmp_path)


@pytest.fixture(params=["isolated", "mounted"])
async def mounting(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Box]:
    """A box in each of the modes that have their own mounts."""
    mode: Mode = request.param
    async with Sandbox(mode) as sandbox:
        yield Box(sandbox, tmp_path)


async def test_the_best_mode_is_found_and_nothing_of_the_search_is_left() -> None:
    async with Sandbox() as sandbox:
        assert sandbox.mode == "isolated"
        assert sandbox.reasons == {}


async def test_a_container_sees_its_own_processes_only(box: Box) -> None:
    other = await box.shell("echo up; sleep 60")
    await line_of(other, "up")
    numbers = (await box.says("cd /proc; echo [0-9]*")).split()
    assert numbers == ["1", "2"]


async def test_the_first_process_can_not_be_killed_from_inside(box: Box) -> None:
    assert await box.says("kill -9 1; echo alive") == "alive"


async def test_the_root_holds_an_image_and_not_the_host(mounting: Box) -> None:
    seen = set((await mounting.says("ls /")).split())
    allowed = {
        "bin",
        "dev",
        "etc",
        "home",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "proc",
        "root",
        "run",
        "sbin",
        "tmp",
        "usr",
        "var",
    }
    places = {Path(place).parts[1] for place in (sys.prefix, sys.base_prefix, __file__)}
    assert seen <= allowed | places
    assert {"bin", "dev", "etc", "proc", "tmp", "usr"} <= seen


async def test_files_of_the_host_are_out_of_reach(mounting: Box) -> None:
    (mounting.directory / "private").write_text("secret")
    paths = [mounting.directory / "private", Path("/etc/shadow"), Path("/etc/ssl/private"), Path("/sys"), Path("/boot")]
    script = "; ".join(f"test -e {path} && echo {path}" for path in paths)
    assert await mounting.says(f"{script}; true") == ""


async def test_programs_of_the_host_can_not_be_changed(mounting: Box) -> None:
    for place in ("/usr", "/usr/bin", os.path.realpath(sys.prefix), "/bin"):
        ended, text = await mounting.finish_shell(f"touch {place}/intruder")
        assert ended.code != 0 and "Read-only" in text, place


@pytest.mark.parametrize(
    "target", ["/data", "/etc/settings", "/usr/share/aim", "/lib/aim", "/var/run/secrets/x", "/a/b/c"]
)
async def test_a_mount_is_read_only_if_it_says_so(mounting: Box, target: str) -> None:
    volume = mounting.directory / "volume"
    volume.mkdir()
    (volume / "there").write_text("content\n")
    _, text = await mounting.finish_shell(
        f"cat {target}/there; touch {target}/new", mounts=(Mount(volume, target, True),)
    )
    assert "content\n" in text and "Read-only" in text
    await mounting.says(f"touch {target}/new", mounts=(Mount(volume, target),))
    assert (volume / "new").exists()


async def test_mounts_beside_programs_of_the_host_leave_them_usable(mounting: Box) -> None:
    volume = mounting.directory / "volume"
    volume.mkdir()
    mounts = (Mount(volume, "/usr/local/share/one"), Mount(volume, "/usr/lib/two/deep"), Mount(volume, "/etc/ssl"))
    text = await mounting.says("ls /usr/local/share/one /usr/lib/two/deep /etc/ssl && echo fine", mounts=mounts)
    assert text.endswith("fine")
    ended, text = await mounting.finish(sys.executable, "-c", "import ssl; print('ssl')", mounts=mounts)
    assert (ended.code, text) == (0, "ssl\n")


async def test_a_program_of_the_image_stands_among_those_of_the_host(mounting: Box) -> None:
    script = mounting.directory / "tool"
    script.write_text("#!/bin/sh\necho tool\n")
    script.chmod(0o755)
    programs = {"/usr/local/bin/aim-tool": script, "/opt/aim/tools": mounting.directory}
    assert await mounting.says("aim-tool; /opt/aim/tools/tool", programs=programs) == "tool\ntool"


async def test_a_volume_takes_the_place_of_tmp(mounting: Box) -> None:
    volume = mounting.directory / "volume"
    volume.mkdir()
    await mounting.says("echo x > /tmp/file", mounts=(Mount(volume, "/tmp"),))
    assert (volume / "file").read_text() == "x\n"


async def test_a_volume_takes_the_place_of_etc_and_gets_nothing_from_us(mounting: Box) -> None:
    volume = mounting.directory / "volume"
    volume.mkdir()
    await mounting.says("true", mounts=(Mount(volume, "/etc"),))
    assert list(volume.iterdir()) == []


async def test_a_read_only_root_leaves_only_volumes_writable(mounting: Box) -> None:
    volume = mounting.directory / "volume"
    volume.mkdir()
    script = "for place in / /tmp ~ /etc /var /data /dev/shm; do touch $place/x 2>/dev/null && echo $place; done; true"
    text = await mounting.says(script, read_only_root=True, mounts=(Mount(volume, "/data"),))
    assert text.split() == ["/data", "/dev/shm"]


async def test_the_root_is_writable_and_forgotten(mounting: Box) -> None:
    assert await mounting.says("mkdir -p /workspace/x && echo 1 > /workspace/x/y && cat /workspace/x/y") == "1"
    assert await mounting.says("test -e /workspace || echo gone") == "gone"


async def test_the_working_directory_is_made(mounting: Box) -> None:
    assert await mounting.says("pwd", working_directory="/srv/app") == "/srv/app"


@pytest.mark.parametrize(
    ("mount", "sentence"),
    [
        pytest.param(
            Mount(Path("/no/such/place"), "/data"), "/no/such/place, to be mounted at /data, does not exist", id="gone"
        ),
        pytest.param(Mount(Path("/usr"), "data"), "mount path data must be absolute and below /", id="a relative path"),
        pytest.param(Mount(Path("/usr"), "/"), "mount path / must be absolute and below /", id="the root itself"),
    ],
)
async def test_an_impossible_mount_is_a_sentence(box: Box, mount: Mount, sentence: str) -> None:
    with pytest.raises(StartError) as failure:
        await box.shell("true", mounts=(mount,))
    assert str(failure.value) == sentence


async def test_the_name_of_the_container_is_the_pods(mounting: Box) -> None:
    text = await mounting.says(
        "hostname; cat /etc/hostname; grep pod-7 /etc/hosts", hostname="pod-7", pod_ip="127.9.0.7"
    )
    assert text.split() == ["pod-7", "pod-7", "127.9.0.7", "pod-7"]


async def test_devices_are_there_and_harmless(mounting: Box) -> None:
    assert (
        await mounting.says("echo x > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c") == "4\n4"
    )
    listed = set((await mounting.says("ls /dev")).split())
    assert listed == {"fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}


async def test_a_container_is_the_user_it_asks_for(mounting: Box) -> None:
    volume = mounting.directory / "volume"
    volume.mkdir(mode=0o777)
    volume.chmod(0o777)
    script = "id -u; id -g; echo ~; whoami; touch ~/own /tmp/own /data/own; echo said > /dev/stdout"
    text = await mounting.says(script, user=1234, group=2345, mounts=(Mount(volume, "/data"),))
    assert text.split() == ["1234", "2345", "/home/user", "user", "said"]
    owner = (volume / "own").stat()
    assert (owner.st_uid, owner.st_gid) == ((1234, 2345) if ROOT else (os.geteuid(), os.getegid()))


async def test_a_container_without_a_user_is_the_agents_user(mounting: Box) -> None:
    assert await mounting.says("id -u") == str(os.geteuid())


async def test_supplementary_groups_are_those_of_the_run(box: Box) -> None:
    text = await box.says("id -G", user=1234, group=2345, groups=(3456,))
    expected = {"2345", "3456"} if ROOT else {"2345"}
    assert expected <= set(text.split())


async def test_even_root_in_a_container_has_no_power_over_the_machine(box: Box) -> None:
    script = """
    mknod /tmp/disk b 1 1 && echo device
    mount -t tmpfs none /tmp && echo mount
    umount /tmp && echo umount
    echo 1 > /proc/sys/kernel/panic && echo sysctl
    chroot /proc/1/root /bin/true 2>/dev/null && ls /proc/1/fd && echo first process
    true
    """
    ended, text = await box.finish_shell(f"({script}) 2>/dev/null", user=0)
    assert (ended.code, text) == (0, "")


async def test_nothing_is_mounted_on_the_host(mounting: Box) -> None:
    before = Path("/proc/self/mountinfo").read_text()
    container = await mounting.shell("echo up; sleep 60")
    await line_of(container, "up")
    assert Path("/proc/self/mountinfo").read_text() == before


async def test_an_interpreter_below_a_volume_stays_reachable(mounting: Box) -> None:
    volume = mounting.directory / "volume"
    volume.mkdir()
    above = "/" + Path(os.path.realpath(sys.base_prefix)).parts[1]
    if above == "/usr":
        above = "/" + Path(sys.prefix).parts[1]
    ended, text = await mounting.finish(sys.executable, "-c", "print('here')", mounts=(Mount(volume, above),))
    assert (ended.code, text) == (0, "here\n")


NESTED = """
import asyncio, sys
from pathlib import Path
from aim_engine.local.container.run import Mount, Run
from aim_engine.local.container.sandbox import Sandbox

async def main():
    volume = Path("/tmp/volume")
    volume.mkdir()
    async with Sandbox() as sandbox:
        argv = ("/bin/sh", "-c", "echo written > /data/file")
        mounts = (Mount(volume, "/data"),)
        run = Run(name="nested", argv=argv, scratch=Path("/tmp/scratch"), log=Path("/tmp/log"), mounts=mounts)
        ended = await (await sandbox.start(run)).wait()
        print(sandbox.mode, sorted(sandbox.reasons), ended.code, (volume / "file").read_text().strip())

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param(
            1234, "mounted ['isolated'] 0 written" if ROOT else None, id="where /proc may not be mounted anew"
        ),
        pytest.param(0, "rewritten ['isolated', 'mounted'] 0 written", id="where nothing may be mounted"),
    ],
)
async def test_a_container_on_a_machine_that_allows_less_runs_in_the_best_mode_there(
    box: Box, user: int, expected: str | None
) -> None:
    """A container is such a machine: /proc of a container of root is partly covered, and root in it may not mount."""
    ended, text = await box.finish(sys.executable, "-c", NESTED, user=user)
    assert ended.code == 0, text
    assert text.splitlines()[-1] == (expected or "isolated [] 0 written")
