"""The parts that take values: masking, settings, journals, checksums, places, the lock."""

import errno
import fcntl
import hashlib
import itertools
import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.downloader import files, lock, memory, parts, settings, speech
from aim_engine.downloader.bucket import Place, endpoint_of
from aim_engine.downloader.files import Digest, Manifest, RemoteFile
from aim_engine.downloader.reports import percent


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param("token hf_abcdefgh is bad", "token *** is bad", id="a value of the environment"),
        pytest.param(
            "GET https://x/y?X-Amz-Signature=1&a=b failed", "GET https://x/y?*** failed", id="a signed address"
        ),
        pytest.param("proxy http://me:pass@proxy:3128", "proxy http://***@proxy:3128", id="a user in an address"),
        pytest.param("Authorization: Bearer abc.def-1", "Authorization: Bearer ***", id="a header"),
        pytest.param("/var/run/token is read", "/var/run/token is read", id="the name of a file is no secret"),
        pytest.param("secret/with/slashes", "***", id="a secret that looks like a path"),
    ],
)
def test_credentials_are_masked(text: str, masked: str) -> None:
    speech.learn(
        {
            "HF_TOKEN": "hf_abcdefgh",
            "AWS_SECRET_ACCESS_KEY": "secret/with/slashes",
            "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/token",
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
        }
    )
    assert speech.masked(text) == masked


def test_an_empty_environment_has_the_documented_defaults() -> None:
    wish = settings.read({})
    assert wish.target == Path("/cache")
    assert (wish.stall_seconds, wish.interval_seconds, wish.protocols) == (120, 5, "")
    assert (wish.expected_bytes, wish.subject) == (None, None)
    assert (wish.debug.hub_seconds, wish.debug.download_seconds, wish.debug.verify_seconds) == (2, 10, 10)


@pytest.mark.parametrize(
    ("environment", "target"),
    [
        ({"MOUNT_PATH": "/mount"}, "/mount"),
        ({"MOUNT_PATH": "/mount", "TARGET_DIR": "/target"}, "/target"),
        ({"TARGET_DIR": ""}, "/cache"),
    ],
)
def test_the_target_is_the_first_that_is_named(environment: dict[str, str], target: str) -> None:
    assert settings.read(environment).target == Path(target)


def test_a_setting_that_is_no_number_is_told_and_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    wish = settings.read({"STALL_TIMEOUT": "soon", "EXPECTED_SIZE_BYTES": "10Gi", "PROGRESS_INTERVAL": "0"})
    assert (wish.stall_seconds, wish.expected_bytes, wish.interval_seconds) == (120, None, 5)
    told = capsys.readouterr().err
    assert all(name in told for name in ("STALL_TIMEOUT=soon", "EXPECTED_SIZE_BYTES=10Gi", "PROGRESS_INTERVAL=0"))


def test_the_defaults_of_the_image_go_where_the_caller_asks(tmp_path: Path) -> None:
    before = dict(os.environ)
    environment = {"TMPDIR": str(tmp_path / "scratch"), "HF_HOME": "/elsewhere"}
    settings.prepare(environment)
    assert environment == {
        "TMPDIR": str(tmp_path / "scratch"),
        "HF_HOME": "/elsewhere",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    assert (tmp_path / "scratch").is_dir()
    assert dict(os.environ) == before


@pytest.mark.parametrize("name", ["HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT"])
@pytest.mark.parametrize(
    ("value", "kept", "told"),
    [
        pytest.param("30", True, False, id="a number"),
        pytest.param("30s", False, True, id="a unit"),
        pytest.param("1.5", False, True, id="a fraction"),
        pytest.param("", False, False, id="nothing"),
    ],
)
def test_a_time_out_that_the_hubs_library_can_not_read_is_told_and_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, value: str, kept: bool, told: bool
) -> None:
    environment = {"TMPDIR": str(tmp_path), name: value}
    settings.prepare(environment)
    assert environment.get(name) == (value if kept else None)
    assert (f"WARN: {name}={value} is no whole number of seconds" in capsys.readouterr().err) is told


@given(size=st.integers(1, 10_000), part=st.integers(1, 10_000))
def test_parts_cover_a_file_without_gap_or_overlap(size: int, part: int) -> None:
    cut = parts.begin(size, part)
    assert cut[0].first == 0 and cut[-1].end == size
    assert all(left.end == right.first for left, right in itertools.pairwise(cut))
    assert all(0 < each.end - each.first <= part for each in cut)


def test_a_journal_tells_after_a_restart_what_arrived(tmp_path: Path) -> None:
    location = tmp_path / "key.incomplete"
    content = parts.Parts(location, parts.plan(location, 100, 40))
    content.write(content.parts[1], memoryview(b"x" * 30))
    content.close()
    again = parts.plan(location, 100, 7)
    assert [(part.first, part.end, part.done) for part in again] == [(0, 40, 0), (40, 80, 30), (80, 100, 0)]
    assert location.read_bytes()[40:] == b"x" * 30


@pytest.mark.parametrize(
    "journal",
    ["", "nonsense", "0 50 0\n", "0 100 101\n", "0 40 0\n50 100 0\n", "0 100\n", "\0\0\0"],
    ids=["empty", "no numbers", "another size", "too much", "a gap", "a column short", "zeros"],
)
def test_a_journal_that_makes_no_sense_begins_anew(tmp_path: Path, journal: str) -> None:
    location = tmp_path / "key.incomplete"
    location.write_bytes(bytes(100))
    (tmp_path / "key.parts.incomplete").write_text(journal)
    assert [(part.first, part.end, part.done) for part in parts.plan(location, 100, 1000)] == [(0, 100, 0)]


@given(content=st.binary(max_size=300), part=st.integers(1, 100))
def test_the_checksum_of_an_upload_in_parts_is_that_of_its_parts(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, part: int
) -> None:
    location = tmp_path_factory.mktemp("digest") / "file"
    location.write_bytes(content)
    pieces = [hashlib.md5(content[at : at + part]).digest() for at in range(0, len(content), part)]
    expected = f"{hashlib.md5(b''.join(pieces)).hexdigest()}-{len(pieces)}"
    assert files.digest_of(location, Digest("md5-parts", "", part)) == expected


def test_the_checksum_of_a_small_file_is_that_of_git(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"hello\n")
    assert files.digest_of(tmp_path / "file", Digest("git-sha1", "")) == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_a_manifest_survives_the_way_between_processes() -> None:
    held = Manifest("abc", (RemoteFile("a", 1, "e", Digest("md5-parts", "x-2", 5), "f"), RemoteFile("b", 0, "g")))
    assert Manifest.from_json(held.to_json()) == held


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("s3://bucket", Place("bucket", "")),
        ("s3://bucket/", Place("bucket", "")),
        ("s3://bucket/a/b", Place("bucket", "a/b/")),
        ("s3://bucket/a/b//", Place("bucket", "a/b/")),
    ],
)
def test_an_s3_uri_is_a_bucket_and_a_prefix(uri: str, place: Place) -> None:
    assert Place.of(uri) == place


@pytest.mark.parametrize(
    ("environment", "endpoint"),
    [
        ({}, None),
        ({"AWS_ENDPOINT_URL": "https://store:9000/"}, "https://store:9000"),
        ({"AWS_ENDPOINT_URL": "http://store"}, "http://store"),
        ({"AWS_ENDPOINT_URL": "store:9000"}, "https://store:9000"),
        ({"AWS_ENDPOINT_URL": "store:9000", "S3_NO_SSL": "true"}, "http://store:9000"),
        ({"AWS_ENDPOINT_URL": "https://store", "S3_NO_SSL": "true"}, "http://store"),
    ],
)
def test_the_endpoint_of_a_store(environment: dict[str, str], endpoint: str | None) -> None:
    assert endpoint_of(environment) == endpoint


@pytest.mark.parametrize(
    ("size", "expected", "shown"), [(0, 100, 0), (50, 100, 50), (100, 100, 99), (500, 100, 99), (5, None, 0), (5, 0, 0)]
)
def test_progress_is_never_complete_before_the_end(size: int, expected: int | None, shown: int) -> None:
    assert percent(size, expected) == shown


@pytest.mark.parametrize(
    ("limit", "workers"),
    [("max", 16), ("99000000", 1), ("134217728", 8), ("1073741824", 16)],
    ids=lambda value: str(value),
)
def test_a_small_memory_limit_means_few_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, workers: int
) -> None:
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(memory, "LIMIT_FILES", (str(tmp_path / "memory.max"),))
    assert memory.at_most(16) == workers


def test_a_budget_lets_threads_wait_for_memory() -> None:
    budget, order = memory.Budget(10), list[str]()

    def second() -> None:
        with budget.take(1000):
            order.append("second")

    waiting = threading.Thread(target=second)
    with budget.take(6):
        waiting.start()
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]


def other_process(path: Path, beats: int, owner: str = "another-pod:1") -> None:
    path.touch()
    with path.open("r+") as content:  # in place, as the program does it
        content.write(f"{owner} {beats:016d}")


def without_locks(monkeypatch: pytest.MonkeyPatch, answer: int) -> None:
    """Let the file system answer as one that has no locks."""

    def refuse(*_: object) -> None:
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_a_lock_that_a_dead_machine_left_is_taken_after_a_look(tmp_path: Path) -> None:
    mine = lock.DirectoryLock(tmp_path, beat_seconds=0.02)
    other_process(mine.path, 7)
    told: list[str] = []
    mine.acquire(told.append)
    assert told == []
    assert mine.path.read_text().startswith(f"{mine.owner} ")
    mine.release()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("answer", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS], ids=errno.errorcode.get)
def test_a_volume_without_locks_is_taken_and_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    without_locks(monkeypatch, answer)
    mine = lock.DirectoryLock(tmp_path)
    mine.acquire(pytest.fail)
    assert mine.path.read_text().startswith(f"{mine.owner} ")
    mine.release()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("owner", "locks"),
    [
        pytest.param("another-pod:1", True, id="whose lock does not reach this machine"),
        pytest.param("another-pod:1", False, id="on another machine, on a volume without locks"),
        pytest.param(f"{socket.gethostname()}:1", False, id="on this machine, on a volume without locks"),
    ],
)
def test_a_process_that_still_counts_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str, locks: bool
) -> None:
    if not locks:
        without_locks(monkeypatch, errno.ENOLCK)
    mine = lock.DirectoryLock(tmp_path, beat_seconds=0.1)
    monkeypatch.setattr(lock, "POLL_SECONDS", 0.01)
    other_process(mine.path, 1, owner)
    told: list[str] = []
    gone = threading.Event()

    def count() -> None:
        for beats in range(2, 10_000):
            if gone.wait(0.02):
                mine.path.unlink()
                return
            other_process(mine.path, beats, owner)

    other = threading.Thread(target=count)
    other.start()
    mine_too = threading.Thread(target=mine.acquire, args=(told.append,))
    mine_too.start()
    while not told and mine_too.is_alive():
        mine_too.join(0.05)
    gone.set()
    other.join()
    mine_too.join(120)
    assert told == [owner]
    assert not mine_too.is_alive()
    assert mine.path.read_text().startswith(f"{mine.owner} ")
    mine.release()


def test_a_lock_file_that_its_holder_removed_is_made_anew(tmp_path: Path) -> None:
    first, second = lock.DirectoryLock(tmp_path), lock.DirectoryLock(tmp_path)
    first.acquire(lambda _: None)
    waiting = threading.Event()
    other = threading.Thread(target=second.acquire, args=(lambda _: waiting.set(),))
    other.start()
    waiting.wait(120)
    first.release()
    other.join(120)
    assert second.path.exists()
    second.release()
