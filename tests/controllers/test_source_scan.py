"""What the filters of a model source find when registries are silent, slow, mirrored or ask for a pause."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from aiohttp import web
from tests.controllers.world import World
from tests.registry.peer import Respond, says, serving, stays_silent

from aim_engine.api.model_source import AIMClusterModelSource, AIMClusterModelSourceSpec, ModelSourceFilter
from aim_engine.controllers import source_scan
from aim_engine.controllers.model_source import MODEL_SOURCES
from aim_engine.core.model_sources import Scan
from aim_engine.objects import Manifest
from aim_engine.registry import credentials
from aim_engine.registry.client import Registry
from aim_engine.registry.credentials import PullSecret
from aim_engine.registry.limits import Limits
from aim_engine.registry.mirrors import Mirror

USUAL = Limits()
IMPATIENT = Limits(request=5.0, retry_pauses=())


@contextlib.asynccontextmanager
async def world(limits: Limits = USUAL) -> AsyncIterator[World]:
    async with Registry(limits=limits) as registry:
        stage = World()
        stage.cluster.registry = registry
        yield stage


async def scan(stage: World, *filters: str, longest: float = source_scan.LONGEST) -> Scan:
    wanted = AIMClusterModelSourceSpec(filters=tuple(ModelSourceFilter(image=image) for image in filters))
    return await source_scan.scan(AIMClusterModelSource(spec=wanted), stage.cluster, datetime.now(UTC), longest)


def registry_of(*repositories: str, unreadable: str = "") -> Respond:
    """A registry whose repositories have one tag each."""

    async def respond(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/_catalog"):
            return web.json_response({"repositories": repositories})
        if unreadable and unreadable in request.path:
            return web.json_response({}, status=403)
        return web.json_response({"tags": ["1.0.0"]})

    return respond


async def test_a_registry_that_does_not_answer_is_asked_once_and_all_its_filters_say_so() -> None:
    async with serving(stays_silent) as silent, serving(registry_of()) as good, world(IMPATIENT) as stage:
        repositories = [f"{silent.host}/acme/aim-{number}" for number in range(9)]
        found = await scan(stage, *repositories, f"{good.host}/acme/aim")
    assert len(silent.seen) == 1
    assert [outcome.filter for outcome in found.failed] == repositories
    assert {outcome.failure.partition(" did not")[0] for outcome in found.failed} == {f"registry {silent.host}"}
    assert {outcome.unreachable for outcome in found.failed} == {(silent.host,)}
    assert [image.uri for image in found.found] == [f"{good.host}/acme/aim:1.0.0"]


async def test_a_scan_ends_in_time_with_what_quick_registries_have() -> None:
    async with serving(stays_silent) as slow, serving(registry_of("acme/aim")) as good, world() as stage:
        filters = (f"{slow.host}/acme/*", f"{slow.host}/acme/aim", f"{slow.host}/acme/exactly:1", f"{good.host}/*")
        found = await scan(stage, *filters, longest=3.0)
    assert [image.uri for image in found.found] == [f"{slow.host}/acme/exactly:1", f"{good.host}/acme/aim:1.0.0"]
    said = f"{slow.host} had not answered everything when the sync had to end after 3 s"
    assert [(outcome.filter, outcome.failure) for outcome in found.failed] == [(filters[0], said), (filters[1], said)]
    assert found.failed[0].unreachable == (slow.host,)


async def test_repositories_of_a_mirrored_ghcr_that_cannot_be_read_are_passed_over() -> None:
    async with serving(registry_of("acme/aim-a", "acme/aim-b", unreadable="aim-b")) as mirror:
        stored = json.dumps({"auths": {"ghcr.io": {"username": "me", "password": "token"}}}).encode()
        keys = credentials.keychain(
            [PullSecret("regcred", "kubernetes.io/dockerconfigjson", {".dockerconfigjson": stored})]
        )
        spec = AIMClusterModelSourceSpec(filters=(ModelSourceFilter(image="ghcr.io/acme/*"),))
        async with Registry(mirrors={"ghcr.io": Mirror("http", mirror.host)}) as registry:
            outcome = await source_scan.Inquiry(spec, keys, registry, 60.0).outcome(spec.filters[0])
    assert outcome.failure == ""
    assert [image.uri for image in outcome.found] == ["ghcr.io/acme/aim-a:1.0.0"]
    assert len(outcome.skipped) == 1 and outcome.skipped[0].startswith("acme/aim-b (")


async def test_a_token_with_a_line_break_fails_its_own_filter_only() -> None:
    stored = json.dumps({"auths": {"ghcr.io": {"username": "me", "password": "hunter2\n"}}}).encode()
    keys = credentials.keychain(
        [PullSecret("regcred", "kubernetes.io/dockerconfigjson", {".dockerconfigjson": stored})]
    )
    async with serving(registry_of("acme/aim")) as good, Registry(github=f"http://{good.host}") as registry:
        filters = (ModelSourceFilter(image="ghcr.io/acme/*"), ModelSourceFilter(image=f"{good.host}/acme/*"))
        inquiry = source_scan.Inquiry(AIMClusterModelSourceSpec(filters=filters), keys, registry, 60.0)
        async with asyncio.TaskGroup() as group:
            refused, found = [group.create_task(inquiry.outcome(entry)) for entry in filters]
    assert 'pull secret "regcred" cannot be sent' in refused.result().failure
    assert "hunter2" not in refused.result().failure
    assert [image.uri for image in found.result().found] == [f"{good.host}/acme/aim:1.0.0"]


async def next_look(stage: World) -> timedelta:
    """When a source that has just looked looks again."""
    await stage.settle(MODEL_SOURCES, "s", namespace="")  # tells that it begins
    after = (await stage.look(MODEL_SOURCES, "s", namespace="")).plan.requeue_after
    assert after is not None
    return after


def source(image: str, interval: str, generation: int = 1) -> Manifest:
    spec = {"filters": [{"image": image}], "syncInterval": interval}
    metadata = {"name": "s", "generation": generation}
    return {
        "apiVersion": "aim.eai.amd.com/v1alpha1",
        "kind": "AIMClusterModelSource",
        "metadata": metadata,
        "spec": spec,
    }


async def test_a_source_goes_on_when_its_registry_takes_requests_again() -> None:
    async with serving(says({}, 429, Retry_After="300")) as limited, world() as stage:
        stage.put(source(f"{limited.host}/acme/aim", "24h"))
        first = await next_look(stage)
        stage.put(source(f"{limited.host}/acme/aim", "24h", generation=2))
        second = await next_look(stage)
    assert timedelta(seconds=290) < first <= timedelta(seconds=301)
    assert second > 1.9 * first


async def test_a_source_that_looks_often_does_not_wait_longer_for_a_pause() -> None:
    async with serving(says({}, 429, Retry_After="300")) as limited, world() as stage:
        stage.put(source(f"{limited.host}/acme/aim", "10s"))
        assert await next_look(stage) <= timedelta(seconds=10)


async def test_a_short_pause_is_no_reason_to_look_all_the_time() -> None:
    async with serving(says({}, 429, Retry_After="1")) as limited, world() as stage:
        stage.put(source(f"{limited.host}/acme/aim", "24h"))
        assert await next_look(stage) > timedelta(seconds=50)
