"""What keeps pods from running is told on the service, in the words of whoever knows it best."""

from typing import Any

import pytest
from tests.cluster.services.stage import IMAGE, Stage, condition, word

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve")


def message(item: Any) -> str:
    return condition(item, "InferenceServicePodsReady").get("message", "")


def test_pods_without_gpus_tell_how_many_they_need_and_how_many_are_free(stage: Stage) -> None:
    stage.model()
    stage.ready_template(hardware={"gpu": {"requests": 64, "model": "MI300X"}})
    stage.service()
    seen = stage.told("InferenceServicePodsReady", "FailedScheduling")
    assert word(seen) == "Pending"
    assert "Insufficient amd.com/gpu" in message(seen)
    assert ": needs 64 amd.com/gpu on one node, free are " in message(seen)
    assert " of 8 on " in message(seen)


def test_pods_that_a_quota_forbids_are_told_of(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service("before", caching={"mode": "Shared"})
    stage.supplied("before")
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    stage.server.call("POST", stage.path("resourcequotas"), quota)
    stage.until("resourcequotas", "few", lambda one: one.get("status", {}).get("used", {}).get("pods") == "1")
    stage.service("one-too-many", caching={"mode": "Shared"})
    stage.until("aimservices", "one-too-many", lambda one: "exceeded quota: few" in told_anywhere(one))


def told_anywhere(item: Any) -> str:
    return " ".join(one["message"] for one in item.get("status", {}).get("conditions", []))


@pytest.mark.parametrize(
    ("image", "reason", "told", "overall"),
    [
        pytest.param(
            "registry.local/nothing/known:1", "ImageNotFound", "nothing/known", "Failed", id="an image nobody has"
        ),
        pytest.param(
            "registry.local/catalogue/broken:1",
            "PodsStarting",
            "ended with exit code 3 and is started again",
            "Starting",
            id="an image whose program ends",
        ),
    ],
)
def test_images_that_do_not_serve(stage: Stage, image: str, reason: str, told: str, overall: str) -> None:
    stage.model(image=image)
    stage.ready_template()
    stage.service()
    seen = stage.until(
        "aimservices",
        "chat",
        lambda one: condition(one, "InferenceServicePodsReady").get("reason") == reason and told in message(one),
    )
    assert word(seen) == overall
    stage.change("aimmodels", "tiny", {"spec": {"image": IMAGE}})
    name = stage.served()["metadata"]["name"]
    stage.until(
        "inferenceservices", name, lambda one: one["spec"]["predictor"]["containers"][0]["image"] == IMAGE
    )  # what is wrong below never keeps a repair from being applied
