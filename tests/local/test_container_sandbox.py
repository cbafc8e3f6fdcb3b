"""Containers as real processes: what holds in every mode, with namespaces or without."""

import asyncio
import os
import signal
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.local.containers import DEADLINE, Box, line_of, mark, open_files, printed, processes_with, until

from aim_engine.local.container import logs
from aim_engine.local.container.errors import ContainerGone, StartError
from aim_engine.local.container.logs import Selection, termination_message
from aim_engine.local.container.run import MODES, Mode, Mount
from aim_engine.local.container.sandbox import Sandbox

SECRET = "not-for-containers-7c1e"


@pytest.fixture(params=list(MODES))
async def box(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Box]:
    monkeypatch.setenv("AGENT_SECRET", SECRET)
    mode: Mode = request.param
    async with Sandbox(mode) as sandbox:
        yield Box(sandbox, tmp_path)


async def test_a_program_runs_prints_and_ends(box: Box) -> None:
    ended, text = await box.finish_shell("echo out; echo err >&2")
    assert (ended.code, ended.signal, ended.reason) == (0, None, "Completed")
    assert ended.started_at <= ended.finished_at
    assert sorted(text.splitlines()) == ["err", "out"]


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        pytest.param("exit 3", 3, None, id="its own exit code"),
        pytest.param("kill -9 $$", 137, 9, id="killed"),
        pytest.param("kill -15 $$", 143, 15, id="terminated"),
        pytest.param("kill -11 $$", 139, 11, id="a segmentation fault"),
    ],
)
async def test_how_a_program_fails(box: Box, script: str, code: int, number: int | None) -> None:
    ended, _ = await box.finish_shell(script)
    assert (ended.code, ended.signal, ended.reason) == (code, number, "Error")


async def test_the_environment_is_what_the_run_says_and_nothing_of_the_agent(box: Box) -> None:
    run = box.plan("/usr/bin/env", environment={"MODE": "test", "POD_IP": "mine"}, hostname="pod-1")
    container = await box.sandbox.start(run)
    await container.wait()
    seen = dict(text.split("=", 1) for text in (await printed(container)).splitlines())
    extra = {"TMPDIR", "AIM_MOUNTS"} if box.sandbox.mode == "rewritten" else set[str]()
    assert set(seen) == {"MODE", "POD_IP", "PATH", "HOME", "HOSTNAME"} | extra
    assert (seen["MODE"], seen["POD_IP"], seen["HOSTNAME"]) == ("test", "mine", "pod-1")


async def test_no_process_of_a_container_knows_the_environment_of_the_agent(box: Box) -> None:
    container = await box.shell("sleep 60")
    family = [
        container.pid,
        *map(int, Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()),
    ]
    assert len(family) == 2
    for process in family:
        if os.geteuid() == 0:  # another user may not look at an init with capabilities of its own
            assert SECRET not in Path(f"/proc/{process}/environ").read_text()
    _, text = await container.execute(("/usr/bin/env",), timeout=DEADLINE)
    assert SECRET not in text


async def test_only_the_three_standard_files_are_open(box: Box) -> None:
    assert await box.says("ls /proc/self/fd | sort | head -4 | tr '\\n' ' '") == "0 1 2 3"  # 3 is what ls itself opened
    assert await box.says("cat; echo nothing to read") == "nothing to read"


async def test_signals_are_as_a_program_expects_them_whatever_the_agent_ignores(box: Box) -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        text = await box.says("grep -E 'Sig(Blk|Ign)' /proc/self/status")
    finally:
        signal.signal(signal.SIGUSR1, before)
    touched = {
        number + 1 for line in text.splitlines() for number in range(64) if int(line.split()[1], 16) >> number & 1
    }
    assert touched.isdisjoint(signal.valid_signals()), text


async def test_a_program_leads_a_process_group_of_its_own(box: Box) -> None:
    own, group, session = (await box.says("set -- $(cat /proc/$$/stat); echo $1 $5 $6")).split()
    assert own == group == session


async def test_mounts_are_at_their_paths(box: Box) -> None:
    volume, inner, file = box.directory / "volume", box.directory / "inner", box.directory / "file"
    volume.mkdir()
    inner.mkdir()
    (inner / "there").write_text("inner")
    file.write_text("single")
    mounts = (Mount(inner, "/data/deep/inner"), Mount(volume, "/data"), Mount(file, "/etc/single.conf", read_only=True))
    text = await box.says(
        "echo hello > /data/written; cat /data/deep/inner/there /etc/single.conf; cat $WHERE",
        mounts=mounts,
        environment={"WHERE": "/data/written"},
    )
    assert text == "innersinglehello"
    assert (volume / "written").read_text() == "hello\n"


async def test_a_program_of_the_image_can_be_the_command(box: Box) -> None:
    script = box.directory / "size.sh"
    script.write_text("#!/bin/sh\necho size of $1\n")
    script.chmod(0o755)
    programs = {"/check-size.sh": script}
    _, text = await box.finish("/check-size.sh", "model", programs=programs)
    assert text == "size of model\n"
    assert await box.says("/check-size.sh other", programs=programs) == "size of other"


async def test_the_interpreter_and_this_package_can_be_used(box: Box) -> None:
    ended, text = await box.finish(sys.executable, "-c", "import aim_engine.objects, msgspec; print(msgspec.__name__)")
    assert (ended.code, text) == (0, "msgspec\n")


async def test_the_termination_message_comes_back(box: Box) -> None:
    message = Mount(box.directory / "message", "/dev/termination-log")
    (box.directory / "message").write_text("from the run before")
    await box.says("echo it is full > /dev/termination-log", termination_message=message)
    assert termination_message(message.source) == "it is full\n"
    await box.says("true", termination_message=message)
    assert termination_message(message.source) == ""


async def test_every_container_has_its_own_home_and_temporary_files(box: Box) -> None:
    first = await box.shell("echo 1 > /tmp/mine; echo 1 > ~/mine; echo done; sleep 60")
    await line_of(first, "done")
    assert await box.says("ls /tmp/mine ~/mine 2>/dev/null || echo nothing") == "nothing"


async def test_the_working_directory_is_made_inside_a_mount(box: Box) -> None:
    volume = box.directory / "volume"
    volume.mkdir()
    await box.says("echo here > file", mounts=(Mount(volume, "/data"),), working_directory="/data/a/b")
    assert (volume / "a" / "b" / "file").read_text() == "here\n"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        pytest.param(
            ("no-such-program",), 'exec: "no-such-program": executable file not found in $PATH', id="not in PATH"
        ),
        pytest.param(
            ("/opt/no-such", "x"),
            'exec: "/opt/no-such": stat /opt/no-such: no such file or directory',
            id="no such path",
        ),
        pytest.param(("/usr",), 'exec: "/usr": /usr: permission denied', id="a directory"),
    ],
)
async def test_a_program_that_can_not_be_run_is_a_sentence(box: Box, argv: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(StartError) as failure:
        await box.start(*argv)
    assert str(failure.value) == sentence


async def test_stop_lets_a_program_end_in_its_own_way(box: Box) -> None:
    container = await box.shell("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done")
    await line_of(container, "up")
    ended = await container.stop(grace=DEADLINE)
    assert (ended.code, ended.reason) == (7, "Error")
    assert "bye" in await printed(container)


async def test_stop_reaches_the_children_of_a_shell(box: Box) -> None:
    container = await box.shell("sh -c 'trap \"echo child; exit\" TERM; echo up; while :; do sleep 0.05; done'; exit 4")
    await line_of(container, "up")
    ended = await container.stop(grace=DEADLINE)
    assert ended.signal == signal.SIGTERM


async def test_stop_kills_what_does_not_end_in_time(box: Box) -> None:
    number = mark()
    container = await box.shell(f"trap '' TERM; echo up; sleep {number} & wait; sleep {number}")
    await line_of(container, "up")
    started = time.monotonic()
    ended = await container.stop(grace=0.3)
    assert (ended.code, ended.signal, ended.reason) == (137, 9, "Error")
    assert time.monotonic() - started >= 0.3
    assert processes_with(f"sleep {number}") == []


async def test_stop_without_grace_kills_at_once_and_stopping_twice_is_the_same_end(box: Box) -> None:
    container = await box.shell("trap 'exit 5' TERM; echo up; while :; do sleep 0.05; done")
    await line_of(container, "up")
    first, second = await asyncio.gather(container.stop(grace=0), container.stop(grace=0))
    assert first == second == await container.wait()
    assert first.code == 137


async def test_orphans_end_with_the_program(box: Box) -> None:
    number = mark()
    fork = "os.fork() and os._exit(0)"
    orphan = f"import os; {fork}; os.setsid(); {fork}; os.execlp('sleep', 'sleep', '{number}')"
    ended, _ = await box.finish_shell(f'{sys.executable} -c "{orphan}"; sleep 0.1; echo done')
    assert ended.code == 0
    assert processes_with(f"sleep {number}") == []


async def test_the_reason_of_a_kill_is_told(box: Box) -> None:
    container = await box.shell("sleep 60")
    ended = await container.kill("OOMKilled")
    assert (ended.code, ended.signal, ended.reason) == (137, 9, "OOMKilled")


async def test_a_program_above_its_memory_limit_is_killed_for_it(box: Box) -> None:
    number = mark()
    hungry = "import time; held = bytearray(300 << 20); time.sleep(60)"
    ended, _ = await box.finish_shell(f"sleep {number} & {sys.executable} -c '{hungry}'", memory_limit=100 << 20)
    assert (ended.code, ended.signal, ended.reason) == (137, 9, "OOMKilled")
    assert processes_with(f"sleep {number}") == []


async def test_memory_shared_by_forked_processes_counts_once(box: Box) -> None:
    script = textwrap.dedent("""
        import os, time
        held = bytearray(os.urandom(60 << 20))
        for _ in range(3):
            if os.fork() == 0:
                time.sleep(60)
        time.sleep(2)
        print("lived")
    """)
    ended, text = await box.finish(sys.executable, "-c", script, memory_limit=150 << 20)
    assert (ended.reason, text) == ("Completed", "lived\n")


async def test_a_command_runs_beside_the_program(box: Box) -> None:
    volume = box.directory / "volume"
    volume.mkdir()
    container = await box.shell("echo up; sleep 60", environment={"GREETING": "hi"}, mounts=(Mount(volume, "/data"),))
    script = "echo $GREETING; echo problem >&2; echo x > /data/probe; exit 4"
    code, output = await container.execute(["/bin/sh", "-c", script], timeout=DEADLINE)
    assert (code, output) == (4, "hi\nproblem\n")
    assert (volume / "probe").exists()
    assert await container.execute(["true"], timeout=DEADLINE) == (0, "")


async def test_a_command_that_does_not_exist_has_the_code_of_a_shell(box: Box) -> None:
    container = await box.shell("sleep 60")
    assert await container.execute(["no-such"], timeout=DEADLINE) == (
        127,
        'exec: "no-such": executable file not found in $PATH',
    )
    assert (await container.execute(["/usr"], timeout=DEADLINE))[0] == 126


async def test_a_command_that_takes_too_long_is_killed(box: Box) -> None:
    number = mark()
    container = await box.shell("sleep 60")
    with pytest.raises(TimeoutError, match=r"^/bin/sh took longer than 0\.2 seconds$"):
        await container.execute(["/bin/sh", "-c", f"sleep {number}; true"], timeout=0.2)
    await until(lambda: not processes_with(f"sleep {number}"), "the end of the command")
    assert await container.execute(["echo", "still here"], timeout=DEADLINE) == (0, "still here\n")


async def test_only_the_beginning_of_a_long_output_is_kept(box: Box) -> None:
    container = await box.shell("sleep 60")
    code, output = await container.execute(["/bin/sh", "-c", "yes | head -c 1000000"], timeout=DEADLINE)
    assert (code, len(output)) == (0, 10 * 1024)


async def test_a_command_may_leave_a_process_that_holds_its_output(box: Box) -> None:
    container = await box.shell("sleep 60")
    assert await container.execute(["/bin/sh", "-c", "sleep 60 & echo started"], timeout=DEADLINE) == (0, "started\n")


async def test_many_commands_at_once_are_kept_apart(box: Box) -> None:
    container = await box.shell("sleep 60")
    answers = await asyncio.gather(*(container.execute(["echo", str(n)], timeout=DEADLINE) for n in range(20)))
    assert answers == [(0, f"{n}\n") for n in range(20)]


async def test_no_command_runs_in_a_container_that_has_ended(box: Box) -> None:
    container = await box.shell("true")
    await container.wait()
    with pytest.raises(ContainerGone):
        await container.execute(["true"], timeout=DEADLINE)


async def test_a_command_ends_with_its_container(box: Box) -> None:
    container = await box.shell("sleep 60")
    command = container.execute(["/bin/sh", "-c", "echo begun; sleep 60"], timeout=60)
    answer, ended = await asyncio.gather(command, container.kill("Error"), return_exceptions=True)
    assert isinstance(answer, ContainerGone) and not isinstance(ended, BaseException)


async def test_the_log_is_complete_when_the_container_has_ended(box: Box) -> None:
    _, text = await box.finish_shell("seq 1 100000; printf 'no end of line'")
    assert text.splitlines() == [*(str(n) for n in range(1, 100001)), "no end of line"]


async def test_a_log_can_be_followed_while_the_container_runs(box: Box) -> None:
    container = await box.shell("echo one; read wait < /data/go; echo two", mounts=(Mount(_fifo(box), "/data"),))
    following = logs.read(container.run.log, Selection(follow=True), container.ended)
    async with asyncio.timeout(120):
        assert await anext(following) == b"one\n"
        (box.directory / "volume" / "go").write_text("now\n")
        assert [piece async for piece in following] == [b"two\n"]


def _fifo(box: Box) -> Path:
    volume = box.directory / "volume"
    volume.mkdir()
    os.mkfifo(volume / "go")
    return volume


async def test_each_start_has_its_own_log(box: Box) -> None:
    first, second = box.plan("echo", "first"), box.plan("echo", "second")
    for run in (first, second):
        await (await box.sandbox.start(run)).wait()
    assert "first" in first.log.read_text() and "second" not in first.log.read_text()


async def test_leaving_the_sandbox_ends_every_container(tmp_path: Path) -> None:
    number = mark()
    for mode in MODES:
        async with Sandbox(mode) as sandbox:
            box = Box(sandbox, tmp_path / mode)
            box.directory.mkdir()
            containers = [await box.shell(f"trap '' TERM; sleep {number} & sleep {number}") for _ in range(3)]
            await until(lambda: len(processes_with(f"sleep {number}")) >= 6, "three containers with two sleeps each")
        assert all(container.ended() for container in containers)
        assert processes_with(f"sleep {number}") == []


async def test_a_start_that_is_cancelled_leaves_nothing(box: Box) -> None:
    number = mark()
    for delay in (0.0, 0.001, 0.005, 0.02):
        starting = asyncio.ensure_future(box.shell(f"sleep {number}"))
        await asyncio.sleep(delay)
        starting.cancel()
        await asyncio.wait([starting])
        if not starting.cancelled():
            await starting.result().kill("Error")
    await until(lambda: not processes_with(f"sleep {number}"), "the end of what was cancelled")


async def test_nothing_of_the_agent_is_left_open_after_many_containers(box: Box) -> None:
    await box.says("true")
    before = open_files()
    for _ in range(5):
        await box.says("true")
    with pytest.raises(StartError):
        await box.start("no-such")
    await until(lambda: open_files() <= before, "descriptors to be closed")


async def test_two_hundred_containers_at_once(box: Box) -> None:
    async def one(number: int) -> tuple[int, str]:
        ended, text = await box.finish_shell(f"echo {number}; exit {number % 7}")
        return ended.code, text

    async with asyncio.timeout(180):
        seen = await asyncio.gather(*(one(number) for number in range(200)))
    assert seen == [(number % 7, f"{number}\n") for number in range(200)]


async def test_the_death_of_the_launcher_ends_no_container_and_the_next_start_works(box: Box) -> None:
    number = mark()
    container = await box.shell(f"echo up; sleep {number}")
    launcher = os.getsid(container.pid)  # not its parent, which may be the process in between for a moment
    os.kill(launcher, signal.SIGKILL)
    await until(lambda: not Path(f"/proc/{launcher}").exists(), "the end of the launcher")
    assert await container.execute(["echo", "alive"], timeout=DEADLINE) == (0, "alive\n")
    assert await box.says("echo again") == "again"
    assert (await container.stop(grace=DEADLINE)).signal == signal.SIGTERM
    assert processes_with(f"sleep {number}") == []


async def test_the_death_of_the_first_process_ends_the_container(box: Box) -> None:
    number = mark()
    container = await box.shell(f"echo up; exec sleep {number}")
    await line_of(container, "up")
    os.kill(container.pid, signal.SIGKILL)
    ended = await container.wait()
    assert (ended.code, ended.signal, ended.reason) == (137, 9, "Error")
    await until(lambda: not processes_with(f"sleep {number}"), "the end of its program")


AGENT = """
import asyncio, sys
from pathlib import Path
from aim_engine.local.container.run import Run
from aim_engine.local.container.sandbox import Sandbox

async def main(mode, directory, number):
    async with Sandbox(mode) as sandbox:
        script = f"trap '' TERM; (setsid sleep {number} &); echo up; sleep {number}"
        for name in ("a", "b", "c"):
            scratch, log = Path(directory, name), Path(directory, f"{name}.log")
            await sandbox.start(Run(name=name, argv=("/bin/sh", "-c", script), scratch=scratch, log=log))
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("mode", list(MODES))
async def test_an_agent_that_is_killed_takes_every_process_with_it(mode: Mode, tmp_path: Path) -> None:
    number = mark()
    agent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", AGENT, mode, str(tmp_path), number), stdout=asyncio.subprocess.PIPE
    )
    assert agent.stdout
    async with asyncio.timeout(120):
        assert await agent.stdout.readline() == b"ready\n"
        await until(lambda: len(processes_with(f"sleep {number}")) >= 6, "all sleeps")
        agent.kill()
        await agent.wait()
    await until(lambda: not processes_with(number), "the end of everything")
