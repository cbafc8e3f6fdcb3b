"""The registry stand-in of a local cluster, held against a real registry that has the same images."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import yaml
from aiohttp.test_utils import TestServer
from tests.registry.pushing import Pusher

from aim_engine.local.demo import publish
from aim_engine.local.stand_ins import registry as stand_in
from aim_engine.registry import errors, mirrors
from aim_engine.registry.client import Registry
from aim_engine.registry.limits import Limits

LABELS = {"com.amd.aim.title": "Held against", "org.opencontainers.image.version": "1.0"}
ABSENT = f"sha256:{'0' * 64}"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """The directory of the stand-in's images."""
    publish.images(tmp_path)
    return tmp_path


@pytest.fixture
async def demo(images: Path) -> AsyncIterator[str]:
    """The stand-in; host:port."""
    async with TestServer(stand_in.Registry(images).application()) as server:
        yield f"{server.host}:{server.port}"


def reading(demo: str, *, page_size: int = 100) -> Registry:
    """The operator's own reader, with the demo's registry as a mirror, as `aim up` has it."""
    limits = Limits(page_size=page_size, request=30.0, retry_pauses=(0.01,))
    return Registry(mirrors=mirrors.parse(f"{publish.REGISTRY}=http://{demo}"), limits=limits)


async def test_the_operator_reads_the_labels_of_the_demo_images(demo: str) -> None:
    async with reading(demo) as registry:
        for image in publish.IMAGES:
            assert (await registry.image(image.name)).labels == image.labels()


async def test_the_operator_lists_repositories_and_tags_page_by_page(demo: str, images: Path) -> None:
    for tag in ("1.1", "1.2", "2.0"):
        (images / "aim-demo" / f"{tag}.yaml").write_text("labels: {}")
    async with reading(demo, page_size=1) as registry:
        assert (await registry.repositories(publish.REGISTRY, "")).names == ("aim-demo", "aim-demo-gated")
        assert (await registry.tags(publish.REGISTRY, "aim-demo")).names == ("1.0", "1.1", "1.2", "2.0")


async def test_an_image_that_changes_keeps_its_old_digest(demo: str, images: Path) -> None:
    async with aiohttp.ClientSession(f"http://{demo}") as session:
        path = "/v2/aim-demo/manifests/"
        before = (await session.get(f"{path}1.0")).headers["Docker-Content-Digest"]
        (images / "aim-demo" / "1.0.yaml").write_text(yaml.safe_dump({"labels": {"changed": "yes"}}))
        after = (await session.get(f"{path}1.0")).headers["Docker-Content-Digest"]
        assert before != after
        assert (await session.get(f"{path}{before}")).status == 200


async def test_what_is_not_there_is_told_as_the_operator_tells_it_of_real_registries(demo: str) -> None:
    async with reading(demo) as registry:
        with pytest.raises(errors.NotFound):
            await registry.image(f"{publish.REGISTRY}/aim-nothing:1.0")
        with pytest.raises(errors.NotFound):
            await registry.image(f"{publish.REGISTRY}/aim-demo:9.9")


async def test_a_file_that_describes_no_image_is_named(demo: str, images: Path) -> None:
    (images / "aim-demo" / "broken.yaml").write_text("labels: [a]")
    async with aiohttp.ClientSession(f"http://{demo}") as session:
        answer = await session.get("/v2/aim-demo/manifests/broken")
        assert answer.status == 500
        assert "broken.yaml is not the description of an image" in await answer.text()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/v2/", id="the entrance"),
        pytest.param("/v2/{repository}/tags/list", id="tags"),
        pytest.param("/v2/{repository}/tags/list?n=1", id="one tag"),
        pytest.param("/v2/{repository}/manifests/1.0", id="a manifest by tag"),
        pytest.param("/v2/{repository}/manifests/{digest}", id="a manifest by digest"),
        pytest.param("/v2/{repository}/blobs/{config}", id="a configuration"),
        pytest.param("/v2/absent/tags/list", id="tags of an absent repository"),
        pytest.param("/v2/{repository}/manifests/9.9", id="an absent tag"),
        pytest.param(f"/v2/{{repository}}/manifests/{ABSENT}", id="an absent digest"),
        pytest.param(f"/v2/{{repository}}/blobs/{ABSENT}", id="an absent blob"),
    ],
)
async def test_the_stand_in_answers_as_a_real_registry(
    demo: str, images: Path, plain: str, push: Pusher, repository: str, path: str
) -> None:
    folder = images / repository
    folder.mkdir(parents=True)
    (folder / "1.0.yaml").write_text(yaml.safe_dump({"labels": LABELS}))
    index, manifest, config, layer = stand_in.image(LABELS)
    for blob in (config, layer):
        await push.blob(repository, blob.content)
    for document, tag in ((manifest, manifest.digest), (index, "1.0")):
        await pushed(plain, repository, tag, document)
    asked = path.format(repository=repository, digest=manifest.digest, config=config.digest)
    assert await answered(demo, asked) == await answered(plain, asked)


async def pushed(host: str, repository: str, tag: str, document: stand_in.Blob) -> None:
    async with aiohttp.ClientSession(f"http://{host}") as session:
        headers = {"Content-Type": document.media_type}
        answer = await session.put(f"/v2/{repository}/manifests/{tag}", data=document.content, headers=headers)
        assert answer.status == 201, await answer.text()


async def answered(host: str, path: str) -> tuple[object, ...]:
    """What clients of a registry go by: status, digest, kind of content, and the content or the code of the error."""
    accepted = {"Accept": f"{stand_in.INDEX}, {stand_in.MANIFEST}"}
    async with aiohttp.ClientSession(f"http://{host}", headers=accepted) as session, session.get(path) as answer:
        version = answer.headers.get("Docker-Distribution-API-Version")
        if answer.status >= 400:
            return answer.status, version, [error["code"] for error in (await answer.json())["errors"]]
        known = answer.headers.get("Docker-Content-Digest")
        content = await answer.read() if known else await answer.json()
        kind = answer.content_type if "/manifests/" in path else None
        return answer.status, version, known, kind, content


async def test_other_methods_and_paths_are_refused(demo: str) -> None:
    async with aiohttp.ClientSession(f"http://{demo}") as session:
        assert (await session.post("/v2/aim-demo/blobs/uploads/")).status == 404
        assert (await session.head("/v2/aim-demo/manifests/1.0")).status == 200
        assert (await session.get("/v2/../hub.json")).status == 404
