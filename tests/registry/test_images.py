"""Reading images of a real registry: what comes out, and what it costs the registry."""

import asyncio
import json

import pytest
from aiohttp import web
from tests.registry.conftest import LIMITS
from tests.registry.peer import Respond, gate, hangs_up, says, sends, stays_silent
from tests.registry.pushing import DOCKER, OCI, Pusher, digest

from aim_engine.registry import errors
from aim_engine.registry.client import Registry
from aim_engine.registry.limits import Limits

AMD64 = {"os": "linux", "architecture": "amd64"}
ARM64 = {"os": "linux", "architecture": "arm64"}
ATTESTATION = {"os": "unknown", "architecture": "unknown"}
LABELS = {"com.amd.aim.model.canonicalName": "acme/model", "org.opencontainers.image.title": "Ein Modell – «quoted»"}


@pytest.mark.parametrize("types", [pytest.param(OCI, id="OCI media types"), pytest.param(DOCKER, id="Docker's")])
async def test_labels_of_an_image(push: Pusher, plain: str, repository: str, types: dict[str, str]) -> None:
    pushed = await push.image(repository, "1.0", LABELS, types=types)
    async with Registry(limits=LIMITS) as registry:
        image = await registry.image(f"{plain}/{repository}:1.0")
    assert dict(image.labels) == LABELS
    assert image.digest == pushed.digest


@pytest.mark.parametrize("types", [pytest.param(OCI, id="OCI index"), pytest.param(DOCKER, id="Docker manifest list")])
async def test_an_index_is_read_for_linux_amd64(
    push: Pusher, plain: str, repository: str, types: dict[str, str]
) -> None:
    arm = await push.image(repository, None, {"is": "arm"}, architecture="arm64", types=types)
    amd = await push.image(repository, None, {"is": "amd"}, types=types)
    attestation = await push.image(repository, None, {"is": "attestation"}, architecture="unknown", types=types)
    index = await push.index(repository, "1.0", [(ARM64, arm), (ATTESTATION, attestation), (AMD64, amd)], types=types)
    async with Registry(limits=LIMITS) as registry:
        image = await registry.image(f"{plain}/{repository}:1.0")
    assert (dict(image.labels), image.digest) == ({"is": "amd"}, index.digest)


@pytest.mark.parametrize("labels", [pytest.param(None, id="no label object"), pytest.param({}, id="an empty one")])
async def test_an_image_without_labels_is_fine(
    push: Pusher, plain: str, repository: str, labels: dict[str, str] | None
) -> None:
    await push.image(repository, "latest", labels)
    async with Registry(limits=LIMITS) as registry:
        assert not (await registry.image(f"{plain}/{repository}")).labels


async def test_an_image_by_digest(push: Pusher, plain: str, repository: str) -> None:
    pushed = await push.image(repository, None, LABELS)
    async with Registry(limits=LIMITS) as registry:
        image = await registry.image(f"{plain}/{repository}:ignored@{pushed.digest}")
    assert dict(image.labels) == LABELS


async def test_a_hundred_askers_cost_three_requests(push: Pusher, plain: str, repository: str) -> None:
    amd = await push.image(repository, None, LABELS)
    await push.index(repository, "1.0", [(AMD64, amd)])
    async with gate(plain) as front, Registry(limits=LIMITS) as registry:
        name = f"{front.host}/{repository}:1.0"
        images = await asyncio.gather(*(registry.image(name) for _ in range(100)))
        assert all(dict(image.labels) == LABELS for image in images)
        await registry.image(name)
        assert front.kinds() == ["blobs", "manifests", "manifests"]
        assert front.paths().count("/v2/") == 1


async def test_several_tags_of_one_image_share_what_lies_behind_them(push: Pusher, plain: str, repository: str) -> None:
    await push.image(repository, "1.0", LABELS)
    await push.image(repository, "latest", LABELS)
    async with gate(plain) as front, Registry(limits=LIMITS) as registry:
        for tag in ("1.0", "latest"):
            await registry.image(f"{front.host}/{repository}:{tag}")
        assert front.kinds() == ["blobs", "manifests", "manifests"]


async def test_a_tag_that_moved_is_seen_after_a_while(push: Pusher, plain: str, repository: str) -> None:
    await push.image(repository, "1.0", {"version": "old"})
    async with Registry(limits=Limits(answer_lifetime=0.05)) as registry:
        name = f"{plain}/{repository}:1.0"
        assert (await registry.image(name)).labels["version"] == "old"
        await push.image(repository, "1.0", {"version": "new"})
        async with asyncio.timeout(120):
            while (await registry.image(name)).labels["version"] == "old":
                await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("lifetime", "waited", "seen"),
    [
        pytest.param(60.0, 0.0, "old", id="an answer that is young enough"),
        pytest.param(0.0, 0.0, "new", id="an answer that is too old"),
        pytest.param(0.0, 60.0, "old", id="an answer from after the wish, which had to wait for its turn"),
    ],
)
async def test_an_answer_may_only_be_so_much_older_than_the_wish(
    push: Pusher, plain: str, repository: str, lifetime: float, waited: float, seen: str
) -> None:
    name = f"{plain}/{repository}:1.0"
    await push.image(repository, "1.0", {"version": "old"})
    async with Registry(limits=Limits(answer_lifetime=lifetime)) as registry:
        await registry.image(name)
        await push.image(repository, "1.0", {"version": "new"})
        image = await registry.image(name, waited=waited)
        assert image.labels["version"] == seen


async def test_wishes_are_taken_to_be_no_older_than_the_longest_wait(push: Pusher, plain: str, repository: str) -> None:
    name = f"{plain}/{repository}:1.0"
    await push.image(repository, "1.0", {"version": "old"})
    async with Registry(limits=Limits(answer_lifetime=0.0, longest_wait=0.001)) as registry:
        await registry.image(name)
        await push.image(repository, "1.0", {"version": "new"})
        await asyncio.sleep(0.01)
        assert (await registry.image(name, waited=3600.0)).labels["version"] == "new"


async def test_what_did_not_fit_into_memory_is_read_again(push: Pusher, plain: str, repository: str) -> None:
    for tag in ("1", "2"):
        await push.image(repository, tag, {"tag": tag, "long": "x" * 600})
    async with gate(plain) as front, Registry(limits=Limits(cache_bytes=1000)) as registry:
        for tag in ("1", "1", "2", "2", "1"):
            assert (await registry.image(f"{front.host}/{repository}:{tag}")).labels["tag"] == tag
        assert front.kinds() == ["blobs"] * 3 + ["manifests"] * 3


async def test_one_who_leaves_does_not_take_the_answer_from_the_others(
    push: Pusher, plain: str, repository: str
) -> None:
    await push.image(repository, "1.0", LABELS)
    first = asyncio.Event()

    def before(request: web.Request) -> Respond | None:
        if "/manifests/" in request.path and not first.is_set():
            first.set()
            return stays_silent
        return None

    async with gate(plain, before=before) as front, Registry(limits=LIMITS) as registry:
        leaving, staying = (asyncio.create_task(registry.image(f"{front.host}/{repository}:1.0")) for _ in range(2))
        await first.wait()
        leaving.cancel()
        assert dict((await staying).labels) == LABELS


async def test_what_is_not_there(push: Pusher, plain: str, repository: str) -> None:
    await push.image(repository, "1.0", LABELS)
    async with Registry(limits=LIMITS) as registry:
        with pytest.raises(errors.NotFound) as failure:
            await registry.image(f"{plain}/{repository}:2.0")
        with pytest.raises(errors.NotFound):
            await registry.image(f"{plain}/{repository}/other:1.0")
    assert str(failure.value) == (
        f"registry {plain} has no {repository}:2.0 (MANIFEST_UNKNOWN): check the name, or publish it there"
    )


async def test_askers_of_a_missing_image_share_the_failure_for_a_moment(
    push: Pusher, plain: str, repository: str
) -> None:
    async with gate(plain) as front, Registry(limits=Limits(failure_lifetime=1.0)) as registry:
        name = f"{front.host}/{repository}:1.0"
        failures = await asyncio.gather(*(registry.image(name) for _ in range(20)), return_exceptions=True)
        assert {type(failure) for failure in failures} == {errors.NotFound}
        assert front.kinds() == ["manifests"]
        await push.image(repository, "1.0", LABELS)
        async with asyncio.timeout(120):
            while True:
                try:
                    assert dict((await registry.image(name)).labels) == LABELS
                    break
                except errors.NotFound:
                    await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        pytest.param({"schemaVersion": 1, "fsLayers": []}, "schema 1", id="schema 1"),
        pytest.param(
            {"schemaVersion": 2, "mediaType": "application/vnd.cncf.helm"}, "no container image", id="a chart"
        ),
        pytest.param(
            {
                "schemaVersion": 2,
                "mediaType": OCI["manifest"],
                "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest(b"{}"), "size": 2},
            },
            "no container image",
            id="an artifact in an image manifest",
        ),
        pytest.param(
            {"schemaVersion": 2, "mediaType": OCI["index"], "manifests": [], "config": {}},
            "not understood",
            id="index and manifest in one",
        ),
        pytest.param(
            {"schemaVersion": 2, "mediaType": OCI["index"], "manifests": []}, "linux/amd64", id="an index of nothing"
        ),
        pytest.param(["no", "manifest"], "not understood", id="another JSON"),
    ],
)
async def test_a_manifest_that_is_no_image_is_refused(plain: str, manifest: object, words: str) -> None:
    def before(request: web.Request) -> Respond | None:
        return (
            sends(json.dumps(manifest).encode(), Content_Type=OCI["manifest"])
            if "/manifests/" in request.path
            else None
        )

    async with gate(plain, before=before) as front, Registry(limits=LIMITS) as registry:
        with pytest.raises(errors.MalformedAnswer, match=words):
            await registry.image(f"{front.host}/acme/aim:1.0")


async def test_an_index_without_linux_amd64_is_refused(push: Pusher, plain: str, repository: str) -> None:
    arm = await push.image(repository, None, {}, architecture="arm64")
    await push.index(repository, "1.0", [(ARM64, arm)])
    async with Registry(limits=LIMITS) as registry:
        with pytest.raises(errors.MalformedAnswer, match="no image for linux/amd64"):
            await registry.image(f"{plain}/{repository}:1.0")


async def test_content_that_is_not_what_its_digest_says_is_refused(push: Pusher, plain: str, repository: str) -> None:
    pushed = await push.image(repository, "1.0", LABELS)
    async with gate(plain, change=b" ") as front, Registry(limits=LIMITS) as registry:
        with pytest.raises(errors.MalformedAnswer, match="something else"):
            await registry.image(f"{front.host}/{repository}:1.0")
    swapped = sends(b"{}", Content_Type=OCI["manifest"], Docker_Content_Digest=pushed.digest)
    async with gate(plain, before=lambda r: swapped if "/manifests/" in r.path else None) as front:
        for wanted in (":1.0", f"@{pushed.digest}"):
            async with Registry(limits=LIMITS) as registry:
                with pytest.raises(errors.MalformedAnswer, match="something else"):
                    await registry.image(f"{front.host}/{repository}{wanted}")


@pytest.mark.parametrize("field", ["manifest_bytes", "config_bytes"])
async def test_answers_are_bounded(push: Pusher, plain: str, repository: str, field: str) -> None:
    await push.image(repository, "1.0", {"long": "x" * 1000})
    async with Registry(limits=Limits(**{field: 100})) as registry:
        with pytest.raises(errors.MalformedAnswer, match="larger than 100 bytes"):
            await registry.image(f"{plain}/{repository}:1.0")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(says({}, 503), id="503"),
        pytest.param(says({}, 500), id="500"),
        pytest.param(says({}, 408), id="408"),
        pytest.param(hangs_up, id="the connection is reset"),
    ],
)
async def test_passing_faults_are_retried(push: Pusher, plain: str, repository: str, fault: Respond) -> None:
    await push.image(repository, "1.0", LABELS)
    left = [fault, fault]
    async with (
        gate(plain, before=lambda r: left.pop() if left and r.path != "/v2/" else None) as front,
        Registry(limits=LIMITS) as registry,
    ):
        assert dict((await registry.image(f"{front.host}/{repository}:1.0")).labels) == LABELS
        assert front.kinds() == ["blobs", "manifests", "manifests", "manifests"]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        pytest.param(says({}, 502), errors.ServerFailed, id="502"),
        pytest.param(hangs_up, errors.ConnectionLost, id="reset"),
    ],
)
async def test_the_third_failure_is_told(plain: str, fault: Respond, kind: type[errors.RegistryError]) -> None:
    async with (
        gate(plain, before=lambda r: fault if r.path != "/v2/" else None) as front,
        Registry(limits=LIMITS) as registry,
    ):
        with pytest.raises(kind) as failure:
            await registry.image(f"{front.host}/acme/aim:1.0")
        # A reset may be that of a connection kept too long, so the HTTP client takes one more for each try.
        assert front.kinds() in (["manifests"] * 3, ["manifests"] * 6)
        assert (failure.value.registry, failure.value.host) == (front.host, front.host)


async def test_a_silent_registry_is_left_after_the_time_for_one_request(plain: str) -> None:
    async with (
        gate(plain, before=lambda r: stays_silent if r.path != "/v2/" else None) as front,
        Registry(limits=Limits(request=5.0, retry_pauses=(0.01, 0.02))) as registry,
    ):
        with pytest.raises(errors.TimedOut, match="did not answer in time"):
            await registry.image(f"{front.host}/acme/aim:1.0")
        assert front.kinds() == ["manifests"]


async def test_no_more_than_so_many_requests_at_a_time(push: Pusher, plain: str, repository: str) -> None:
    for number in range(8):
        await push.image(repository, f"{number}", {"number": f"{number}"})
    now, most, full = 0, 0, asyncio.Event()

    def before(request: web.Request) -> Respond | None:
        async def slowly(_: web.Request) -> web.StreamResponse:
            nonlocal now, most
            now, most = now + 1, max(most, now + 1)
            if now == 3:
                full.set()
            async with asyncio.timeout(120):
                await full.wait()
            await asyncio.sleep(0.01)  # time for a fourth to come, were it let
            now -= 1
            return web.json_response({}, status=404)

        return slowly if "/manifests/" in request.path else None

    limits = Limits(connections_per_host=3)
    async with gate(plain, before=before) as front, Registry(limits=limits) as registry:
        wanted = (registry.image(f"{front.host}/{repository}:{number}") for number in range(8))
        await asyncio.gather(*wanted, return_exceptions=True)
    assert most == 3
