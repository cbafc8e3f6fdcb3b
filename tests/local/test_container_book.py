"""The image book: which entry an image finds, what it runs, and what a bad book says."""

import sys
from pathlib import Path

import pytest

from aim_engine.local.container import book as books
from aim_engine.local.container.book import Book, Fault, Image, pull_message, read_books
from aim_engine.local.container.errors import BookError, StartError


@pytest.mark.parametrize(
    ("pattern", "reference", "found"),
    [
        pytest.param("busybox", "busybox", True, id="the same name"),
        pytest.param("busybox", "busybox:1.36", True, id="a pattern without a tag takes every tag"),
        pytest.param("busybox", "busybox@sha256:0123", True, id="a pattern without a tag takes every digest"),
        pytest.param(
            "busybox", "busybox:1.36@sha256:0123", True, id="a pattern without a tag takes tag and digest together"
        ),
        pytest.param("busybox:1.36", "busybox:1.36", True, id="the same tag"),
        pytest.param("busybox:1.36", "busybox:1.37", False, id="another tag is another image"),
        pytest.param("busybox", "docker.io/library/busybox:1", True, id="the full name of a Docker Hub library image"),
        pytest.param("acme/serve", "docker.io/acme/serve", True, id="the full name of a Docker Hub image"),
        pytest.param(
            "docker.io/library/busybox", "busybox", False, id="a pattern with a registry wants that registry written"
        ),
        pytest.param("ghcr.io/*", "ghcr.io/a/b/c:1", True, id="a star crosses slashes"),
        pytest.param("localhost:5000/serve", "localhost:5000/serve:2", True, id="the port of a registry is no tag"),
        pytest.param("localhost:5000/serve", "localhost:5000/serve", True, id="a port and no tag"),
        pytest.param("*/aim-demo:1.*", "registry.local/aim-demo:1.4", True, id="a glob in the tag"),
        pytest.param("busybox", "notbusybox", False, id="a pattern is the whole name"),
    ],
)
def test_a_pattern_finds_images(pattern: str, reference: str, found: bool) -> None:
    book = Book((Image(image=pattern, idle=True),))
    assert (book.find(reference) is not None) is found


def test_the_first_match_wins_and_books_of_the_user_come_first(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        """
        images:
          - {image: "busybox:1", entrypoint: [first]}
          - {image: ["other", "busybox"], entrypoint: [second]}
        """
    )
    book = read_books([mine])
    seen = {
        name: image.entrypoint[0]
        for name in ("busybox:1", "busybox:2", "other", "alpine")
        if (image := book.find(name))
    }
    assert seen == {"busybox:1": "first", "busybox:2": "second", "other": "second", "alpine": "/bin/sh"}


def test_an_image_in_no_book_is_not_found() -> None:
    assert read_books().find("example.com/never/heard-of:1") is None


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        pytest.param([], [], ["/serve", "--port=1"], id="the image's own entrypoint and arguments"),
        pytest.param([], ["--debug"], ["/serve", "--debug"], id="arguments of the pod replace those of the image"),
        pytest.param(["sh", "-c"], [], ["sh", "-c"], id="a command of the pod replaces entrypoint and arguments"),
        pytest.param(["sh"], ["-c", "true"], ["sh", "-c", "true"], id="command and arguments of the pod"),
    ],
)
def test_command_and_arguments_join_as_in_kubernetes(
    command: list[str], arguments: list[str], expected: list[str]
) -> None:
    image = Image(image="serve", entrypoint=("/serve",), arguments=("--port=1",))
    assert list(image.command_line(command, arguments)) == expected


def test_an_image_without_entrypoint_and_a_pod_without_command_can_not_start() -> None:
    with pytest.raises(StartError, match="no command specified"):
        Image(image="empty", programs={"/a": Path("/bin/true")}).command_line([], [])


def test_an_exit_code_in_the_book_wins_over_the_pod() -> None:
    image = Image(image="broken", fault=Fault(exit_code=3, exit_after=0.5))
    assert image.command_line(["sleep", "9"], [])[-1] == "sleep 0.5; exit 3"


def test_an_image_that_only_has_a_fault_waits_for_it() -> None:
    assert "sleep infinity" in Image(image="hungry", fault=Fault(oom_killed_after=1)).command_line([], [])[-1]


def test_placeholders_are_filled_and_other_braces_stay() -> None:
    image = Image(
        image="demo",
        entrypoint=("{python}", "-m", "demo", "--host={podIP}"),
        arguments=('{"a": 1}', "${HOME}", "{unknown}"),
        environment={"WHERE": "{podNamespace}/{podName}"},
    )
    filled = image.filled({"podIP": "127.7.0.1", "podName": "p", "podNamespace": "n"})
    assert filled.entrypoint == (sys.executable, "-m", "demo", "--host=127.7.0.1")
    assert filled.arguments == ('{"a": 1}', "${HOME}", "{unknown}")
    assert filled.environment == {"WHERE": "n/p"}


def test_programs_are_found_beside_the_book(tmp_path: Path) -> None:
    (tmp_path / "size.sh").write_text("#!/bin/sh\n")
    (tmp_path / "book.yaml").write_text("images: [{image: sizer, programs: {/check-size.sh: size.sh}}]")
    assert books.read(tmp_path / "book.yaml")[0].programs == {"/check-size.sh": tmp_path / "size.sh"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("images: [", "Image book {file} is not YAML", id="a file that is not YAML"),
        pytest.param("[]", "the file must have the one field `images`, a list of entries", id="a list at the top"),
        pytest.param("images: [], other: 1", "is not YAML", id="two mappings on a line"),
        pytest.param("{images: [], extra: 1}", "the one field `images`", id="a second field at the top"),
        pytest.param("images: {a: b}", "the one field `images`, a list", id="a mapping instead of entries"),
        pytest.param("images: [7]", "entry 1: Expected object, got int", id="an entry that is a number"),
        pytest.param(
            "images: [{image: a, idle: true}, {image: b, entrypoint: /bin/sh}]",
            "entry 2 (b), field entrypoint: Expected array, got str",
            id="an entrypoint that is no list",
        ),
        pytest.param(
            "images: [{image: a, entrypoint: [1]}]",
            "entry 1 (a), field entrypoint[0]: Expected str, got int",
            id="a word of the entrypoint that is a number",
        ),
        pytest.param(
            "images: [{image: a, entrypiont: [x]}]",
            "entry 1 (a): Object contains unknown field entrypiont",
            id="a field with a typing mistake",
        ),
        pytest.param("images: [{entrypoint: [x]}]", "entry 1: Object missing required field image", id="no pattern"),
        pytest.param("images: [{image: ''}]", "field image: name at least one pattern", id="an empty pattern"),
        pytest.param(
            "images: [{image: []}]", "entry 1, field image: name at least one pattern", id="an empty list of patterns"
        ),
        pytest.param(
            "images: [{image: a}]", "entry 1 (a), field entrypoint: say what the image runs", id="nothing to run"
        ),
        pytest.param(
            "images: [{image: a, idle: true, entrypoint: [x]}]",
            "field idle: an idle image runs nothing",
            id="idle and a program",
        ),
        pytest.param(
            "images: [{image: a, programs: {x: /bin/sh}}]",
            "field programs: x must be an absolute path inside the image",
            id="a program at a relative path",
        ),
        pytest.param(
            "images: [{image: a, programs: {/x: gone.sh}}]",
            "field programs: {folder}/gone.sh for /x does not exist",
            id="a program that is not there",
        ),
        pytest.param(
            "images: [{image: a, idle: true, workingDirectory: x}]",
            "field workingDirectory: x must be an absolute path",
            id="a relative working directory",
        ),
        pytest.param(
            "images: [{image: a, idle: true, user: -1}]", "field user: -1 must not be negative", id="a negative user"
        ),
        pytest.param(
            "images: [{image: a, fault: {exitCode: 256}}]",
            "field fault.exitCode: 256 must be between 0 and 255",
            id="an exit code that no process can have",
        ),
        pytest.param(
            "images: [{image: a, fault: {evictedAfter: -2}}]",
            "field fault.evictedAfter: -2.0 must not be negative",
            id="an eviction in the past",
        ),
        pytest.param(
            "images: [{image: a, fault: {pull: slow}}]",
            "entry 1 (a), field fault.pull: Invalid enum value 'slow'",
            id="a pull fault that does not exist",
        ),
    ],
)
def test_a_bad_book_names_file_entry_and_field(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "book.yaml"
    file.write_text(text)
    with pytest.raises(BookError) as failure:
        read_books([file])
    assert str(file) in str(failure.value)
    assert sentence.format(file=file, folder=tmp_path) in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_book_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"can't be read: No such file or directory\.$"):
        read_books([tmp_path / "gone.yaml"])


def test_a_failed_pull_reads_as_a_container_runtime_words_it() -> None:
    assert pull_message("a:1", "unauthorized").startswith('failed to pull and unpack image "a:1"')
    assert "401 Unauthorized" in pull_message("a:1", "unauthorized")
    assert "a:1: not found" in pull_message("a:1", "notInBook")
