"""The recipes of both images: what they copy exists, what they run is there, and nothing runs as root.

No image can be built where these tests run, so each instruction is read and held against the project.
"""

import ast
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.deploy.conftest import CHART, ROOT

RECIPES = ("Dockerfile", "src/aim_engine/downloader/Dockerfile")
BASE_IMAGE = {"python", "python3", "pip", "sh", "mkdir", "chown"}
"""What python:slim has, of what is used here."""

INSTALLER = ["pip", "install", "--no-cache-dir", "uv>=0.8"]
"""What installs the packages; it stays behind in the stage that no image is made of."""

CHECKED = {"install": "--require-hashes", "sync": "--frozen"}
"""With which option a command that installs compares every package with a hash; those of uv.lock are all there."""

AIOHTTPS_OWN = {"multidict", "yarl"}
"""Packages of which aiohttp's own interface is made."""


class Instruction(NamedTuple):
    word: str
    text: str


def instructions(recipe: str) -> list[Instruction]:
    """What a Dockerfile says, line continuations joined."""
    joined = re.sub(r"\\\n", " ", (ROOT / recipe).read_text())
    lines = [line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return [Instruction(*line.split(maxsplit=1)) for line in lines]


def copies(recipe: str) -> Iterator[tuple[list[str], str]]:
    """What is copied out of this project, and where to."""
    for word, text in instructions(recipe):
        if word == "COPY" and not text.startswith("--from="):
            *sources, target = text.split()
            yield sources, target


def commands(recipe: str) -> Iterator[list[str]]:
    for word, text in instructions(recipe):
        if word == "RUN":
            yield from (shlex.split(part) for part in text.split("&&"))


@pytest.mark.parametrize("recipe", RECIPES)
def test_everything_that_is_copied_exists_and_reaches_the_builder(recipe: str) -> None:
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    for sources, _ in copies(recipe):
        for source in sources:
            found = list(ROOT.glob(source))
            assert found, f"{source} does not exist"
            top = found[0].relative_to(ROOT).parts[0]
            assert top not in ignored, f"{source} is in .dockerignore"


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_command_of_the_build_is_there_when_it_runs(recipe: str) -> None:
    there = set(BASE_IMAGE)
    for command in commands(recipe):
        assert command[0] in there, f"{command[0]} is not there yet"
        if command[:2] == ["pip", "install"]:
            there |= {re.split("[<>=]", word)[0] for word in command[2:] if not word.startswith("-")}


@pytest.mark.parametrize("recipe", RECIPES)
def test_uv_knows_every_option_that_is_used(recipe: str) -> None:
    for command in commands(recipe):
        if command[0] == "uv":
            words = command[: 3 if command[1] == "pip" else 2]
            uv = Path(sys.executable).with_name("uv")
            known = subprocess.run([uv, *words[1:], "--help"], capture_output=True, text=True, check=True).stdout
            for option in (word for word in command if word.startswith("--")):
                assert re.search(rf"{option}\b", known), f"{' '.join(words)} has no {option}"


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_package_in_the_image_was_compared_with_its_hash(recipe: str) -> None:
    installing = [command for command in commands(recipe) if command != INSTALLER and {*CHECKED} & {*command}]
    assert installing
    for command in installing:
        for word in {*CHECKED} & {*command}:
            assert CHECKED[word] in command, f"{' '.join(command)} takes packages without a hash"
    assert not [command for command in commands(recipe) if {"--no-hashes", "--no-verify-hashes"} & {*command}]


def test_every_file_that_may_be_installed_has_a_hash_in_the_lock_file() -> None:
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    others = [package for package in locked if package["source"] != {"editable": "."}]
    assert len(others) == len(locked) - 1
    for package in others:
        found = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
        assert found and all(file["hash"].startswith("sha256:") for file in found), package["name"]


def test_the_image_of_downloads_gets_what_the_downloader_imports_and_nothing_of_the_operator(tmp_path: Path) -> None:
    (export,) = [command for command in commands(RECIPES[1]) if command[:2] == ["uv", "export"]]
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, *export[1:], "--project", ROOT], cwd=tmp_path, capture_output=True, check=True)
    (listed,) = tmp_path.iterdir()
    requirements = re.split(r"\n(?=\S)", re.sub(r"(?m)^\s*#.*\n", "", listed.read_text()))
    names = {re.split("[= ]", requirement)[0] for requirement in requirements}
    assert {"botocore", "hf-xet", "huggingface-hub"} <= names
    assert not {"aim-engine", "aiohttp", "cryptography"} & names
    assert all("--hash=sha256:" in requirement for requirement in requirements)


def test_the_image_of_downloads_has_what_the_extra_for_downloads_by_hand_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["dependency-groups"]["downloader"] == project["project"]["optional-dependencies"]["downloader"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_programs_in_the_image_can_be_run_and_are_the_ones_the_image_starts(recipe: str) -> None:
    placed = dict[str, Path]()
    for sources, target in copies(recipe):
        for file in (file for source in sources for file in ROOT.glob(source)):
            placed[f"{target}{file.name}" if target.endswith("/") else target] = file
    (entry,) = [text for word, text in instructions(recipe) if word == "ENTRYPOINT"]
    started = re.findall(r'"([^"]+)"', entry)[0]
    assert started in placed
    for place, file in placed.items():
        if file.is_file() and file.read_bytes().startswith(b"#!"):
            assert os.access(file, os.X_OK), f"{place} is not executable"


@pytest.mark.parametrize(("recipe", "user"), [(RECIPES[0], "65532:65532"), (RECIPES[1], "1000:1000")])
def test_it_runs_as_an_ordinary_user_and_leaves_no_byte_code(recipe: str, user: str) -> None:
    said = instructions(recipe)
    last_stage = said[max(index for index, one in enumerate(said) if one.word == "FROM") :]
    assert [text for word, text in last_stage if word == "USER"] == [user]
    environment = " ".join(text for word, text in last_stage if word == "ENV")
    assert "PYTHONDONTWRITEBYTECODE=1" in environment and "HOME=/tmp" in environment
    assert next(text for word, text in last_stage if word == "WORKDIR") in ("/tmp", "/cache")


def test_the_manager_of_the_image_is_the_operator() -> None:
    manager = (ROOT / "deploy" / "image" / "manager").read_text().splitlines()
    assert manager == ["#!/bin/sh", 'exec aim operator "$@"']
    assert "command: [/manager]" in (CHART / "templates" / "deployment.yaml").read_text()
    aim = Path(sys.executable).with_name("aim")
    usage = subprocess.run([aim, "operator", "--help"], capture_output=True, text=True, check=True).stdout
    assert "--leader-elect" in usage


def test_the_chart_runs_the_image_as_the_user_it_is_made_for() -> None:
    assert "runAsUser: 65532" in (CHART / "values.yaml").read_text()


def test_everything_that_is_imported_is_installed_with_the_package() -> None:
    """The image has no packages of developers, so a missing dependency would only be noticed there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    provided = packages_distributions()
    declarations = {"": project["project"]["dependencies"], "downloader": project["dependency-groups"]["downloader"]}
    for folder, declared in declarations.items():
        names = {re.split(r"[<>=\[]", entry)[0].lower() for entry in declared} | AIOHTTPS_OWN
        for file in (ROOT / "src" / "aim_engine" / folder).rglob("*.py"):
            if folder or "downloader" not in file.parts:
                for package in imported(file):
                    assert {name.lower().replace("_", "-") for name in provided[package]} & names, f"{file}: {package}"


def imported(file: Path) -> set[str]:
    """The packages of others that a module imports, anywhere in it."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
            found |= {word.value.partition(".")[0] for word in node.args if isinstance(word, ast.Constant)}
    return found - sys.stdlib_module_names - {"aim_engine"}
