"""Everything that holds for containers of root holds for those of an ordinary user: the same tests, as nobody."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import pytest
from tests.local import as_nobody

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("file", "chosen"),
    [
        pytest.param("test_container_isolation.py", "", id="seeing nothing of the host"),
        pytest.param("test_container_sandbox.py", "isolated", id="running isolated"),
        pytest.param("test_container_sandbox.py", "mounted", id="running with mounts only"),
        pytest.param("test_container_sandbox.py", "rewritten", id="running with paths rewritten"),
    ],
)
async def test_an_ordinary_user_can_do_the_same(file: str, chosen: str) -> None:
    if os.geteuid() != 0:
        return  # then the tests themselves are run by an ordinary user
    with tempfile.TemporaryDirectory(prefix="aim-nobody-") as directory:
        os.chown(directory, as_nobody.NOBODY, as_nobody.NOBODY)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, as_nobody.__file__, sys.prefix, sys.base_prefix, str(PROJECT), "--"),
            *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--basetemp={directory}/pytest"),
            *("-k", chosen, str(PROJECT / "tests" / "local" / file)),
            cwd=PROJECT,
            env={"PATH": os.environ["PATH"], "HOME": directory, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert b" passed" in output and b"skipped" not in output
