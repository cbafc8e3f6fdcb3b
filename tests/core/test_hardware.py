"""What one replica needs, however it is spelled and at however many levels."""

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.hardware import GpuRequirements, HardwareRequirements, RuntimeParameters
from aim_engine.core import hardware


def need(text: str) -> HardwareRequirements | None:
    value = yaml.safe_load(text)
    return None if value is None else msgspec.convert(value, HardwareRequirements)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        pytest.param("{}", "", id="nothing"),
        pytest.param("gpu: {model: A}", "gpu: {model: A}", id="the earlier naming"),
        pytest.param("hardware: {gpu: {model: B}}", "gpu: {model: B}", id="the present one"),
        pytest.param(
            "gpu: {model: A, requests: 2}\nhardware: {gpu: {model: B}}",
            "gpu: {model: B}",
            id="hardware.gpu wins as a whole",
        ),
        pytest.param(
            "gpu: {model: A}\nhardware: {cpu: {requests: 1}}",
            "gpu: {model: A}\ncpu: {requests: 1}",
            id="gpu beside hardware.cpu",
        ),
    ],
)
def test_effective_hardware(parameters: str, expected: str) -> None:
    assert hardware.effective(msgspec.convert(yaml.safe_load(parameters), RuntimeParameters)) == need(expected)


@pytest.mark.parametrize(
    ("lower", "higher", "expected"),
    [
        pytest.param("gpu: {requests: 2, model: A}", "", "gpu: {requests: 2, model: A}", id="one side only"),
        pytest.param(
            "gpu: {requests: 2}", "cpu: {requests: 1}", "gpu: {requests: 2}\ncpu: {requests: '1'}", id="each a part"
        ),
        pytest.param(
            "gpu: {requests: 2, model: A}", "gpu: {requests: 0}", "gpu: {requests: 0, model: A}", id="an explicit 0"
        ),
        pytest.param(
            "gpu: {requests: 2, model: A}",
            "gpu: {minVram: 64Gi}",
            "gpu: {requests: 2, minVram: 64Gi}",
            id="memory drops an inherited model",
        ),
        pytest.param(
            "gpu: {requests: 2, minVram: 64Gi}",
            "gpu: {model: A}",
            "gpu: {requests: 2, model: A}",
            id="a model drops inherited memory",
        ),
        pytest.param(
            "gpu: {model: A, minVram: 64Gi}",
            "gpu: {requests: 1}",
            "gpu: {requests: 1, model: A}",
            id="both from the earlier naming: the model stays",
        ),
        pytest.param("gpu: {model: A, minVram: 64Gi}", "", "gpu: {model: A}", id="both, and nothing above"),
        pytest.param(
            "gpu: {resourceName: amd.com/half}",
            "gpu: {requests: 1, resourceName: amd.com/gpu}",
            "gpu: {requests: 1, resourceName: amd.com/half}",
            id="the schema's resource name says nothing",
        ),
        pytest.param(
            "gpu: {resourceName: amd.com/half}",
            "gpu: {requests: 1, resourceName: amd.com/third}",
            "gpu: {requests: 1, resourceName: amd.com/third}",
            id="another resource name does",
        ),
        pytest.param("gpu: {requests: 1}", "gpu: {model: ''}", "gpu: {requests: 1}", id="an empty model is none"),
        pytest.param(
            "cpu: {requests: 2000m, limits: 4}",
            "cpu: {requests: '0.5'}",
            "cpu: {requests: 500m, limits: '4'}",
            id="cores field by field, in canonical form",
        ),
        pytest.param("", "", "", id="nothing"),
    ],
)
def test_levels_are_merged_field_by_field(lower: str, higher: str, expected: str) -> None:
    assert hardware.merged(need(lower), need(higher)) == need(expected)


@pytest.mark.parametrize(
    ("asked", "count", "model", "expected", "summary"),
    [
        pytest.param(
            "gpu: {requests: 2, model: A}",
            None,
            None,
            "gpu: {requests: 2, model: A, resourceName: amd.com/gpu}",
            "2 x A",
            id="the spec alone",
        ),
        pytest.param(
            "gpu: {requests: 2, model: A}",
            1,
            "B",
            "gpu: {requests: 1, model: B, resourceName: amd.com/gpu}",
            "1 x B",
            id="discovery comes first",
        ),
        pytest.param(
            "gpu: {requests: 2, model: A}",
            0,
            "",
            "gpu: {requests: 0, model: A, resourceName: amd.com/gpu}",
            "A",
            id="a found 0 counts, an empty model does not",
        ),
        pytest.param(
            "gpu: {minVram: 65536Mi}",
            1,
            "B",
            "gpu: {requests: 1, model: B, minVram: 64Gi, resourceName: amd.com/gpu}",
            "1 x B",
            id="memory stays beside a found model",
        ),
        pytest.param(
            "gpu: {resourceName: amd.com/gpu}",
            None,
            None,
            "gpu: {resourceName: amd.com/gpu}",
            "CPU",
            id="a gpu block without anything",
        ),
        pytest.param("", 4, None, "gpu: {requests: 4, resourceName: amd.com/gpu}", "4 x GPU", id="no model known"),
        pytest.param(
            "cpu: {requests: 250m, limits: 3000m}",
            None,
            None,
            "cpu: {requests: 250m, limits: '3'}",
            "CPU",
            id="cores only",
        ),
        pytest.param("", None, None, "", "", id="nothing known"),
        pytest.param("", 0, "", "", "", id="nothing found"),
    ],
)
def test_resolved_hardware_and_its_summary(
    asked: str, count: int | None, model: str | None, expected: str, summary: str
) -> None:
    found = hardware.resolved(need(asked), count, model)
    assert found == need(expected)
    assert hardware.summary(found) == summary


GPUS = st.builds(
    GpuRequirements,
    requests=st.one_of(st.none(), st.integers(0, 8)),
    model=st.sampled_from([None, "", "A", "B"]),
    min_vram=st.sampled_from([None, "64Gi", "1Ti"]),
    resource_name=st.sampled_from([None, "amd.com/gpu", "x/y"]),
)
LEVELS = st.one_of(st.none(), st.builds(HardwareRequirements, gpu=st.one_of(st.none(), GPUS)))


@given(LEVELS, LEVELS)
def test_a_merge_never_asks_for_a_model_and_memory_and_keeps_what_is_above(
    lower: HardwareRequirements | None, higher: HardwareRequirements | None
) -> None:
    merged = hardware.merged(lower, higher)
    gpu = merged.gpu if merged else None
    assert gpu is None or not (gpu.model and gpu.min_vram is not None)
    above = higher.gpu if higher else None
    if above and gpu:
        assert above.requests is None or gpu.requests == above.requests
        assert not above.model or gpu.model == above.model
