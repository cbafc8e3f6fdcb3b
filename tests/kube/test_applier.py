"""Applies that a webhook changes on the way, which must not be sent forever."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web
from tests.kube.manifests import CONFIG_MAPS, config_map
from tests.kube.peer import Answer, Peer, peer, says, streams
from tests.kube.world import ConfigMap, listing, until

from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.informer import Informer
from aim_engine.kube.timings import Timings

FIELDS = {"f:data": {"f:a": {}, "f:b": {}}}
OWNED = [{"manager": "me", "operation": "Apply", "apiVersion": "v1", "fieldsV1": FIELDS}]


class Webhook:
    """Takes every apply, but overrules it in one value."""

    def __init__(self, **overruled: str) -> None:
        self.overruled = overruled
        self.version = 10

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.version += 1
        made: dict[str, Any] = json.loads(await request.read())
        made["metadata"] |= {"resourceVersion": str(self.version), "managedFields": OWNED}
        made["data"] |= self.overruled
        return web.json_response(made)


@asynccontextmanager
async def applying(*answers: Answer) -> AsyncGenerator[tuple[Informer[ConfigMap], Applier, Peer]]:
    async with (
        peer(says(listing(5)), streams(then="silent"), *answers) as server,
        Client(server.connection, Timings()) as client,
        asyncio.TaskGroup() as group,
    ):
        informer = Informer(client, CONFIG_MAPS, ConfigMap, managers=("me",))
        running = group.create_task(informer.run())
        await until(lambda: len(server.seen) == 2)
        yield informer, Applier(client), server
        running.cancel()


async def test_what_a_webhook_overrules_is_sent_once_and_then_counts_as_equal():
    webhook = Webhook(a="theirs")
    async with applying(webhook.answer) as (informer, applier, server):
        plan = config_map("team", "one", a="mine", b="1")
        assert [await applier.apply(informer, plan, manager="me") for _ in range(3)] == [True, False, False]
        assert applier.pending(informer, plan, "me") == []

        changed = config_map("team", "one", a="mine", b="2")
        sent = [await applier.apply(informer, changed, manager="me") for _ in range(2)]
        assert sent == [True, False], "another plan is tried again"

        webhook.overruled = {"a": "other"}
        made = config_map("team", "one", a="other", b="2")
        made["metadata"] |= {"resourceVersion": "50", "managedFields": OWNED}
        informer.learn(_raw(made))
        sent = [await applier.apply(informer, changed, manager="me") for _ in range(2)]
        assert sent == [True, False], "and so is another state"
    assert [seen.method for seen in server.seen].count("PATCH") == 3


def _raw(item: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(item).encode())
