"""Models on the real API server, with a real registry and discovery Jobs that run for real."""

import pytest
from tests.cluster.catalogue.words import Catalogue, condition, message, state
from tests.registry import servers

pytestmark = pytest.mark.usefixtures("node")

MODELS, TEMPLATES = "aimmodels", "aimservicetemplates"
CLUSTER_MODELS, CLUSTER_TEMPLATES = "aimclustermodels", "aimclusterservicetemplates"


def templates_of(catalogue: Catalogue, model: str, plural: str = TEMPLATES) -> dict[str, str]:
    """States of the templates of a model, by their GPU."""
    found = [one for one in catalogue.all(plural) if one.get("spec", {}).get("modelName") == model]
    return {one["spec"]["hardware"]["gpu"]["model"]: state(one) for one in found}


def test_an_image_becomes_a_model_with_templates(catalogue: Catalogue, open_registry: str) -> None:
    catalogue.apply(MODELS, "tiny", {"image": f"{open_registry}/catalogue/tiny:1.0.0"}, labels={"team": "a"})
    model = catalogue.until_state(MODELS, "tiny", "Ready")
    assert model["status"]["sourceType"] == "Image"
    assert model["status"]["imageMetadata"]["model"]["canonicalName"] == "acme/tiny-chat"
    assert condition(model, "ImageMetadataReady") == ("True", "ImageFound")
    assert condition(model, "ServiceTemplatesReady") == ("True", "SomeTemplatesReady")
    assert condition(model, "Ready") == ("True", "AllComponentsReady")
    assert templates_of(catalogue, "tiny") == {"MI300X": "Ready", "MI355X": "NotAvailable"}

    template = next(one for one in catalogue.all(TEMPLATES) if state(one) == "Ready")
    assert template["metadata"]["labels"]["aim.eai.amd.com/model"] == "tiny"
    assert template["metadata"]["labels"]["aim.eai.amd.com/origin"] == "auto-generated"
    assert template["metadata"]["labels"]["aim.eai.amd.com/model.name"] == "tiny"
    assert template["spec"]["profileId"] == "p-1"
    status = template["status"]
    assert status["hardwareSummary"] == "1 x MI300X"
    assert status["modelSources"] == [
        {"modelId": "acme/tiny-chat-fp8", "sourceUri": "hf://acme/tiny-chat-fp8", "size": "512Mi"}
    ]
    assert status["profile"]["engine_args"] == {"tensor-parallel-size": 1}
    assert status["profile"]["metadata"]["type"] == "optimized"
    (term,) = status["resolvedNodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["74a1", "74a9", "74b5", "74bd"]
    assert condition(template, "Discovered") == ("True", "DiscoveryComplete")


def test_another_image_is_read_anew_and_old_templates_stay(catalogue: Catalogue, open_registry: str) -> None:
    catalogue.apply(MODELS, "tiny", {"image": f"{open_registry}/catalogue/tiny:1.0.0"})
    catalogue.until_state(MODELS, "tiny", "Ready")
    catalogue.change(MODELS, "tiny", {"image": f"{open_registry}/catalogue/tiny:2.0.0"})
    catalogue.until(
        MODELS,
        "tiny",
        lambda one: state(one) == "Ready" and one["status"]["inspectedImage"].endswith("tiny:2.0.0"),
    )
    catalogue.wait(lambda: len(catalogue.all(TEMPLATES)) == 3, "two old templates and a new one")


def test_an_image_that_does_not_exist_is_told_and_retried(catalogue: Catalogue, open_registry: str) -> None:
    image = f"{open_registry}/catalogue/nothing:1.0.0"
    catalogue.apply(MODELS, "nothing", {"image": image})
    model = catalogue.until_state(MODELS, "nothing", "Degraded")
    assert condition(model, "ImageMetadataReady") == ("False", "ImageNotFound")
    assert message(model, "ImageMetadataReady").startswith(f'failed to fetch image "{image}": ')
    assert condition(model, "DependenciesReachable") == ("False", "InfrastructureError")
    assert condition(model, "Ready") == ("False", "InfrastructureError")
    catalogue.change(MODELS, "nothing", {"image": f"{open_registry}/catalogue/base:1.0.0"})
    healed = catalogue.until_state(MODELS, "nothing", "Ready")
    assert condition(healed, "ServiceTemplatesReady") == ("True", "NoTemplatesExpected")
    assert condition(healed, "DependenciesReachable") == ("True", "Reachable")


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        pytest.param("{}/catalogue/malformed:1.0.0", "MetadataExtractionFailed", id="a label that is no JSON"),
        pytest.param("127.0.0.1:9/catalogue/tiny:1", "ConnectionRefused", id="a registry that is down"),
        pytest.param("{}/Catalogue/UPPER:1", "MetadataExtractionFailed", id="a name that is none"),
    ],
)
def test_why_an_image_cannot_be_read(catalogue: Catalogue, open_registry: str, image: str, reason: str) -> None:
    catalogue.apply(MODELS, "odd", {"image": image.format(open_registry)})
    model = catalogue.until_state(MODELS, "odd", "Degraded")
    assert condition(model, "ImageMetadataReady") == ("False", reason)
    assert catalogue.all(TEMPLATES) == []


def test_a_registry_with_a_certificate_that_is_not_trusted(catalogue: Catalogue, distrusted_registry: str) -> None:
    catalogue.apply(MODELS, "odd", {"image": f"{distrusted_registry}/catalogue/tiny:1.0.0"})
    model = catalogue.until_state(MODELS, "odd", "Degraded")
    assert condition(model, "ImageMetadataReady") == ("False", "NetworkError")
    assert "is not trusted" in message(model, "ImageMetadataReady")
    assert "AIM_REGISTRY_CA_FILE" in message(model, "ImageMetadataReady")


def test_a_pull_secret_that_is_missing_then_wrong_then_right(catalogue: Catalogue, locked_registry: str) -> None:
    image = f"{locked_registry}/catalogue/tiny:2.0.0"
    catalogue.apply(MODELS, "private", {"image": image, "imagePullSecrets": [{"name": "regcred"}]})
    missing = catalogue.until_state(MODELS, "private", "Failed")
    assert condition(missing, "ImageMetadataReady") == ("False", "SecretNotFound")
    assert condition(missing, "ConfigValid") == ("False", "ReferenceNotFound")
    assert condition(missing, "Ready") == ("False", "ReferenceNotFound")

    catalogue.secret("regcred", {locked_registry: {"username": servers.USER, "password": "wrong"}})
    wrong = catalogue.until(
        MODELS, "private", lambda one: condition(one, "ImageMetadataReady")[1] == "ImagePullAuthFailure"
    )
    assert state(wrong) == "Degraded"
    assert "wrong" not in message(wrong, "ImageMetadataReady")

    path = f"/api/v1/namespaces/{catalogue.namespace}/secrets/regcred"
    catalogue.server.call("DELETE", path)
    catalogue.secret("regcred", {locked_registry: {"username": servers.USER, "password": servers.PASSWORD}})
    right = catalogue.until_state(MODELS, "private", "Ready")
    assert right["status"]["imageMetadata"]["model"]["canonicalName"] == "acme/tiny-chat"
    assert condition(right, "ConfigValid") == ("True", "ConfigurationValid")


def test_the_secrets_of_a_service_account_serve_as_well(catalogue: Catalogue, locked_registry: str) -> None:
    catalogue.secret("robot-secret", {locked_registry: {"username": servers.USER, "password": servers.PASSWORD}})
    accounts = f"/api/v1/namespaces/{catalogue.namespace}/serviceaccounts"
    account = {"metadata": {"name": "robot"}, "imagePullSecrets": [{"name": "robot-secret"}]}
    catalogue.server.call("POST", accounts, account)
    catalogue.apply(
        MODELS, "private", {"image": f"{locked_registry}/catalogue/tiny:2.0.0", "serviceAccountName": "robot"}
    )
    catalogue.until(MODELS, "private", lambda one: "imageMetadata" in one.get("status", {}))


def test_a_custom_model_on_processors(catalogue: Catalogue, open_registry: str) -> None:
    catalogue.apply(
        MODELS,
        "own",
        {
            "image": f"{open_registry}/catalogue/base:1.0.0",
            "modelSources": [{"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1024Mi"}],
            "custom": {"hardware": {"cpu": {"requests": "250m", "limits": "3000m"}}},
        },
    )
    model = catalogue.until_state(MODELS, "own", "Ready")
    assert model["status"]["sourceType"] == "Custom"
    assert condition(model, "ImageMetadataReady") == ("True", "ImageFound")
    (template,) = catalogue.all(TEMPLATES)
    assert template["spec"]["hardware"] == {"cpu": {"requests": "250m", "limits": "3"}}
    assert template["spec"]["resources"] == {"requests": {"cpu": "250m"}, "limits": {"cpu": "3"}}
    assert template["spec"]["type"] == "unoptimized"
    assert condition(template, "Discovered") == ("True", "InlineModelSources")
    assert condition(template, "GPUReady") == ("", "")
    assert template["status"]["hardwareSummary"] == "CPU"
    assert template["status"]["modelSources"][0]["size"] == "1Gi"
    assert catalogue.jobs() == []

    catalogue.change(MODELS, "own", {"custom": {"hardware": {"cpu": {"requests": "1", "limits": None}}}})
    catalogue.wait(
        lambda: [one["spec"]["hardware"] for one in catalogue.all(TEMPLATES)] == [{"cpu": {"requests": "1"}}],
        "hardware that cannot be changed is replaced with its template",
    )
    catalogue.until_state(MODELS, "own", "Ready")


def test_a_custom_model_whose_image_is_missing_has_its_template_all_the_same(
    catalogue: Catalogue, open_registry: str
) -> None:
    catalogue.apply(
        MODELS,
        "own",
        {
            "image": f"{open_registry}/catalogue/nothing:1.0.0",
            "modelSources": [{"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny"}],
            "custom": {"hardware": {"cpu": {"requests": "1"}}},
        },
    )
    catalogue.wait(lambda: [state(one) for one in catalogue.all(TEMPLATES)] == ["Degraded"], "a degraded template")
    (template,) = catalogue.all(TEMPLATES)
    assert condition(template, "ModelReady") == ("False", "ModelFailed")
    model = catalogue.until_state(MODELS, "own", "Degraded")
    assert condition(model, "Ready") == ("False", "InfrastructureError")
    catalogue.change(MODELS, "own", {"image": f"{open_registry}/catalogue/base:1.0.0"})
    catalogue.until_state(MODELS, "own", "Ready")
    catalogue.wait(lambda: [state(one) for one in catalogue.all(TEMPLATES)] == ["Ready"], "it recovers")


def test_twins_of_a_namespace_and_of_the_cluster(catalogue: Catalogue, open_registry: str) -> None:
    name = f"twin-{catalogue.unique}"
    image = f"{open_registry}/catalogue/tiny:2.0.0"
    catalogue.apply(CLUSTER_MODELS, name, {"image": image})
    catalogue.apply(MODELS, name, {"image": image})
    everywhere = catalogue.until_state(CLUSTER_MODELS, name, "Ready")
    assert condition(everywhere, "ClusterServiceTemplatesReady") == ("True", "AllTemplatesReady")
    here = catalogue.until_state(MODELS, name, "Ready")
    assert condition(here, "ServiceTemplatesReady") == ("True", "AllTemplatesReady")
    (template,) = [one for one in catalogue.all(CLUSTER_TEMPLATES) if one.get("spec", {}).get("modelName") == name]
    assert template["status"]["discoveryJob"]["namespace"] == "aim-system"
    assert condition(template, "ClusterModelReady") == ("True", "ClusterModelFound")
    (own,) = catalogue.all(TEMPLATES)
    assert own["status"]["resolvedModel"]["scope"] == "Namespace"
    assert own["status"]["discoveryJob"]["namespace"] == catalogue.namespace


def test_metadata_given_by_hand_asks_no_registry(catalogue: Catalogue) -> None:
    metadata = {"model": {"canonicalName": "acme/hand", "recommendedDeployments": [{"metric": "latency"}]}}
    image = "registry.invalid/catalogue/hand:1"
    catalogue.apply(MODELS, "hand", {"image": image, "imageMetadata": metadata})
    model = catalogue.until_state(MODELS, "hand", "Ready")
    assert condition(model, "ImageMetadataReady") == ("True", "ImageMetadataFound")
    assert len(catalogue.all(TEMPLATES)) == 1


def test_switched_off_nothing_is_looked_for(catalogue: Catalogue) -> None:
    catalogue.apply(MODELS, "off", {"image": "registry.invalid/x:1", "discovery": {"extractMetadata": False}})
    model = catalogue.until_state(MODELS, "off", "Ready")
    assert condition(model, "ServiceTemplatesReady") == ("True", "NoTemplatesExpected")


def test_deleting_a_model_leaves_nothing_behind(catalogue: Catalogue, open_registry: str) -> None:
    catalogue.apply(MODELS, "tiny", {"image": f"{open_registry}/catalogue/tiny:1.0.0"})
    catalogue.until_state(MODELS, "tiny", "Ready")
    assert catalogue.all(TEMPLATES)
    catalogue.delete(MODELS, "tiny")
    catalogue.wait(lambda: not catalogue.all(TEMPLATES) and not catalogue.jobs(), "templates and Jobs are gone")


def test_deleting_a_source_leaves_nothing_behind(catalogue: Catalogue, open_registry: str) -> None:
    source, image = f"source-{catalogue.unique}", "catalogue/tiny:2.0.0"
    catalogue.apply("aimclustermodelsources", source, {"registry": open_registry, "filters": [{"image": image}]})

    def models() -> list[str]:
        found = catalogue.all(CLUSTER_MODELS, f"aim.eai.amd.com/model-source%3D{source}")
        return [one["metadata"]["name"] for one in found]

    catalogue.wait(lambda: len(models()) == 1, "its model")
    (model,) = models()
    catalogue.until_state(CLUSTER_MODELS, model, "Ready")
    templates = templates_named(catalogue, model)
    assert len(templates) == 1
    catalogue.delete("aimclustermodelsources", source)
    catalogue.wait(lambda: not models() and not templates_named(catalogue, model), "models and templates are gone")
    selector = f"labelSelector=aim.eai.amd.com/template%3D{templates[0]}"
    for kind in ("/apis/batch/v1/namespaces/aim-system/jobs", "/api/v1/namespaces/aim-system/pods"):
        catalogue.wait(lambda kind=kind: not catalogue.server.call("GET", f"{kind}?{selector}")["items"], f"no {kind}")


def templates_named(catalogue: Catalogue, model: str) -> list[str]:
    found = [one for one in catalogue.all(CLUSTER_TEMPLATES) if one.get("spec", {}).get("modelName") == model]
    return [one["metadata"]["name"] for one in found]
