"""Which model a service serves, as a decision on values."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.hardware import GpuRequirements, HardwareRequirements
from aim_engine.api.model import AIMClusterModel, AIMModel
from aim_engine.api.service import AIMServiceSpec, InlineModel
from aim_engine.api.status import AIMStatus
from aim_engine.core import service_model
from aim_engine.core.problems import Category

IMAGE = "registry.example/org/aim-tiny:0.1"


def model(name: str, kind: Any = AIMModel, word: str = "Ready", **spec: Any) -> Any:
    content = {
        "metadata": {"name": name, "namespace": "ml-team" if kind is AIMModel else ""},
        "spec": {"image": IMAGE, **spec},
        "status": {
            "status": word,
            "conditions": [{"type": "Ready", "status": "False", "reason": "InvalidSpec", "message": "so it is"}],
        },
    }
    return msgspec.convert(content, kind)


def custom(**fields: Any) -> InlineModel:
    wanted = {
        "baseImage": IMAGE,
        "modelSources": [{"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny"}],
        "hardware": {"gpu": {"requests": 1}},
        **fields,
    }
    return msgspec.convert(wanted, InlineModel)


@pytest.mark.parametrize(
    ("selection", "name"),
    [
        pytest.param({"name": " tiny "}, "tiny", id="a name, trimmed"),
        pytest.param({"ref": "tiny"}, "tiny", id="the other spelling"),
        pytest.param({"image": IMAGE}, "", id="an image has no name"),
    ],
)
def test_the_name_a_service_asks_for(selection: Any, name: str) -> None:
    assert service_model.wanted_name(msgspec.convert({"model": selection}, AIMServiceSpec)) == name


def test_a_failed_model_says_why() -> None:
    told = service_model.found(model("tiny", word="Failed")).component
    assert told.effective_message == "AIMModel tiny is in failed state: so it is"
    assert told.effective_state is AIMStatus.FAILED
    assert not told.problems, "a model in trouble blocks nothing"


def test_a_name_is_looked_for_in_the_namespace_first() -> None:
    both = model("tiny"), model("tiny", AIMClusterModel)
    assert service_model.by_name("tiny", "ml-team", *both).model is both[0]
    assert service_model.by_name("tiny", "ml-team", None, both[1]).model is both[1]
    (problem,) = service_model.by_name("tiny", "ml-team", None, None).component.problems
    assert problem.category is Category.MISSING_UPSTREAM


@pytest.mark.parametrize(
    ("image", "name"),
    [
        pytest.param("registry.example.com/org/aim-dummy:0.1.10", "aim-dummy-0-1-10-73d41212", id="with a tag"),
        pytest.param(
            "org/aim-qwen-qwen3-32b@sha256:abcdef0123456789", "aim-qwen-qwen3-32b-abcdef-d940a6be", id="with a digest"
        ),
    ],
)
def test_an_image_without_a_model_gets_one(image: str, name: str) -> None:
    chosen = service_model.by_image(image, [], [])
    assert chosen.creation is not None
    assert (chosen.creation.name, chosen.creation.image) == (name, image)
    assert chosen.component.effective_state is AIMStatus.PENDING


def test_an_image_with_several_models_is_an_error_that_lists_them() -> None:
    chosen = service_model.by_image(IMAGE, [model("b"), model("a")], [model("c", AIMClusterModel)])
    (problem,) = chosen.component.problems
    assert (problem.category, problem.reason) == (Category.INVALID_SPEC, "MultipleModelsFound")
    assert problem.message.endswith(": ml-team/a (namespace), ml-team/b (namespace)")


def test_who_describes_the_same_weights_makes_the_same_model() -> None:
    one = service_model.by_weights(custom(), [])
    other = service_model.by_weights(custom(), [])
    assert one.creation == other.creation
    assert one.creation is not None


GPUS = st.builds(
    GpuRequirements,
    requests=st.none() | st.integers(0, 8),
    model=st.none() | st.sampled_from(["MI300X", ""]),
    min_vram=st.none() | st.sampled_from(["192Gi", str(192 * 1024**3), "64Gi"]),
    resource_name=st.none() | st.sampled_from(["amd.com/gpu", "amd.com/cpx"]),
)
HARDWARE = st.builds(HardwareRequirements, gpu=GPUS)


@given(HARDWARE)
def test_a_model_made_for_a_service_is_found_again(hardware: HardwareRequirements) -> None:
    wanted = msgspec.structs.replace(custom(), hardware=hardware)
    made = model(
        "made",
        modelSources=msgspec.to_builtins(wanted.model_sources),
        custom={"hardware": msgspec.to_builtins(hardware)},
    )
    assert service_model.matches(made, wanted)


@given(HARDWARE, HARDWARE)
def test_models_with_other_hardware_get_other_names(one: HardwareRequirements, other: HardwareRequirements) -> None:
    wanted = [msgspec.structs.replace(custom(), hardware=hardware) for hardware in (one, other)]
    plain = service_model.by_weights(wanted[0], []).creation
    assert plain is not None
    held = model(
        plain.name,
        modelSources=msgspec.to_builtins(wanted[0].model_sources),
        custom={"hardware": msgspec.to_builtins(one)},
    )
    second = service_model.by_weights(wanted[1], [held])
    assert (second.model is held) == service_model.matches(held, wanted[1])
    assert second.creation is None or second.creation.name != plain.name
