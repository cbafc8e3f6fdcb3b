"""Model sources: what filters ask for, which images fit, and which models are made of them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.environment import LocalObjectReference
from aim_engine.api.model import AIMClusterModel, AIMModelSpec
from aim_engine.api.model_source import AIMClusterModelSource, AIMClusterModelSourceSpec, ModelSourceFilter
from aim_engine.api.status import AIMStatus
from aim_engine.core import durations, model_sources, source_conditions
from aim_engine.core.model_sources import Found, Harvest, Outcome, Scan, Wish
from aim_engine.core.parent import Parent
from aim_engine.manifests import cluster_model
from aim_engine.objects import Condition, ObjectMeta

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIGEST = "sha256:" + "a" * 64


def spec(*filters: str, registry: str | None = None, most: int | None = None) -> AIMClusterModelSourceSpec:
    return AIMClusterModelSourceSpec(
        registry=registry, filters=tuple(ModelSourceFilter(image=image) for image in filters), max_models=most
    )


@pytest.mark.parametrize(
    ("image", "registry", "expected"),
    [
        pytest.param("acme/aim-*", None, Wish("docker.io", "acme/aim-*"), id="a pattern on Docker Hub"),
        pytest.param("ghcr.io/acme/*", "docker.io", Wish("ghcr.io", "acme/*"), id="a registry before a pattern"),
        pytest.param("acme/*", "ghcr.io", Wish("ghcr.io", "acme/*"), id="a pattern in the source's registry"),
        pytest.param("acme/*", "hub.docker.com", Wish("docker.io", "acme/*"), id="the web site of Docker Hub"),
        pytest.param("acme/aim:1", "https://hub.docker.com", Wish("docker.io", "acme/aim", "1"), id="as an address"),
        pytest.param("hub.docker.com/acme/*", "ghcr.io", Wish("docker.io", "acme/*"), id="the web site in a filter"),
        pytest.param("acme/aim", None, Wish("docker.io", "acme/aim"), id="a repository"),
        pytest.param("aim", None, Wish("docker.io", "library/aim"), id="one word on Docker Hub"),
        pytest.param("acme/aim:1.0", "ghcr.io", Wish("ghcr.io", "acme/aim", "1.0"), id="one image"),
        pytest.param("docker.io/acme/aim", "ghcr.io", Wish("docker.io", "acme/aim"), id="Docker Hub written out"),
        pytest.param("host:5000/acme/aim", None, Wish("host:5000", "acme/aim"), id="a port is no tag"),
        pytest.param(f"ghcr.io/a/b@{DIGEST}", None, Wish("ghcr.io", "a/b", DIGEST), id="a digest is one image"),
        pytest.param("acme/aim:", None, Wish("docker.io", "acme/aim:"), id="what cannot be read is a repository"),
    ],
)
def test_what_a_filter_asks_for(image: str, registry: str | None, expected: Wish) -> None:
    asked = spec(image, registry=registry)
    assert model_sources.wish(asked, asked.filters[0]) == expected


@pytest.mark.parametrize(
    ("pattern", "repository", "expected"),
    [
        ("acme/aim-*", "acme/aim-qwen", True),
        ("acme/aim-*", "acme/aim-", True),
        ("acme/aim-*", "acme/aim-a/b", True),
        ("acme/aim-*", "other/aim-a", False),
        ("*", "anything/at/all", True),
        ("a*c*", "abcd", True),
        ("a.c", "abc", False),
    ],
)
def test_patterns(pattern: str, repository: str, expected: bool) -> None:
    assert Wish("docker.io", pattern).fits(repository) is expected


WORD = st.text("abc019", min_size=1, max_size=6)
SEGMENT = st.builds("{}{}{}".format, WORD, st.sampled_from(["", ".", "_", "__", "-"]), WORD)
PATH = st.lists(SEGMENT, min_size=1, max_size=2).map(lambda path: ["acme", *path])
TAG = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
REGISTRY = st.sampled_from(["docker.io", "ghcr.io", "127.0.0.1:5000", "localhost:5000", "registry.example"])


@given(
    REGISTRY,
    st.lists(SEGMENT, min_size=1, max_size=2).map(lambda path: ["acme", *path]),
    TAG,
    st.sampled_from(["image", "repository", "pattern"]),
)
def test_what_a_filter_found_is_what_it_would_take_again(registry: str, path: list[str], tag: str, form: str) -> None:
    """Else a model that is deleted would not come again."""
    repository = "/".join(path)
    written = {"image": f"{repository}:{tag}", "repository": repository, "pattern": f"{path[0]}/*"}[form]
    for source in (spec(written, registry=registry), spec(f"{registry}/{written}", registry="other.example")):
        asked = model_sources.wish(source, source.filters[0])
        assert asked.registry == registry
        assert asked.is_pattern == (form == "pattern")
        assert model_sources.matches(source, Found(registry, repository, tag).uri)


@given(st.text(max_size=40), st.text(max_size=20), st.text(max_size=40))
def test_any_filter_is_understood_somehow(written: str, registry: str, image: str) -> None:
    source = spec(written, registry=registry)
    assert isinstance(model_sources.wish(source, source.filters[0]), Wish)
    assert model_sources.matches(source, image) in (True, False)


@given(st.text(alphabet="ab/.*-", max_size=12), st.text(alphabet="ab/.-", max_size=12))
def test_a_pattern_means_what_a_glob_means(pattern: str, repository: str) -> None:
    def glob(parts: str, text: str) -> bool:
        if not parts:
            return not text
        if parts[0] == "*":
            return any(glob(parts[1:], text[index:]) for index in range(len(text) + 1))
        return bool(text) and text[0] == parts[0] and glob(parts[1:], text[1:])

    assert Wish("", pattern).fits(repository) is glob(pattern, repository)


@pytest.mark.parametrize(
    ("found", "uri", "name"),
    [
        pytest.param(
            Found("ghcr.io", "acme/aim-llama", "1.0.0"),
            "ghcr.io/acme/aim-llama:1.0.0",
            "acme-aim-llama-1-0-0-d6a684",
            id="of another registry",
        ),
        pytest.param(
            Found("docker.io", "amdenterpriseai/aim-qwen-qwen3-32b", "0.8.4"),
            "amdenterpriseai/aim-qwen-qwen3-32b:0.8.4",
            "amdenterpriseai-aim-qwen-qwen3-32b-0-8-4-c3c81a",
            id="of Docker Hub",
        ),
    ],
)
def test_images_and_the_names_of_their_models(found: Found, uri: str, name: str) -> None:
    assert (found.uri, found.model_name) == (uri, name)


def test_constraints_of_a_filter_replace_those_of_the_source() -> None:
    asked = AIMClusterModelSourceSpec(
        versions=(">=1.0",),
        filters=(ModelSourceFilter(image="a"), ModelSourceFilter(image="b", versions=("~2.1.0",))),
    )
    tags = ["latest", "0.9.0", "1.0.0", "2.1.3", "v2.1.9", "2.2.0"]
    first, second = asked.filters
    assert model_sources.wanted_tags(asked, first, tags) == ["1.0.0", "2.1.3", "v2.1.9", "2.2.0"]
    assert model_sources.wanted_tags(asked, second, tags) == ["2.1.3", "v2.1.9"]
    assert model_sources.wanted_tags(spec("a"), first, tags) == tags


@pytest.mark.parametrize(
    ("entry", "image", "expected"),
    [
        pytest.param(ModelSourceFilter(image="acme/*"), "acme/aim:1.0.0", True, id="of the pattern"),
        pytest.param(ModelSourceFilter(image="acme/*"), "ghcr.io/acme/aim:1.0.0", False, id="of another registry"),
        pytest.param(ModelSourceFilter(image="acme/*", exclude=("acme/aim",)), "acme/aim:1.0.0", False, id="left out"),
        pytest.param(ModelSourceFilter(image="acme/aim:2"), "acme/aim:1.0.0", False, id="another tag"),
        pytest.param(ModelSourceFilter(image="acme/aim", versions=("<1",)), "acme/aim:1.0.0", False, id="too new"),
        pytest.param(ModelSourceFilter(image="acme/aim"), "what is this", False, id="no image at all"),
    ],
)
def test_whether_a_source_would_take_an_image(entry: ModelSourceFilter, image: str, expected: bool) -> None:
    assert model_sources.matches(AIMClusterModelSourceSpec(filters=(entry,)), image) is expected


SOURCE = AIMClusterModelSource(metadata=ObjectMeta(name="mine", uid="u"), spec=spec("acme/*", most=3))


def image(tag: int) -> Found:
    return Found("docker.io", "acme/aim", f"{tag}.0.0")


def model(tag: int, source: str | None) -> AIMClusterModel:
    labels = {"aim.eai.amd.com/model-source": source} if source else {}
    return AIMClusterModel(
        metadata=ObjectMeta(name=image(tag).model_name, labels=labels, resource_version="7"),
        spec=AIMModelSpec(image=image(tag).uri),
    )


def gather(found: list[int], *models: AIMClusterModel) -> Harvest:
    by_name = {one.metadata.name: one for one in models}
    existing = [one for one in models if one.metadata.labels.get("aim.eai.amd.com/model-source") == "mine"]
    return model_sources.harvest(
        SOURCE, [image(tag) for tag in found], existing, by_name.get, lambda label: label == "alive"
    )


@pytest.mark.parametrize(
    ("found", "models", "created", "taken"),
    [
        pytest.param([1, 2], [], [1, 2], [], id="all new"),
        pytest.param([1, 2, 3, 4], [], [1, 2, 3], [], id="up to the limit"),
        pytest.param([1, 2, 3, 4], [model(1, "mine")], [2, 3], [], id="counting those it has"),
        pytest.param([1, 2], [model(1, "alive")], [2], [], id="another living source keeps its own"),
        pytest.param([1, 2], [model(1, "dead")], [2], [1], id="of a source that is gone"),
        pytest.param([1], [model(1, None)], [], [1], id="of nobody"),
        pytest.param([], [model(1, "mine")], [], [], id="an image that vanished changes nothing"),
    ],
)
def test_which_models_are_made(
    found: list[int], models: list[AIMClusterModel], created: list[int], taken: list[int]
) -> None:
    harvest = gather(found, *models)
    assert [one.uri for one in harvest.create] == [image(tag).uri for tag in created]
    assert [one.metadata.name for one in harvest.take_over] == [image(tag).model_name for tag in taken]
    assert harvest.new == len(created) + len(taken)


def test_an_image_that_two_filters_find_counts_once() -> None:
    outcomes = (Outcome("a", (image(1), image(2))), Outcome("b", (image(2), image(3))))
    assert Scan(NOW, 1, outcomes).found == (image(1), image(2), image(3))


def test_the_model_of_an_image() -> None:
    source = AIMClusterModelSource(
        metadata=ObjectMeta(name="mine"),
        spec=AIMClusterModelSourceSpec(filters=(), image_pull_secrets=(LocalObjectReference(name="regcred"),)),
    )
    assert cluster_model.build(source, Found("ghcr.io", "acme/aim-llama", "1.0.0")) == {
        "apiVersion": "aim.eai.amd.com/v1alpha1",
        "kind": "AIMClusterModel",
        "metadata": {
            "name": "acme-aim-llama-1-0-0-d6a684",
            "labels": {"aim.eai.amd.com/model-source": "mine", "aim.eai.amd.com/origin": "auto-generated"},
            "annotations": {
                "aim.eai.amd.com/source-registry": "ghcr.io",
                "aim.eai.amd.com/source-repository": "acme/aim-llama",
                "aim.eai.amd.com/source-tag": "1.0.0",
            },
        },
        "spec": {"image": "ghcr.io/acme/aim-llama:1.0.0", "imagePullSecrets": ({"name": "regcred"},)},
    }


def test_taking_over_replaces_owner_and_labels_and_nothing_else() -> None:
    parent = Parent("AIMClusterModelSource", "cluster-model-source", SOURCE.metadata)
    assert cluster_model.take_over(model(1, "dead"), parent).body == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {
                "aim.eai.amd.com/model-source": "mine",
                "aim.eai.amd.com/cluster-model-source.name": "mine",
            },
            "ownerReferences": [parent.owner_reference],
        }
    }


def scan(*failures: str) -> Scan:
    return Scan(NOW, 1, tuple(Outcome(f"f{index}", failure=why) for index, why in enumerate(failures)))


@pytest.mark.parametrize(
    ("seen", "state", "reason", "message"),
    [
        pytest.param(scan("", ""), AIMStatus.READY, "AllFiltersSucceeded", "All 2 filters succeeded", id="all well"),
        pytest.param(
            scan("", "broken"),
            AIMStatus.DEGRADED,
            "SomeFiltersFailed",
            '1 of 2 filters had errors: "f1": broken',
            id="some failed",
        ),
        pytest.param(
            scan("broken"), AIMStatus.FAILED, "AllFiltersFailed", 'All 1 filters failed: "f0": broken', id="all failed"
        ),
        pytest.param(scan(), AIMStatus.PROGRESSING, "NoFilters", "The source has no filters", id="none"),
        pytest.param(
            Scan(NOW, 1, (Outcome("f", skipped=("acme/x (denied)",)),)),
            AIMStatus.READY,
            "AllFiltersSucceeded",
            "All 1 filters succeeded: skipped repositories: acme/x (denied)",
            id="repositories nobody may read",
        ),
    ],
)
def test_how_the_filters_did(seen: Scan, state: AIMStatus, reason: str, message: str) -> None:
    component = source_conditions.filters(seen, ())
    assert (component.condition, component.state, component.reason, component.message) == (
        "FiltersReady",
        state,
        reason,
        message,
    )


@pytest.mark.parametrize(
    ("status", "reason", "state"),
    [
        ("True", "AllFiltersSucceeded", AIMStatus.READY),
        ("False", "SomeFiltersFailed", AIMStatus.DEGRADED),
        ("False", "AllFiltersFailed", AIMStatus.FAILED),
    ],
)
def test_a_new_process_does_not_forget_how_they_did(status: str, reason: str, state: AIMStatus) -> None:
    stored = Condition(type="FiltersReady", status="True" if status == "True" else "False", reason=reason, message="m")
    component = source_conditions.filters(None, (stored,))
    assert (component.state, component.reason, component.message) == (state, reason, "m")


def test_which_registries_did_not_answer() -> None:
    silent = Scan(NOW, 1, (Outcome("a", unreachable=("b.example",)), Outcome("b", unreachable=("a.example",))))
    assert source_conditions.reachable(silent).message == "Could not query: a.example, b.example"
    assert source_conditions.reachable(scan("")).status == "True"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h", timedelta(hours=1)),
        ("2h30m", timedelta(hours=2, minutes=30)),
        ("1.5h", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("0", timedelta(0)),
        ("", None),
        ("1", None),
        ("1h 5m", None),
        ("-1h", None),
        ("soon", None),
        ("9" * 40 + "h", None),
    ],
)
def test_durations(text: str, expected: timedelta | None) -> None:
    assert durations.parse(text) == expected


@pytest.mark.parametrize(("text", "hours"), [(None, 1), ("0", 1), ("0s", 1), ("garbage", 1), ("3h", 3)])
def test_the_interval_of_a_source(text: str | None, hours: int) -> None:
    asked = AIMClusterModelSourceSpec(filters=(), sync_interval=text)
    assert model_sources.interval(asked) == timedelta(hours=hours)
