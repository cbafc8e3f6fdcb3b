"""Model sources that look through Docker Hub, GitHub and a mirror: long listings, and all that goes wrong with them.

A rate limit of Docker Hub concerns everyone who asks it without a name, so these stories come one after the other.
"""

import asyncio

import pytest
from tests.cluster.catalogue.conftest import run
from tests.cluster.catalogue.test_model_sources import models_of
from tests.cluster.catalogue.words import NOW_AND_THEN, Catalogue, condition, message, state
from tests.internet import GITHUB, HUB, MIRRORED, TOKEN, Internet
from tests.registry.pushing import Pusher

pytestmark = pytest.mark.xdist_group("outside")

SOURCES, MODELS = "aimclustermodelsources", "aimclustermodels"
OFTEN = {"syncInterval": "1s"}

FAULTS = {
    "429": "takes no more requests for now",
    "500": "with HTTP status 500",
    "reset": "ended the connection",
    "silence": "did not answer in time",
    "cut": "ended the connection in the middle of its answer",
    "no JSON": "its listing is not understood",
}
"""What goes wrong with the second page, and what users are told."""


@pytest.fixture
def organisation(catalogue: Catalogue, open_registry: str, internet: Internet) -> str:
    """Three images of the test's own."""
    name = f"org-{catalogue.unique}"
    run(push(open_registry, [f"{name}/aim-{letter}" for letter in "abc"], ["1.0.0"]))
    internet.publish(name, open_registry)
    return name


async def push(host: str, repositories: list[str], tags: list[str]) -> None:
    async with Pusher(f"http://{host}") as pusher, asyncio.TaskGroup() as group:
        for repository in repositories:
            group.create_task(pusher.tags(repository, tags, {"repository": repository}))


def images_of(catalogue: Catalogue, source: str) -> list[str]:
    return sorted(one["spec"]["image"] for one in models_of(catalogue, source))


@pytest.mark.parametrize(
    ("registry", "host", "prefix"),
    [
        pytest.param("docker.io", HUB, "", id="Docker Hub"),
        pytest.param("ghcr.io", GITHUB, "ghcr.io/", id="GitHub"),
    ],
)
def test_whatever_goes_wrong_with_a_listing_no_model_is_lost(
    catalogue: Catalogue,
    open_registry: str,
    internet: Internet,
    organisation: str,
    registry: str,
    host: str,
    prefix: str,
) -> None:
    name, secret = f"source-{catalogue.unique}", f"github-{catalogue.unique}"
    catalogue.secret(secret, {"ghcr.io": {"username": "me", "password": f"{TOKEN}-{organisation}"}}, "aim-system")
    spec = {"filters": [{"image": f"{organisation}/aim-*"}], "imagePullSecrets": [{"name": secret}]}
    catalogue.apply(SOURCES, name, {"registry": registry, **spec, **OFTEN})
    catalogue.until_state(SOURCES, name, "Ready")
    whole = [f"{prefix}{organisation}/aim-{letter}:1.0.0" for letter in "abc"]
    catalogue.wait(lambda: images_of(catalogue, name) == whole, "a model per image, from all pages")
    before = {one["metadata"]["name"]: one["metadata"]["uid"] for one in models_of(catalogue, name)}
    for fault, told in FAULTS.items():
        internet.publish(organisation, open_registry, fault=fault)
        failed = catalogue.until(SOURCES, name, lambda one, told=told: told in message(one, "FiltersReady"))
        assert state(failed) == "Failed"
        assert condition(failed, "FiltersReady") == ("False", "AllFiltersFailed")
        assert message(failed, "FiltersReady").startswith(f'All 1 filters failed: "{organisation}/aim-*": ')
        assert condition(failed, "RegistryReachable") == ("False", "RegistryUnreachable"), fault
        assert message(failed, "RegistryReachable") == f"Could not query: {host}", message(failed, "FiltersReady")
        assert failed["status"]["discoveredModels"] == 3, fault
    internet.publish(organisation, open_registry)
    healed = catalogue.until_state(SOURCES, name, "Ready")
    assert condition(healed, "RegistryReachable") == ("True", "Reachable")
    after = {one["metadata"]["name"]: one["metadata"]["uid"] for one in models_of(catalogue, name)}
    assert after == before
    catalogue.until_state(MODELS, next(iter(after)), "Ready")


def test_what_a_listing_told_before_it_broke_becomes_models(
    catalogue: Catalogue, open_registry: str, internet: Internet, organisation: str
) -> None:
    name = f"source-{catalogue.unique}"
    internet.publish(organisation, open_registry, fault="500")
    catalogue.apply(SOURCES, name, {"filters": [{"image": f"{organisation}/*"}], **OFTEN})
    catalogue.until_state(SOURCES, name, "Failed")
    catalogue.wait(lambda: images_of(catalogue, name) == [f"{organisation}/aim-a:1.0.0"], "the first page is used")
    internet.publish(organisation, open_registry)
    catalogue.wait(lambda: len(images_of(catalogue, name)) == 3, "the others come as soon as they are listed")


def test_github_wants_a_token_even_for_public_packages(
    catalogue: Catalogue, open_registry: str, internet: Internet, organisation: str
) -> None:
    name, secret = f"source-{catalogue.unique}", f"github-{catalogue.unique}"
    filters = [{"image": f"ghcr.io/{organisation}/aim-*"}]
    catalogue.apply(SOURCES, name, {"filters": filters, "imagePullSecrets": [{"name": secret}], **OFTEN})
    failed = catalogue.until_state(SOURCES, name, "Failed")
    assert "listing the packages of ghcr.io needs a token" in message(failed, "FiltersReady")
    assert f'imagePullSecret "{secret}" not found in namespace "aim-system"' in message(failed, "FiltersReady")
    assert condition(failed, "RegistryReachable") == ("True", "Reachable")
    assert "lastSyncTime" not in failed["status"]
    assert condition(failed, "AuthValid") == ("", "")
    internet.publish(organisation, open_registry, unreadable="aim-b")
    catalogue.secret(secret, {"ghcr.io": {"username": "me", "password": f"{TOKEN}-{organisation}"}}, "aim-system")
    partly = catalogue.until(SOURCES, name, lambda one: "partial results" in message(one, "FiltersReady"))
    assert f"{organisation}/aim-b (" in message(partly, "FiltersReady")
    whole = [f"ghcr.io/{organisation}/aim-{letter}:1.0.0" for letter in "abc"]
    catalogue.wait(lambda: images_of(catalogue, name) == [whole[0], whole[2]], "what can be read is used")
    internet.publish(organisation, open_registry)
    catalogue.until_state(SOURCES, name, "Ready")
    catalogue.wait(lambda: images_of(catalogue, name) == whole, "and the rest when it can be")


def test_a_repository_of_docker_hub_that_cannot_be_read_is_passed_over_and_told(
    catalogue: Catalogue, open_registry: str, internet: Internet, organisation: str
) -> None:
    name = f"source-{catalogue.unique}"
    internet.publish(organisation, open_registry, unreadable="aim-b")
    catalogue.apply(SOURCES, name, {"filters": [{"image": f"{organisation}/*"}], **OFTEN})
    source = catalogue.until_state(SOURCES, name, "Ready")
    assert condition(source, "FiltersReady") == ("True", "AllFiltersSucceeded")
    assert f"{organisation}/aim-b (" in message(source, "FiltersReady")
    catalogue.wait(lambda: len(images_of(catalogue, name)) == 2, "the other two")


def test_a_model_waits_until_its_registry_takes_requests_again(
    catalogue: Catalogue, open_registry: str, internet: Internet, organisation: str
) -> None:
    internet.publish(organisation, open_registry, limited="aim-a")
    catalogue.apply("aimmodels", "limited", {"image": f"{organisation}/aim-a:1.0.0"})
    model = catalogue.until_state("aimmodels", "limited", "Degraded")
    assert condition(model, "ImageMetadataReady") == ("False", "MetadataExtractionFailed")
    assert "takes no more requests for now" in message(model, "ImageMetadataReady")
    internet.publish(organisation, open_registry)
    healed = catalogue.until_state("aimmodels", "limited", "Ready")
    assert healed["status"]["imageMetadata"]["originalLabels"] == {"repository": f"{organisation}/aim-a"}


def test_a_mirror_is_read_in_place_of_its_registry_and_names_stay(
    catalogue: Catalogue, open_registry: str, organisation: str
) -> None:
    name = f"source-{catalogue.unique}"
    run(push(open_registry, [f"{organisation}/aim-many"], [f"1.0.{patch}" for patch in range(9)]))
    catalogue.apply(SOURCES, name, {"registry": MIRRORED, "filters": [{"image": f"{organisation}/*"}], **OFTEN})
    catalogue.until(SOURCES, name, lambda one: one.get("status", {}).get("availableModels") == 12)
    catalogue.wait(lambda: len(images_of(catalogue, name)) == 12, "all pages of the catalogue and of the tags")
    assert all(image.startswith(f"{MIRRORED}/{organisation}/aim-") for image in images_of(catalogue, name))
    model = models_of(catalogue, name)[0]
    assert model["metadata"]["annotations"]["aim.eai.amd.com/source-registry"] == MIRRORED
    ready = catalogue.until_state(MODELS, model["metadata"]["name"], "Ready")
    assert ready["status"]["imageMetadata"]["originalLabels"]["repository"].startswith(f"{organisation}/aim-")


def test_five_hundred_images_in_pages(catalogue: Catalogue, open_registry: str, internet: Internet) -> None:
    organisation, name = f"many-{catalogue.unique}", f"source-{catalogue.unique}"
    repositories = [f"{organisation}/aim-{index:02}" for index in range(50)]
    run(push(open_registry, repositories, [f"1.{minor}.0" for minor in range(10)]))
    internet.publish(organisation, open_registry)
    spec = {"filters": [{"image": f"{organisation}/*"}], "maxModels": 500, **NOW_AND_THEN}
    catalogue.apply(SOURCES, name, spec)
    source = catalogue.until(SOURCES, name, lambda one: one.get("status", {}).get("discoveredModels") == 500)
    assert source["status"]["availableModels"] == 500
    assert condition(source, "MaxModelsLimitReached") == ("True", "LimitReached")
    catalogue.wait(lambda: len(images_of(catalogue, name)) == 500, "a model per image")
    assert len(set(images_of(catalogue, name))) == 500
