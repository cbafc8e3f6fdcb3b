"""What stays of a service and what goes, in whatever order things are deleted; and nothing ever hangs."""

import itertools

import pytest
from tests.cluster.services.stage import SIMULATED, Stage, word

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve")


def test_a_service_takes_its_own_along_and_leaves_what_others_may_use(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service("shared", caching={"mode": "Shared"})
    stage.supplied("shared")  # else a shared cache may take up what the other service fetches first
    stage.service("own", caching={"mode": "Dedicated"})
    stage.supplied("own")
    for name in ("shared", "own"):
        stage.delete("aimservices", name)
        stage.gone("aimservices", name)
    stage.server.wait_until(stage.path("inferenceservices"), lambda found: found["items"] == [])
    stage.server.wait_until(stage.path("aimtemplatecaches"), lambda found: len(found["items"]) == 1)
    (left,) = stage.all("aimtemplatecaches")
    assert (left["spec"]["mode"], word(left)) == ("Shared", "Ready")
    stage.server.wait_until(stage.path("aimartifacts"), lambda found: len(found["items"]) == 1)


def test_a_cache_that_is_not_done_goes_with_its_service_unless_another_needs_it(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    hanging = [{"name": "AIM_DEBUG_CAUSE_HANG", "value": "1"}]
    stage.service("one", env=hanging, caching={"mode": "Shared"})
    stage.told("CacheReady", "CacheNotReady", "one")
    stage.service("two", env=hanging, caching={"mode": "Shared"})
    stage.told("CacheReady", "CacheNotReady", "two")
    (cache,) = stage.names("aimtemplatecaches")
    stage.delete("aimservices", "one")
    stage.gone("aimservices", "one")
    assert stage.names("aimtemplatecaches") == [cache]


def test_a_service_of_the_same_name_begins_anew(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    names = set[str]()
    for _ in range(2):
        stage.service()
        stage.supplied()
        names |= set(stage.names("aimtemplatecaches"))
        stage.delete("aimservices", "chat")
        stage.gone("aimservices", "chat")
        stage.server.wait_until(stage.path("aimtemplatecaches"), lambda found: found["items"] == [])
    assert len(names) == 2


def test_things_are_deleted_in_any_order_and_all_of_them_go(stage: Stage) -> None:
    stage.model()
    parts = ("aimservices", "aimservicetemplates", "aimtemplatecaches")
    orders = {"-".join(kind[3] + kind[10:11] for kind in order): order for order in itertools.permutations(parts)}
    for name in orders:
        stage.ready_template(name)
        stage.service(name, template={"name": name}, caching={"mode": "Shared"})
    for name in orders:
        stage.told("CacheReady", "CacheReady", name)
    caches = {one["spec"]["templateName"]: one["metadata"]["name"] for one in stage.all("aimtemplatecaches")}
    for name, order in orders.items():
        for kind in order:
            code, answer = stage.server.request(
                "DELETE", stage.path(kind, caches[name] if kind == "aimtemplatecaches" else name)
            )
            assert code in (200, 404), answer
    for name in orders:
        stage.gone("aimservices", name)
        stage.gone("aimservicetemplates", name)
    stage.server.wait_until(stage.path("inferenceservices"), lambda found: found["items"] == [])


def test_a_namespace_with_everything_in_it_goes(stage: Stage) -> None:
    name = f"{stage.namespace}-x"
    stage.server.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    stage.server.wait_for(f"/api/v1/namespaces/{name}/serviceaccounts/default")
    inner = Stage(stage.server, name)
    inner.model()
    inner.ready_template()
    routing = {"enabled": True, "gatewayRef": {"name": "none"}}
    inner.service("shared", caching={"mode": "Shared"}, routing=routing)
    inner.service("own", overrides={"hardware": {"cpu": {"requests": "50m"}}})
    inner.service("hanging", env=[*SIMULATED, {"name": "AIM_DEBUG_CAUSE_HANG", "value": "1"}])
    inner.service("failing", model={"name": "none"})
    inner.told("CacheReady", "CacheReady", "shared")
    stage.server.call("DELETE", f"/api/v1/namespaces/{name}")
    stage.server.wait_until(
        "/api/v1/namespaces", lambda found: name not in [one["metadata"]["name"] for one in found["items"]]
    )
