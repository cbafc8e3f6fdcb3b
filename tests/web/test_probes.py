"""Probes tell the truth about the process."""

import aiohttp
import pytest
from tests.web.serving import served

from aim_engine.web import probes


@pytest.mark.parametrize("path", ["/healthz", "/healthz/healthz", "/readyz", "/readyz/readyz"])
async def test_a_working_process_answers_ok(path: str) -> None:
    async with served(probes.application(lambda: None)) as address, aiohttp.ClientSession() as session:
        answer = await session.get(address + path)
        assert (answer.status, await answer.text()) == (200, "ok")


async def test_a_process_that_cannot_reconcile_is_alive_but_not_ready() -> None:
    async with served(probes.application(lambda: "pods are not synced")) as address, aiohttp.ClientSession() as session:
        ready = await session.get(f"{address}/readyz")
        alive = await session.get(f"{address}/healthz")
        assert (ready.status, await ready.text(), alive.status) == (503, "pods are not synced", 200)
