"""Which model a service serves, when one is made for it, and what it says meanwhile."""

from typing import Any

import pytest
from tests.controllers.services.cast import MODEL_REF, look, model, running, service, template
from tests.controllers.world import NAMESPACE

from aim_engine.core import naming
from aim_engine.objects import Manifest

IMAGE = "registry.example/org/aim-tiny:0.1"
OF_IMAGE = str(naming.model_of_image(IMAGE))
BASE = "registry.example/org/aim-base:0.9"
WEIGHTS = {"modelId": "acme/tiny", "sourceUri": "s3://bucket/tiny", "size": "1Gi"}
ONE_GPU = {"gpu": {"requests": 1, "model": "MI300X", "resourceName": "amd.com/gpu"}}
CUSTOM = {"baseImage": BASE, "modelSources": [WEIGHTS], "hardware": ONE_GPU}


def custom_model(name: str = "theirs", **changes: Any) -> Manifest:
    wanted = {"image": BASE, "modelSources": [WEIGHTS], "custom": {"hardware": ONE_GPU}, **changes}
    return model("Ready", name, **wanted)


@pytest.mark.parametrize(
    ("word", "told", "message", "overall"),
    [
        pytest.param("Ready", "True/ModelResolved", "AIMModel tiny is ready", "Pending", id="ready"),
        pytest.param("Pending", "False/ModelNotReady", "AIMModel tiny is not ready yet", "Pending", id="pending"),
        pytest.param(
            "Progressing", "False/ModelNotReady", "AIMModel tiny is not ready yet", "Pending", id="on its way"
        ),
        pytest.param("Failed", "False/ModelNotReady", "AIMModel tiny is in failed state", "Failed", id="failed"),
        pytest.param("Degraded", "False/ModelNotReady", "AIMModel tiny is in failed state", "Failed", id="degraded"),
        pytest.param(
            "NotAvailable", "False/ModelNotReady", "AIMModel tiny status: NotAvailable", "Pending", id="not available"
        ),
        pytest.param(None, "False/ModelNotReady", "AIMModel tiny status:", "Pending", id="no status yet"),
    ],
)
async def test_the_state_of_a_model_is_told(word: str | None, told: str, message: str, overall: str) -> None:
    seen = await look(service(), model(word))
    assert (seen.condition("ModelReady"), seen.message("ModelReady"), seen.word) == (told, message, overall)
    assert ("resolvedModel" in seen.status) == (word == "Ready")


async def test_a_missing_model_fails_the_service_and_nothing_is_applied_not_even_a_route() -> None:
    seen = await look(service(routing={"enabled": True, "gatewayRef": {"name": "g"}}))
    assert seen.condition("ModelReady") == "False/ModelNotFound"
    assert seen.message("ModelReady") == f'model "tiny" not found in namespace {NAMESPACE} or cluster scope'
    assert seen.condition("ConfigValid") == "False/ReferenceNotFound"
    assert (seen.word, seen.may_apply, seen.made) == ("Failed", False, [])


@pytest.mark.parametrize(
    ("wanted", "models", "scope"),
    [
        pytest.param({"name": " tiny "}, [model()], "Namespace", id="by name, trimmed"),
        pytest.param({"ref": "tiny"}, [model()], "Namespace", id="by the other spelling of name"),
        pytest.param({"name": "tiny"}, [model(everywhere=True)], "Cluster", id="the cluster's if there is no other"),
        pytest.param({"name": "tiny"}, [model(), model(everywhere=True)], "Namespace", id="the namespace's first"),
        pytest.param({"image": IMAGE}, [model(image=IMAGE)], "Namespace", id="by image"),
        pytest.param({"image": f" {IMAGE} "}, [model(image=IMAGE)], "Namespace", id="by image, trimmed"),
        pytest.param({"image": IMAGE}, [model(image=IMAGE, everywhere=True)], "Cluster", id="by image in the cluster"),
        pytest.param(
            {"image": IMAGE},
            [model(image=IMAGE), model("Ready", "b", image=IMAGE, everywhere=True)],
            "Namespace",
            id="by image, the namespace's before the cluster's",
        ),
        pytest.param(
            {"image": IMAGE},
            [model(image=IMAGE), custom_model(image=IMAGE)],
            "Namespace",
            id="by image, not a custom model on that image",
        ),
    ],
)
async def test_a_model_is_found(wanted: Manifest, models: list[Manifest], scope: str) -> None:
    seen = await look(service(model=wanted), *models)
    found = seen.status["resolvedModel"]
    assert (found["name"], found["scope"]) == ("tiny", scope)
    assert (found["kind"], found.get("namespace", "")) == (
        ("AIMModel", NAMESPACE) if scope == "Namespace" else ("AIMClusterModel", "")
    )
    assert not [made for made in seen.made if made.startswith("AIMModel")]


@pytest.mark.parametrize(
    ("models", "listed"),
    [
        pytest.param(
            [model("Ready", "b", image=IMAGE), model("Failed", "a", image=IMAGE)],
            f"{NAMESPACE}/a (namespace), {NAMESPACE}/b (namespace)",
            id="two of the namespace, ready or not",
        ),
        pytest.param(
            [model("Ready", "b", image=IMAGE, everywhere=True), model("Ready", "a", image=IMAGE, everywhere=True)],
            "a (cluster), b (cluster)",
            id="two of the cluster",
        ),
    ],
)
async def test_an_image_with_two_models_is_ambiguous(models: list[Manifest], listed: str) -> None:
    seen = await look(service(model={"image": IMAGE}), *models)
    assert seen.condition("ModelReady") == "False/MultipleModelsFound"
    assert seen.message("ModelReady") == f'multiple models found with the same image with image "{IMAGE}": {listed}'
    assert (seen.word, seen.condition("ConfigValid"), seen.made) == ("Failed", "False/InvalidSpec", [])


async def test_a_model_found_before_is_kept_while_it_is_ready_whatever_else_appears() -> None:
    wanted = service(model={"image": IMAGE}, status=running())
    seen = await look(wanted, model(image=IMAGE), model("Ready", "second", image=IMAGE), template())
    assert seen.condition("ModelReady") == "True/ModelResolved"
    again = await look(wanted, model("Failed", image=IMAGE), model("Ready", "second", image=IMAGE), template())
    assert again.condition("ModelReady") == "False/MultipleModelsFound", "it is not ready, so the search begins anew"
    assert again.status["resolvedModel"]["uid"] == MODEL_REF["uid"], "never cleared, only replaced"


async def test_a_model_is_made_for_an_image_that_has_none() -> None:
    wanted = service(
        model={"image": IMAGE},
        runtimeConfigName="default",
        imagePullSecrets=[{"name": "registry"}],
        serviceAccountName="puller",
        env=[{"name": "HF_TOKEN", "value": "t"}],
    )
    seen = await look(wanted)
    assert seen.condition("ModelReady") == "False/CreatingModel"
    assert seen.message("ModelReady") == f"Model will be created for image {IMAGE}"
    assert (seen.word, seen.made) == ("Pending", [f"AIMModel {OF_IMAGE}"])
    made = seen.manifest("AIMModel")
    assert made["spec"] == {
        "image": IMAGE,
        "runtimeConfigName": "default",
        "imagePullSecrets": [{"name": "registry"}],
        "serviceAccountName": "puller",
    }
    assert "ownerReferences" not in made["metadata"], "it outlives the service"
    assert made["metadata"]["labels"]["aim.eai.amd.com/origin"] == "auto-generated"
    assert made["metadata"]["labels"]["aim.eai.amd.com/service.name"] == "chat"


async def test_a_model_is_made_for_weights_that_have_none() -> None:
    env = [{"name": "AWS_REGION", "value": "eu"}]
    seen = await look(service(model={"custom": CUSTOM}, env=env))
    name = naming.custom_model(BASE, [])
    assert seen.message("ModelReady") == "Custom model will be created for acme/tiny"
    made = seen.manifest("AIMModel")
    assert made["spec"] == {"image": BASE, "modelSources": [WEIGHTS], "custom": {"hardware": ONE_GPU}, "env": env}
    labels = made["metadata"]["labels"]
    assert (labels["aim.eai.amd.com/custom-model"], labels["aim.eai.amd.com/service"]) == ("true", "chat")
    assert made["metadata"]["name"].startswith("acme-tiny-")
    assert made["metadata"]["name"] != name


@pytest.mark.parametrize(
    ("changes", "is_taken"),
    [
        pytest.param({}, True, id="the same in all that counts"),
        pytest.param({"modelSources": [{**WEIGHTS, "size": "2Gi"}]}, True, id="another size"),
        pytest.param(
            {"modelSources": [{**WEIGHTS, "env": [{"name": "HF_TOKEN", "value": "t"}]}]}, True, id="other variables"
        ),
        pytest.param(
            {"custom": {"hardware": {"gpu": {"requests": 1, "model": "MI300X"}}}}, True, id="defaults left out"
        ),
        pytest.param({"image": "registry.example/org/aim-base:1.0"}, False, id="another image"),
        pytest.param({"modelSources": [{**WEIGHTS, "sourceUri": "s3://bucket/other"}]}, False, id="another source"),
        pytest.param(
            {"modelSources": [{**WEIGHTS, "env": [{"name": "AWS_ENDPOINT_URL", "value": "http://minio"}]}]},
            False,
            id="another store",
        ),
        pytest.param({"custom": {"hardware": {"gpu": {"requests": 2, "model": "MI300X"}}}}, False, id="more GPUs"),
        pytest.param(
            {"custom": {"hardware": {**ONE_GPU, "cpu": {"requests": "4"}}}}, False, id="CPU cores beside the GPU"
        ),
    ],
)
async def test_a_custom_model_is_shared_by_who_wants_the_same(changes: Manifest, is_taken: bool) -> None:
    seen = await look(service(model={"custom": CUSTOM}), custom_model(**changes))
    assert bool(seen.made) != is_taken
    assert ("resolvedModel" in seen.status) == is_taken


async def test_quantities_of_hardware_are_compared_by_value() -> None:
    wanted = {**CUSTOM, "hardware": {"gpu": {"requests": 1, "minVram": "192Gi"}, "cpu": {"requests": "500m"}}}
    same = {"gpu": {"requests": 1, "minVram": str(192 * 1024**3)}, "cpu": {"requests": "0.5"}}
    assert (await look(service(model={"custom": wanted}), custom_model(custom={"hardware": same}))).made == []


async def test_the_first_custom_model_by_name_is_taken() -> None:
    seen = await look(service(model={"custom": CUSTOM}), custom_model("b"), custom_model("a"))
    assert seen.status["resolvedModel"]["name"] == "a"


async def test_a_custom_model_with_other_hardware_gets_a_name_of_its_own() -> None:
    plain = (await look(service(model={"custom": CUSTOM}))).manifest("AIMModel")["metadata"]["name"]
    other = custom_model(plain, custom={"hardware": {"gpu": {"requests": 8}}})
    beside = (await look(service(model={"custom": CUSTOM}), other)).manifest("AIMModel")["metadata"]["name"]
    assert beside.startswith("acme-tiny-")
    assert beside != plain


async def test_a_model_that_holds_the_name_of_the_one_to_be_made_is_named() -> None:
    seen = await look(service(model={"image": IMAGE}), model(name=OF_IMAGE, image="registry.example/org/aim-tiny:0.2"))
    assert (seen.condition("ModelReady"), seen.word, seen.made) == ("False/NameConflict", "Failed", [])
    assert seen.message("ModelReady") == (
        f"AIMModel {OF_IMAGE} has the name of the model for {IMAGE}, but is another; undo its changes or delete it"
    )


async def test_weights_whose_names_are_all_held_are_told_by_whom() -> None:
    wanted, holders, name = service(model={"custom": CUSTOM}), list[Manifest](), ""
    for gpus in (7, 8):
        name = (await look(wanted, *holders)).manifest("AIMModel")["metadata"]["name"]
        holders.append(custom_model(name, custom={"hardware": {"gpu": {"requests": gpus}}}))
    seen = await look(wanted, *holders)
    assert seen.condition("ModelReady") == "False/NameConflict"
    assert seen.message("ModelReady").startswith(f"AIMModel {name} has the name of the model for these weights, but is")


@pytest.mark.parametrize(
    "image", ["registry.example/tiny:", "registry.example/tiny@sha256", "registry.example/tiny@", ":1.0", " "]
)
async def test_an_image_that_cannot_be_read_fails_the_service(image: str) -> None:
    seen = await look(service(model={"image": image}))
    assert seen.condition("ModelReady") == "False/InvalidImageReference"
    assert seen.message("ModelReady").startswith(f'invalid image URI "{image.strip()}": ')
    assert (seen.word, seen.made) == ("Failed", [])


async def test_a_blank_name_is_no_model() -> None:
    seen = await look(service(model={"name": " "}))
    assert seen.condition("ModelReady") == "False/ModelNotFound"
    assert (seen.message("ModelReady"), seen.word) == ("No model found for service", "Pending")


async def test_the_default_template_of_a_model_counts_like_a_name_if_it_exists() -> None:
    choosy = model(defaultServiceTemplate="slow")
    plain = template(name="slow", profile={"type": "unoptimized"})
    seen = await look(service(), choosy, template(), plain)
    assert seen.status["resolvedTemplate"]["name"] == "slow"
    without = await look(service(), choosy, template())
    assert without.status["resolvedTemplate"]["name"] == "fast"
