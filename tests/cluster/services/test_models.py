"""Services by name, by image and with their own weights, on the real API server, KServe and pods that run."""

import pytest
from tests.cluster.services.stage import CORES, SOURCE, Stage, condition, env_of, owners, word

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve")


def test_an_unknown_model_is_told_and_the_service_runs_when_it_appears(stage: Stage) -> None:
    stage.template()
    stage.service()
    failed = stage.told("ModelReady", "ModelNotFound")
    assert word(failed) == "Failed"
    assert condition(failed, "ModelReady")["message"] == (
        f'model "tiny" not found in namespace {stage.namespace} or cluster scope'
    )
    assert condition(failed, "ConfigValid")["reason"] == "ReferenceNotFound"
    assert stage.until_event("ModelNotFound")[0] == "Warning"
    stage.model()
    healed = stage.running()
    assert condition(healed, "ConfigValid")["status"] == "True"
    assert healed["status"]["resolvedModel"]["name"] == "tiny"
    assert healed["status"]["resolvedTemplate"]["name"] == "fast"
    assert healed["status"]["runtime"]["replicas"] == "1"
    assert healed["status"]["observedGeneration"] == healed["metadata"]["generation"]


def test_services_of_one_image_share_a_model_that_outlives_them(stage: Stage, aim_image: str) -> None:
    for name in ("one", "two"):
        stage.service(name, model={"image": aim_image}, caching={"mode": "Shared"})
    first, second = stage.running("one"), stage.running("two")
    (model,) = stage.names("aimmodels")
    assert model.startswith("tiny-1-0-0-")
    assert first["status"]["resolvedModel"]["name"] == second["status"]["resolvedModel"]["name"] == model
    assert owners(stage.get("aimmodels", model)) == []
    assert stage.get("aimmodels", model)["metadata"]["labels"]["aim.eai.amd.com/origin"] == "auto-generated"
    served = stage.served("one")
    container = served["spec"]["predictor"]["containers"][0]
    assert container["image"] == aim_image
    assert container["resources"]["limits"]["amd.com/gpu"] == "1"
    assert env_of(served)["VLLM_USE_V1"] == "1", "what the profile sets"
    (cache,) = stage.all("aimtemplatecaches")
    assert owners(cache) == []

    for name in ("one", "two"):
        stage.delete("aimservices", name)
        stage.gone("aimservices", name)
    assert stage.names("aimmodels") == [model]
    assert len(stage.all("aimservicetemplates")) == 1
    assert stage.names("aimtemplatecaches") == [cache["metadata"]["name"]]


def test_services_with_their_own_weights(stage: Stage, aim_image: str) -> None:
    custom = {"baseImage": aim_image, "modelSources": [SOURCE], "hardware": CORES}
    unoptimized = {"allowUnoptimized": True}
    stage.service("careful", model={"custom": custom})
    stage.service("brave", model={"custom": custom}, template=unoptimized, caching={"mode": "Shared"})
    running = stage.running("brave")
    (model,) = stage.names("aimmodels")
    assert model.startswith("acme-tiny-")
    labels = stage.get("aimmodels", model)["metadata"]["labels"]
    assert labels["aim.eai.amd.com/custom-model"] == "true"
    assert env_of(stage.served("brave"))["AIM_MODEL_ID"] == "acme/tiny"
    assert running["status"]["resolvedModel"]["name"] == model
    refused = stage.told("TemplateReady", "TemplateNotFound", "careful")
    assert condition(refused, "TemplateReady")["message"].endswith("Set allowUnoptimized to use them.")
    assert word(refused) == "Pending"

    larger = {**custom, "hardware": {"cpu": {"requests": "200m"}}}
    stage.service("larger", model={"custom": larger}, template=unoptimized, caching={"mode": "Shared"})
    stage.supplied("larger")
    assert len(stage.names("aimmodels")) == 2
    assert len(stage.all("aimartifacts")) == 1, "the weights are the same, and fetched once"
