"""What image labels say, and the templates they recommend."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.image_metadata import ImageMetadata, RecommendedDeployment
from aim_engine.core import metadata, recommendations
from aim_engine.core.metadata import Malformed
from aim_engine.objects import Manifest

DEPLOYMENT = {
    "gpuModel": "MI300X",
    "gpuCount": 1,
    "precision": "fp8",
    "metric": "latency",
    "profileId": "vllm-mi300x-fp8-tp1-latency",
    "description": "single GPU",
}
LABEL = "com.amd.aim.model.recommendedDeployments"


def seen(labels: dict[str, str]) -> Manifest:
    result = metadata.of_labels(labels)
    assert isinstance(result, ImageMetadata), result
    return msgspec.json.decode(msgspec.json.encode(result))


def test_every_label_has_its_field() -> None:
    labels = {
        "com.amd.aim.model.canonicalName": "meta-llama/Llama-3.1-8B",
        "com.amd.aim.model.source": "https://hub",
        "com.amd.aim.model.tags": "chat, text ,,",
        "com.amd.aim.model.versions": "1,2",
        "com.amd.aim.model.variants": "base",
        "com.amd.aim.hfToken.required": "true",
        "com.amd.aim.title": "Llama",
        "com.amd.aim.description.full": "long",
        "com.amd.aim.release.notes": "new",
        LABEL: json.dumps([DEPLOYMENT]),
        "org.opencontainers.image.title": "t",
        "org.opencontainers.image.licenses": "MIT",
        "unrelated": "x",
    }
    assert seen(labels) == {
        "model": {
            "canonicalName": "meta-llama/Llama-3.1-8B",
            "source": "https://hub",
            "tags": ["chat", "text"],
            "versions": ["1", "2"],
            "variants": ["base"],
            "hfTokenRequired": True,
            "title": "Llama",
            "descriptionFull": "long",
            "releaseNotes": "new",
            "recommendedDeployments": [DEPLOYMENT],
        },
        "oci": {"title": "t", "licenses": "MIT"},
        "originalLabels": labels,
    }


def test_an_image_without_labels_is_fine() -> None:
    assert seen({}) == {"model": {}, "oci": {}}


def test_the_present_prefix_wins_per_label_and_an_empty_one_does_not_count() -> None:
    labels = {
        "com.amd.aim.title": "new",
        "org.amd.silogen.title": "old",
        "com.amd.aim.model.source": "",
        "org.amd.silogen.model.source": "old source",
    }
    assert seen(labels)["model"] == {"title": "new", "source": "old source"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", True), ("t", True), ("TRUE", True), ("0", False), ("False", False), ("yes", None), ("", None)],
)
def test_whether_a_token_is_needed(text: str, expected: bool | None) -> None:
    model = seen({"com.amd.aim.hfToken.required": text})["model"]
    assert model.get("hfTokenRequired") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(json.dumps([DEPLOYMENT]), [DEPLOYMENT], id="a JSON array"),
        pytest.param(json.dumps(DEPLOYMENT), [DEPLOYMENT], id="one object without brackets"),
        pytest.param(
            '{"gpuModel":"A"},{"gpuModel":"B"}', [{"gpuModel": "A"}, {"gpuModel": "B"}], id="objects without brackets"
        ),
        pytest.param("[{'gpuModel': 'A', 'gpuCount': 2}]", [{"gpuModel": "A", "gpuCount": 2}], id="Python's quotes"),
        pytest.param(
            "{'gpuModel': 'A'}, {'gpuCount': 2}",
            [{"gpuModel": "A"}, {"gpuCount": 2}],
            id="Python's quotes without brackets",
        ),
        pytest.param(
            '[{"description": "the model\'s best"}]',
            [{"description": "the model's best"}],
            id="an apostrophe in JSON survives",
        ),
        pytest.param(
            "[{'description': \"the model's best\"}]",
            [{"description": "the model's best"}],
            id="an apostrophe in Python survives",
        ),
        pytest.param(
            "[{'gpuModel': 'A', 'metric': null}]", [{"gpuModel": "A"}], id="Python's quotes around JSON's words"
        ),
        pytest.param(
            '[{"GPUMODEL": "A", "gpucount": 2, "extra": 1}]',
            [{"gpuModel": "A", "gpuCount": 2}],
            id="keys in any case, unknown ones ignored",
        ),
        pytest.param(
            '[{"gpuCount": "2", "precision": 8}]',
            [{"gpuCount": 2, "precision": "8"}],
            id="numbers as texts and texts as numbers",
        ),
        pytest.param("[]", [], id="none"),
        pytest.param("  ", [], id="blank"),
    ],
)
def test_recommended_deployments(text: str, expected: list[Manifest]) -> None:
    assert seen({LABEL: text})["model"].get("recommendedDeployments", []) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("oops", "label model.recommendedDeployments is no JSON array of deployments: oops", id="no JSON"),
        pytest.param(
            '[{"gpuModel": "A"',
            'label model.recommendedDeployments is no JSON array of deployments: [{"gpuModel": "A"',
            id="cut off",
        ),
        pytest.param('["A"]', "label model.recommendedDeployments: entry 0 is a text, not an object", id="no object"),
        pytest.param(
            '[{}, {"gpuCount": "many"}]',
            "label model.recommendedDeployments: entry 1: Expected `int | null`, got `str` - at `$.gpuCount`",
            id="no number",
        ),
        pytest.param(
            '[{"gpuCount": -1}]',
            "label model.recommendedDeployments: entry 0: gpuCount is -1, which is no number of GPUs",
            id="negative",
        ),
        pytest.param(
            '[{"metric": {}}]',
            "label model.recommendedDeployments: entry 0: Expected `str | null`, got `object` - at `$.metric`",
            id="an object for a text",
        ),
    ],
)
def test_malformed_deployments_fail_the_whole_extraction(text: str, message: str) -> None:
    assert metadata.of_labels({LABEL: text, "com.amd.aim.title": "t"}) == Malformed(message)


DEPLOYMENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "gpuModel": st.text(min_size=1, max_size=10),
            "gpuCount": st.integers(0, 64),
            "precision": st.sampled_from(["fp8", "fp16"]),
            "metric": st.sampled_from(["latency", "throughput"]),
            "profileId": st.text(min_size=1, max_size=10),
            "description": st.text(min_size=1, max_size=30),
        },
    ),
    max_size=3,
)


@given(DEPLOYMENTS)
def test_deployments_are_found_again_in_every_form_that_images_have(written: list[Manifest]) -> None:
    whole = json.dumps(written)
    for text in (whole, whole[1:-1], json.dumps(written, ensure_ascii=False), repr(written)):
        read = metadata.recommended_deployments(text)
        assert not isinstance(read, Malformed), text
        assert [{key: value for key, value in one.items() if value is not None} for one in map(plain, read)] == written


def plain(deployment: RecommendedDeployment) -> Manifest:
    return msgspec.to_builtins(deployment)


@given(st.text(max_size=100))
def test_any_label_is_read_or_refused(text: str) -> None:
    assert isinstance(metadata.recommended_deployments(text), tuple | Malformed)


@pytest.mark.parametrize("text", ["[" * 100_000, "{'a':" * 5000, "-" * 200_000 + "1"])
def test_endless_labels_are_refused(text: str) -> None:
    assert isinstance(metadata.recommended_deployments(text), Malformed)


IMAGE = "ghcr.io/acme/aim-llama-3-8b:1.2.0"


def deployment(**changes: object) -> RecommendedDeployment:
    return msgspec.convert({**DEPLOYMENT, **changes}, RecommendedDeployment)


def test_a_deployment_becomes_a_template() -> None:
    made = recommendations.templates("llama-3-8b", IMAGE, [deployment()])
    gpu = {"requests": 1, "model": "MI300X"}
    assert msgspec.to_builtins(made.templates[0]) == {
        "name": "ghcr-io-acme-aim-llama-3-8b-1-2-0-1x-mi300x-lat-fp8-05c7",
        "parameters": {"metric": "latency", "precision": "fp8", "gpu": gpu, "hardware": {"gpu": gpu}},
        "profile_id": "vllm-mi300x-fp8-tp1-latency",
    }
    assert made.remarks == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"gpuModel": None}, id="a count without a model"),
        pytest.param({"gpuCount": 0}, id="a model without a count"),
        pytest.param({"gpuCount": -1}, id="a count below zero"),
    ],
)
def test_hardware_needs_a_model_and_a_count(changes: Manifest) -> None:
    parameters = recommendations.templates("m", IMAGE, [deployment(**changes)]).templates[0].parameters
    assert parameters.hardware is None and parameters.gpu is None


def test_deployments_that_differ_in_their_profile_alone_keep_apart_and_equal_ones_are_one() -> None:
    entries = [
        deployment(),
        deployment(profileId="other"),
        deployment(description="again"),
        deployment(profileId="other"),
    ]
    made = recommendations.templates("m", IMAGE, entries).templates
    assert [template.profile_id for template in made] == ["vllm-mi300x-fp8-tp1-latency", "other"]
    assert made[0].name != made[1].name


def test_a_deployment_that_only_lacks_the_profile_of_an_earlier_one_is_told() -> None:
    made = recommendations.templates("m", IMAGE, [deployment(), deployment(profileId=None)])
    assert len(made.templates) == 1
    assert made.remarks == ("recommendedDeployments[1] needs a profileId that tells it from an earlier one",)


def test_a_gpu_model_that_is_too_long_for_the_api_is_passed_over_and_told() -> None:
    made = recommendations.templates("m", IMAGE, [deployment(gpuModel="M" * 65), deployment(gpuModel="M" * 64)])
    assert len(made.templates) == 1
    assert made.remarks == ("recommendedDeployments[0].gpuModel is longer than 64 characters",)


def test_words_the_api_does_not_know_are_passed_over_and_told() -> None:
    made = recommendations.templates(
        "m", IMAGE, [deployment(metric="speed"), deployment(precision="fp6"), deployment()]
    )
    assert len(made.templates) == 1
    assert made.remarks == (
        "recommendedDeployments[0].metric 'speed' is none of latency, throughput",
        "recommendedDeployments[1].precision 'fp6' is none of auto, fp4, fp8, fp16, fp32, bf16, int4, int8",
    )
