"""The downloader's image on a local node: the built-in image book runs the same program in a container."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.downloader.stage import Hub
from tests.local.containers import printed

from aim_engine.local.container.book import read_books
from aim_engine.local.container.run import MODES, Mode, Mount, Run
from aim_engine.local.container.sandbox import Sandbox

FILES = {"config.json": b"{}", "model.safetensors": bytes(300_000)}


@pytest.fixture(params=list(MODES))
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    mode: Mode = request.param
    async with Sandbox(mode) as running:
        yield running


@pytest.mark.parametrize(
    ("command", "shown"),
    [((), "Download complete and verified"), (("/check-size.sh",), '"sizeBytes":300002}')],
    ids=["downloads", "tells the size"],
)
async def test_a_container_of_the_image(
    sandbox: Sandbox, hub: Hub, tmp_path: Path, command: tuple[str, ...], shown: str
) -> None:
    entry = read_books().find("ghcr.io/silogen/aim-artifact-downloader:0.2.0")
    assert entry is not None
    image = entry.filled({})
    claim = tmp_path / "claim"
    claim.mkdir(mode=0o777)
    run = Run(
        name="tests/download",
        argv=image.command_line(command, [hub.add("org/name", FILES)]),
        scratch=tmp_path / "scratch",
        log=tmp_path / "log",
        environment={
            **image.environment,
            "HF_ENDPOINT": hub.url,
            "TMPDIR": "/tmp/",
            "HF_HOME": "/tmp/.hf",
            "TARGET_DIR": "/cache",
            "AIM_DOWNLOADER_PROTOCOL": "XET,HF_TRANSFER",
        },
        mounts=(Mount(claim, "/cache"),),
        programs=image.programs,
        working_directory=image.working_directory,
    )
    container = await sandbox.start(run)
    async with asyncio.timeout(120):
        ended = await container.wait()
    log = await printed(container)
    assert ended.code == 0, log
    assert shown in log
    arrived = {path.name: path.read_bytes() for path in claim.iterdir() if path.is_file()}
    assert arrived == ({} if command else FILES)
