"""Labels of images become metadata, whichever way their authors wrote them."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from aim_engine.api.image_metadata import ImageMetadata, ModelMetadata, RecommendedDeployment
from aim_engine.core import image_labels
from aim_engine.core.image_labels import Malformed

DEPLOYMENTS = "com.amd.aim.model.recommendedDeployments"


def model(labels: dict[str, str]) -> ModelMetadata:
    read = image_labels.read(labels)
    assert isinstance(read, ImageMetadata), read
    assert read.model is not None
    return read.model


def test_all_labels_of_an_image_are_read() -> None:
    labels = {
        "com.amd.aim.model.canonicalName": "acme/tiny-chat",
        "com.amd.aim.model.source": "https://huggingface.co/acme/tiny-chat",
        "com.amd.aim.model.tags": "chat, small,,",
        "com.amd.aim.model.versions": "1.0",
        "com.amd.aim.model.variants": "fp8,fp16",
        "com.amd.aim.hfToken.required": "True",
        "com.amd.aim.title": "Tiny",
        "com.amd.aim.description.full": "A tiny model",
        "com.amd.aim.release.notes": "First",
        "org.opencontainers.image.version": "0.8.4",
        "org.opencontainers.image.licenses": "MIT",
        "unrelated": "kept",
    }
    read = image_labels.read(labels)
    assert isinstance(read, ImageMetadata)
    assert read.model == ModelMetadata(
        canonical_name="acme/tiny-chat",
        source="https://huggingface.co/acme/tiny-chat",
        tags=("chat", "small"),
        versions=("1.0",),
        variants=("fp8", "fp16"),
        hf_token_required=True,
        title="Tiny",
        description_full="A tiny model",
        release_notes="First",
    )
    assert read.oci is not None
    assert (read.oci.version, read.oci.licenses, read.oci.vendor) == ("0.8.4", "MIT", None)
    assert read.original_labels == labels


def test_the_newer_prefix_wins_label_by_label_unless_it_is_empty() -> None:
    labels = {
        "com.amd.aim.title": "new",
        "org.amd.silogen.title": "old",
        "com.amd.aim.model.source": "",
        "org.amd.silogen.model.source": "old source",
        "org.amd.silogen.model.canonicalName": "acme/old",
    }
    read = model(labels)
    assert (read.title, read.source, read.canonical_name) == ("new", "old source", "acme/old")


def test_an_image_without_labels_has_empty_metadata() -> None:
    assert model({}) == ModelMetadata()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", True), ("TRUE", True), ("0", False), ("false", False), ("yes", False), ("", None)],
)
def test_the_token_switch_takes_go_truth_values_and_anything_else_is_no(text: str, expected: bool | None) -> None:
    assert model({"com.amd.aim.hfToken.required": text}).hf_token_required is expected


ENTRY = RecommendedDeployment(gpu_model="MI300X", gpu_count=1, precision="fp8", metric="latency")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            '[{"gpuModel":"MI300X","gpuCount":1,"precision":"fp8","metric":"latency"}]', id="an array as it should be"
        ),
        pytest.param('{"gpuModel":"MI300X","gpuCount":1,"precision":"fp8","metric":"latency"}', id="without brackets"),
        pytest.param(
            "[{'gpuModel': 'MI300X', 'gpuCount': 1, 'precision': 'fp8', 'metric': 'latency'}]", id="as Python prints it"
        ),
        pytest.param(
            '[{"GPUMODEL":"MI300X","gpucount":1,"Precision":"fp8","metric":"latency","extra":[]}]',
            id="keys in any case, unknown ones left out",
        ),
    ],
)
def test_recommended_deployments_are_read_in_every_spelling(text: str) -> None:
    assert model({DEPLOYMENTS: text}).recommended_deployments == (ENTRY,)


def test_apostrophes_in_a_description_survive() -> None:
    text = """[{"description": "the publisher's choice"}, {"description": "it's fast"}]"""
    assert [one.description for one in model({DEPLOYMENTS: text}).recommended_deployments] == [
        "the publisher's choice",
        "it's fast",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param('[{"gpuModel": ', "neither JSON nor a Python literal", id="cut off"),
        pytest.param("[1]", "entry 0 is no object", id="numbers instead of objects"),
        pytest.param('[{"gpuCount": "many"}]', "entry 0: Expected `int | null`, got `str`", id="a word for a number"),
        pytest.param("__import__('os')", "neither JSON nor a Python literal", id="code is not run"),
    ],
)
def test_a_malformed_label_is_named_with_what_is_wrong(text: str, why: str) -> None:
    read = image_labels.read({DEPLOYMENTS: text})
    assert isinstance(read, Malformed)
    assert DEPLOYMENTS in read.message
    assert why in read.message


@given(some.text(max_size=200))
def test_no_text_in_a_label_breaks_the_reading(text: str) -> None:
    assert isinstance(image_labels.read({DEPLOYMENTS: text}), ImageMetadata | Malformed)
