"""Model sources on the real API server, looking through a real registry."""

import asyncio
from typing import Any

import pytest
from tests.cluster.catalogue.conftest import run
from tests.cluster.catalogue.words import NOW_AND_THEN, Catalogue, condition, message, state
from tests.registry.pushing import Pusher

SOURCES, MODELS = "aimclustermodelsources", "aimclustermodels"


@pytest.fixture
def shelf(catalogue: Catalogue, open_registry: str) -> str:
    """A folder of repositories of the test's own: two with three versions each."""
    folder = f"shelf-{catalogue.unique}"
    versions = ("1.0.0", "1.1.0", "2.0.0-rc1")
    run(push(open_registry, {f"{folder}/aim-{name}": versions for name in ("a", "b")}))
    return folder


async def push(host: str, shelves: dict[str, tuple[str, ...]]) -> None:
    async with Pusher(f"http://{host}") as pusher, asyncio.TaskGroup() as group:
        for repository, tags in shelves.items():
            for tag in tags:
                group.create_task(pusher.image(repository, tag, {"tag": f"{repository}:{tag}"}))


def models_of(catalogue: Catalogue, source: str) -> list[Any]:
    return catalogue.all(MODELS, f"aim.eai.amd.com/model-source%3D{source}")


def images_of(catalogue: Catalogue, source: str) -> set[str]:
    return {one["spec"]["image"].partition("/")[2].partition("/")[2] for one in models_of(catalogue, source)}


def test_every_image_that_fits_becomes_a_model(catalogue: Catalogue, open_registry: str, shelf: str) -> None:
    name = f"source-{catalogue.unique}"
    filters = [{"image": f"{shelf}/*", "exclude": [f"{shelf}/aim-b"], "versions": [">=1.1"]}]
    catalogue.apply(SOURCES, name, {"registry": open_registry, "filters": filters, **NOW_AND_THEN})
    source = catalogue.until(
        SOURCES, name, lambda one: state(one) == "Ready" and condition(one, "Syncing") == ("False", "SyncComplete")
    )
    assert condition(source, "FiltersReady") == ("True", "AllFiltersSucceeded")
    assert condition(source, "RegistryReachable") == ("True", "Reachable")
    assert condition(source, "MaxModelsLimitReached") == ("False", "WithinLimit")
    assert source["status"]["availableModels"] == 2
    assert source["status"]["discoveredModels"] == 2
    assert source["status"]["lastSyncTime"]
    assert images_of(catalogue, name) == {"aim-a:1.1.0", "aim-a:2.0.0-rc1"}
    (model, _) = models_of(catalogue, name)
    assert model["metadata"]["annotations"]["aim.eai.amd.com/source-registry"] == open_registry
    assert model["metadata"]["labels"]["aim.eai.amd.com/cluster-model-source.name"] == name
    catalogue.until_state(MODELS, model["metadata"]["name"], "Ready")

    catalogue.delete(MODELS, model["metadata"]["name"])
    catalogue.wait(lambda: len(images_of(catalogue, name)) == 2, "a deleted model that still fits comes again")

    catalogue.delete(SOURCES, name)
    catalogue.wait(lambda: not models_of(catalogue, name), "its models go with the source")


def test_a_filter_that_fails_does_not_touch_the_others(catalogue: Catalogue, open_registry: str, shelf: str) -> None:
    name = f"source-{catalogue.unique}"
    filters = [{"image": f"{shelf}/aim-a"}, {"image": "127.0.0.1:9/acme/aim"}]
    catalogue.apply(SOURCES, name, {"registry": open_registry, "filters": filters, **NOW_AND_THEN})
    source = catalogue.until_state(SOURCES, name, "Degraded")
    assert condition(source, "FiltersReady") == ("False", "SomeFiltersFailed")
    assert message(source, "FiltersReady").startswith('1 of 2 filters had errors: "127.0.0.1:9/acme/aim": ')
    assert condition(source, "RegistryReachable") == ("False", "RegistryUnreachable")
    assert condition(source, "Ready") == ("False", "SomeFiltersFailed")
    assert len(images_of(catalogue, name)) == 3

    catalogue.change(SOURCES, name, {"filters": [{"image": "127.0.0.1:9/acme/aim"}]})
    failed = catalogue.until_state(SOURCES, name, "Failed")
    assert condition(failed, "FiltersReady") == ("False", "AllFiltersFailed")
    assert failed["status"]["lastSyncTime"] >= source["status"]["lastSyncTime"]
    assert len(images_of(catalogue, name)) == 3


def test_no_more_models_than_allowed(catalogue: Catalogue, open_registry: str, shelf: str) -> None:
    name = f"source-{catalogue.unique}"
    spec = {"registry": open_registry, "filters": [{"image": f"{shelf}/*"}], "maxModels": 4, **NOW_AND_THEN}
    catalogue.apply(SOURCES, name, spec)
    source = catalogue.until(SOURCES, name, lambda one: one.get("status", {}).get("modelsLimitReached") is True)
    assert (source["status"]["discoveredModels"], source["status"]["availableModels"]) == (4, 6)
    assert condition(source, "MaxModelsLimitReached") == ("True", "LimitReached")
    assert message(source, "MaxModelsLimitReached") == "Limit reached: 4 created, 6 available"
    catalogue.wait(lambda: len(images_of(catalogue, name)) == 4, "four models")


def test_a_source_takes_over_what_another_one_leaves(catalogue: Catalogue, open_registry: str, shelf: str) -> None:
    first, second = f"first-{catalogue.unique}", f"second-{catalogue.unique}"
    spec = {"registry": open_registry, "filters": [{"image": f"{shelf}/aim-a:1.0.0"}]}
    catalogue.apply(SOURCES, first, spec)
    catalogue.wait(lambda: len(models_of(catalogue, first)) == 1, "the first has it")
    catalogue.apply(SOURCES, second, spec)
    source = catalogue.until_state(SOURCES, second, "Ready")
    assert (source["status"]["discoveredModels"], source["status"]["availableModels"]) == (0, 1)
    catalogue.delete(SOURCES, first)
    catalogue.wait(lambda: len(models_of(catalogue, second)) == 1, "the second has it now")
