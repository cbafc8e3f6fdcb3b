"""GPU facts, words for GPUs, and what nodes offer."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.foreign import Node
from aim_engine.api.hardware import GpuRequirements
from aim_engine.api.placement import NodeAffinity
from aim_engine.core import gpu_check, gpus, node_gpus
from aim_engine.core.gpu_models import MODELS
from aim_engine.core.node_gpus import GI
from aim_engine.core.problems import Category, Failure
from aim_engine.objects import Manifest


def test_the_table_has_every_device_once() -> None:
    ids = [device_id for model in MODELS for device_id in model.device_ids]
    assert len(ids) == len(set(ids)) and all(device_id == device_id.lower() for device_id in ids)
    assert {model.vram for model in MODELS} == {16, 24, 32, 48, 64, 128, 192, 256, 288}
    assert all(gpus.normalised(model.name) == model.name for model in MODELS)


def test_preference_is_by_tier_the_rest_is_equal_and_unknown_ones_come_last() -> None:
    order = ["MI355X", "MI350X", "MI325X", "MI300X", "MI308X", "MI300A", "MI250X", "MI210", "MI100", "AMD-74FF"]
    ranks = [gpus.rank(model) for model in order]
    assert ranks == sorted(set(ranks))
    assert len({gpus.rank(model) for model in ("MI100", "V710", "W7900", "RX6800")}) == 1
    assert gpus.rank("H200") == gpus.rank("AMD-74FF") == gpus.rank("")
    assert gpus.rank("amd instinct mi300x") == gpus.rank("MI300X")


@pytest.mark.parametrize(
    ("device_id", "expected"),
    [
        pytest.param("74a1", "MI300X", id="plain"),
        pytest.param("0x74A1", "MI300X", id="with 0x, in upper case"),
        pytest.param("0X74b5", "MI300X", id="with 0X"),
        pytest.param("75A3", "MI355X", id="upper case"),
        pytest.param("beef", "AMD-BEEF", id="unknown"),
    ],
)
def test_model_of_a_device_id(device_id: str, expected: str) -> None:
    assert gpus.of_device_id(device_id) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("MI300X", "MI300X", id="as it is"),
        pytest.param(" mi300x ", "MI300X", id="case and blanks"),
        pytest.param("AMD Instinct MI300X", "MI300X", id="with its maker"),
        pytest.param("Instinct-MI325X", "MI325X", id="with a dash"),
        pytest.param("AMD_Instinct_MI250X_OAM", "MI250X", id="with underscores"),
        pytest.param("MI300X (rev 2)", "MI300X", id="with a remark"),
        pytest.param("AMDMI210", "MI210", id="glued to its maker"),
        pytest.param("Radeon PRO W7900", "W7900", id="first word with a number"),
        pytest.param("AI", "AI", id="a family without a number"),
        pytest.param("AMD", "AMD", id="a maker alone"),
        pytest.param("amd-74ff", "AMD-74FF", id="an unknown id keeps its name"),
        pytest.param("", "", id="empty"),
    ],
)
def test_word_for_a_model(word: str, expected: str) -> None:
    assert gpus.normalised(word) == expected


@given(st.text(max_size=30))
def test_normalising_is_settled_after_one_go_for_known_models(word: str) -> None:
    once = gpus.normalised(word)
    assert gpus.known(once) is None or gpus.normalised(once) == once


@pytest.mark.parametrize(
    ("text", "gi"),
    [
        *(pytest.param(text, 192, id=text) for text in ("192G", "192Gi", "192GB", "192GiB", "192g", "192gib")),
        pytest.param("196592", 192, id="MiB without a unit, rounded up"),
        pytest.param("196592M", 192, id="MiB with a unit, rounded up"),
        pytest.param("206141652992", 192, id="bytes, rounded up"),
        pytest.param("1T", 1024, id="1T"),
        pytest.param("1.5G", 1.5, id="a fraction of a unit"),
        pytest.param("0", 0, id="0"),
        pytest.param("lots", 0, id="no number"),
        pytest.param("1.5", 0, id="a fraction of nothing"),
        pytest.param("192K", 0, id="no such unit"),
        pytest.param("", 0, id="empty"),
    ],
)
def test_memory_on_a_label(text: str, gi: float) -> None:
    assert node_gpus.vram_bytes(text) == gi * GI


@given(st.text(max_size=20))
def test_any_label_is_some_memory_or_none(text: str) -> None:
    assert node_gpus.vram_bytes(text) >= 0


def labelled(labels: dict[str, str]) -> Node:
    return msgspec.convert({"metadata": {"name": "n", "labels": labels}}, Node)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({"amd.com/gpu.device-id": "74a1"}, {"MI300X": 192}, id="plain device id"),
        pytest.param({"beta.amd.com/gpu.device-id": "0x74A1"}, {"MI300X": 192}, id="beta device id"),
        pytest.param(
            {"amd.com/gpu.device-id": "74a1", "beta.amd.com/gpu.device-id": "74a5"},
            {"MI300X": 192},
            id="plain comes first",
        ),
        pytest.param(
            {"amd.com/gpu.device-id": "", "beta.amd.com/gpu.device-id": "74a5"},
            {"MI325X": 256},
            id="an empty one does not count",
        ),
        pytest.param(
            {"amd.com/gpu.device-id.74a1": "4", "amd.com/gpu.device-id.740f": "2", "amd.com/gpu.device-id.74a5": "0"},
            {"MI210": 64, "MI300X": 192},
            id="counted ids, all of them",
        ),
        pytest.param(
            {"amd.com/gpu.device-id": "74a5", "amd.com/gpu.device-id.74a1": "4"},
            {"MI325X": 256},
            id="a value comes before counts",
        ),
        pytest.param(
            {"beta.amd.com/gpu.device-id.74a1": "8", "amd.com/gpu.family": "AI"},
            {"MI300X": 192},
            id="any id comes before a family",
        ),
        pytest.param({"amd.com/gpu.family": "Instinct_MI250X"}, {"MI250X": 128}, id="family"),
        pytest.param({"beta.amd.com/gpu.family.MI210": "1"}, {"MI210": 64}, id="counted family"),
        pytest.param({"amd.com/gpu.device-id": "beef"}, {"AMD-BEEF": 0}, id="unknown id"),
        pytest.param(
            {"amd.com/gpu.device-id": "beef", "amd.com/gpu.vram": "80G"},
            {"AMD-BEEF": 80},
            id="unknown id with memory told",
        ),
        pytest.param(
            {"amd.com/gpu.device-id": "74a1", "amd.com/gpu.vram": "196592"}, {"MI300X": 192}, id="memory told in MiB"
        ),
        pytest.param(
            {"amd.com/gpu.device-id": "74a1", "beta.amd.com/gpu.vram.64G": "8"}, {"MI300X": 64}, id="memory counted"
        ),
        pytest.param(
            {"amd.com/gpu.device-id": "74a1", "amd.com/gpu.vram": "?"},
            {"MI300X": 192},
            id="unreadable memory: the table",
        ),
        pytest.param(
            {"amd.com/gpu.device-id.74a1": "4", "amd.com/gpu.device-id.740f": "2", "amd.com/gpu.vram": "192G"},
            {"MI210": 64, "MI300X": 192},
            id="one memory for two models: the table",
        ),
        pytest.param({"nvidia.com/gpu.product": "H100", "kubernetes.io/hostname": "n"}, {}, id="no AMD label"),
    ],
)
def test_what_a_node_offers(labels: dict[str, str], expected: dict[str, int]) -> None:
    offered = node_gpus.inventory([labelled(labels)])
    assert {model: offer.vram // GI for model, offer in offered.items()} == expected


WORDS = {
    "device-id": st.sampled_from(["74a1", "0x74A1", "740f", "75a3", "beef", ""]),
    "family": st.sampled_from(["MI300X", "Instinct_MI210", "AI", ""]),
    "vram": st.sampled_from(["192G", "65520", "?", ""]),
}
KEYS = st.builds("{}amd.com/gpu.{}".format, st.sampled_from(["", "beta."]), st.sampled_from(sorted(WORDS)))


@st.composite
def gpu_labels(draw: st.DrawFn) -> dict[str, str]:
    """Labels of one node in any form: a value, or a key that ends in it and tells how many there are."""
    labels: dict[str, str] = {}
    for key in draw(st.lists(KEYS, max_size=4)):
        word = draw(WORDS[key.rpartition(".")[2]])
        if word and draw(st.booleans()):
            labels[f"{key}.{word}"] = draw(st.sampled_from(["8", "0", ""]))
        else:
            labels[key] = word
    return labels


def leads_to(affinity: NodeAffinity | None, node: Node) -> bool:
    """Whether the scheduler would put a pod with this affinity there."""
    if affinity is None:
        return True
    selector, labels = affinity.required_during_scheduling_ignored_during_execution, node.metadata.labels
    assert selector is not None
    return any(
        all(
            one.key in labels if one.operator == "Exists" else labels.get(one.key) in one.values
            for one in term.match_expressions
        )
        for term in selector.node_selector_terms
    )


@given(st.lists(gpu_labels().map(labelled), max_size=4))
def test_whatever_labels_nodes_have_pods_reach_every_node_that_counts(nodes: list[Node]) -> None:
    offered = node_gpus.inventory(nodes)
    assert list(offered) == sorted(offered)
    assert node_gpus.inventory(reversed(nodes)) == offered
    for model in offered:
        wanted = GpuRequirements(requests=1, model=model)
        part = gpu_check.inspect(wanted, offered)
        assert part and part.effective_reason == "GPUAvailable"
        affinity = gpu_check.affinity(wanted, offered)
        assert all(leads_to(affinity, node) for node in nodes if model in node_gpus.inventory([node]))


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=20), max_size=5))
def test_any_labels_are_some_offer_or_none(labels: dict[str, str]) -> None:
    assert all(offer.vram >= 0 for offer in node_gpus.inventory([labelled(labels)]).values())


def test_of_several_nodes_the_most_memory_counts_and_models_are_sorted() -> None:
    nodes = [
        labelled({"amd.com/gpu.device-id": "74a1", "amd.com/gpu.vram": "64G"}),
        labelled({"amd.com/gpu.device-id": "74a1", "amd.com/gpu.vram": "192G"}),
        labelled({"amd.com/gpu.device-id": "740f"}),
    ]
    offered = node_gpus.inventory(nodes)
    assert list(offered) == ["MI210", "MI300X"] and offered["MI300X"].vram == 192 * GI
    assert node_gpus.inventory(reversed(nodes)) == offered


def test_a_node_matters_when_its_gpu_labels_or_resources_change() -> None:
    def of(labels: dict[str, str], capacity: dict[str, str] | None = None) -> Node:
        return msgspec.convert({"metadata": {"labels": labels}, "status": {"capacity": capacity or {}}}, Node)

    gpu = {"beta.amd.com/gpu.family": "AI"}
    assert node_gpus.changed(of({}), of(gpu))
    assert node_gpus.changed(of(gpu, {"amd.com/gpu": "8"}), of(gpu, {"amd.com/gpu": "7"}))
    assert not node_gpus.changed(of(gpu, {"cpu": "8"}), of({**gpu, "zone": "b"}, {"cpu": "7"}))


MI300X = {"amd.com/gpu.device-id": "74a1"}
MI210 = {"amd.com/gpu.device-id": "740f"}


@pytest.mark.parametrize(
    ("gpu", "nodes", "expected"),
    [
        pytest.param(
            GpuRequirements(requests=1),
            [MI300X, MI210],
            ("Ready", "GPUAvailable", "GPU available (any model accepted): MI210, MI300X"),
            id="any model",
        ),
        pytest.param(
            GpuRequirements(requests=1),
            [{}],
            ("NotAvailable", "GPUNotAvailable", "No GPUs available in cluster"),
            id="no GPU at all",
        ),
        pytest.param(
            GpuRequirements(model="amd instinct mi300x"),
            [MI300X],
            ("Ready", "GPUAvailable", "GPU model 'MI300X' is available"),
            id="the model is there",
        ),
        pytest.param(
            GpuRequirements(model="MI355X", requests=8),
            [MI300X, MI210],
            (
                "NotAvailable",
                "GPUNotAvailable",
                "Required GPU model 'MI355X' not available in cluster. Available: MI210, MI300X",
            ),
            id="the model is not there",
        ),
        pytest.param(
            GpuRequirements(model="MI355X"),
            [],
            (
                "NotAvailable",
                "GPUNotAvailable",
                "Required GPU model 'MI355X' not available in cluster. Available: none",
            ),
            id="nothing is there",
        ),
        pytest.param(
            GpuRequirements(min_vram="192Gi"),
            [MI300X, MI210],
            ("Ready", "GPUAvailable", "GPU available (any model accepted): MI300X"),
            id="enough memory",
        ),
        pytest.param(
            GpuRequirements(min_vram="256Gi"),
            [MI300X, MI210],
            (
                "NotAvailable",
                "VRAMNotAvailable",
                "Required minimum VRAM (256Gi) exceeds available GPUs. Highest available: MI300X (192Gi)",
            ),
            id="not enough memory",
        ),
        pytest.param(
            GpuRequirements(min_vram="64Gi"),
            [{}],
            (
                "NotAvailable",
                "VRAMNotAvailable",
                "Required minimum VRAM (64Gi) exceeds available GPUs. Highest available: none detected",
            ),
            id="no memory known",
        ),
        pytest.param(
            GpuRequirements(model="MI210", min_vram="128Gi"),
            [MI300X, MI210],
            (
                "NotAvailable",
                "VRAMNotAvailable",
                "Required minimum VRAM (128Gi) exceeds available GPUs. Highest available: MI210 (64Gi)",
            ),
            id="the earlier naming may ask for both",
        ),
    ],
)
def test_gpu_component(gpu: GpuRequirements, nodes: list[dict[str, str]], expected: tuple[str, str, str]) -> None:
    component = gpu_check.inspect(gpu, node_gpus.inventory(map(labelled, nodes)))
    assert component is not None and component.condition == "GPUReady"
    assert (component.effective_state, component.effective_reason, component.effective_message) == expected


@pytest.mark.parametrize(
    "gpu",
    [
        pytest.param(None, id="none asked for"),
        pytest.param(GpuRequirements(requests=0, resource_name="amd.com/gpu"), id="zero, nothing to steer by"),
        pytest.param(GpuRequirements(model=" "), id="a blank model"),
    ],
)
def test_no_gpu_needed_no_component_and_no_affinity(gpu: GpuRequirements | None) -> None:
    assert gpu_check.inspect(gpu, {}) is None
    assert gpu_check.affinity(gpu, node_gpus.inventory([labelled(MI300X)])) is None


def test_nodes_that_cannot_be_listed() -> None:
    component = gpu_check.inspect(GpuRequirements(requests=1), Failure(text="", status=503))
    assert component is not None and component.has(Category.INFRASTRUCTURE)
    assert (component.effective_state, component.effective_reason) == ("Degraded", "GPUCheckFailed")


def terms(affinity: NodeAffinity | None) -> list[Manifest]:
    if affinity is None:
        return []
    required = msgspec.to_builtins(affinity)["requiredDuringSchedulingIgnoredDuringExecution"]
    return [expression for term in required["nodeSelectorTerms"] for expression in term["matchExpressions"]]


PLAIN = {"key": "amd.com/gpu.device-id", "operator": "In", "values": ("74a1", "74a9", "74b5", "74bd")}


@pytest.mark.parametrize(
    ("gpu", "nodes", "expected"),
    [
        pytest.param(GpuRequirements(model="MI300X"), [MI300X], [PLAIN], id="all ids of the model"),
        pytest.param(GpuRequirements(model="MI300X"), [], [PLAIN], id="whatever the nodes say"),
        pytest.param(GpuRequirements(requests=1), [MI300X], [], id="any model: no affinity"),
        pytest.param(GpuRequirements(model="H200"), [MI300X], [], id="a model nobody knows"),
        pytest.param(
            GpuRequirements(min_vram="128Gi"),
            [MI300X, MI210, {"amd.com/gpu.device-id": "7408"}],
            [{**PLAIN, "values": ("7408", "740c", "74a1", "74a9", "74b5", "74bd")}],
            id="all models with enough memory",
        ),
        pytest.param(
            GpuRequirements(model="MI300X"),
            [{"amd.com/gpu.device-id": "0x74A1"}],
            [{**PLAIN, "values": ("0x74A1", "74a1", "74a9", "74b5", "74bd")}],
            id="another spelling joins the list",
        ),
        pytest.param(
            GpuRequirements(model="MI300X"),
            [MI300X, {"beta.amd.com/gpu.device-id": "74a1"}],
            [PLAIN, {**PLAIN, "key": "beta.amd.com/gpu.device-id"}],
            id="nodes with the beta key only get a term of their own",
        ),
        pytest.param(
            GpuRequirements(model="MI300X"),
            [{**MI300X, "beta.amd.com/gpu.device-id": "74a1"}],
            [PLAIN],
            id="nodes with both keys do not",
        ),
        pytest.param(
            GpuRequirements(model="MI300X"),
            [{"beta.amd.com/gpu.device-id.74a1": "8"}],
            [PLAIN, {"key": "beta.amd.com/gpu.device-id.74a1", "operator": "Exists"}],
            id="nodes that only count are found by that label",
        ),
        pytest.param(
            GpuRequirements(model="AMD-BEEF"),
            [{"amd.com/gpu.device-id": "beef"}],
            [{"key": "amd.com/gpu.device-id", "operator": "In", "values": ("beef",)}],
            id="an unknown model by the id that was seen",
        ),
    ],
)
def test_node_affinity(gpu: GpuRequirements, nodes: list[dict[str, str]], expected: list[Manifest]) -> None:
    assert terms(gpu_check.affinity(gpu, node_gpus.inventory(map(labelled, nodes)))) == expected
