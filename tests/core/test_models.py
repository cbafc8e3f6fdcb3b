"""Models: when their image is inspected, which templates are expected, and what their templates make of them."""

from datetime import UTC, datetime, timedelta

import pytest

from aim_engine.api.image_metadata import ImageMetadata, ModelMetadata, RecommendedDeployment
from aim_engine.api.model import AIMModel, AIMModelSpec, AIMModelStatus, CustomTemplate, ModelDiscovery
from aim_engine.api.runtime_config import ModelDefaults, RuntimeConfigSpec
from aim_engine.api.sources import ModelSource
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import AIMServiceTemplate, TemplateStatus
from aim_engine.core import models
from aim_engine.core.models import Expected, Inspection, Switches
from aim_engine.core.problems import Category, Dependency, Problem
from aim_engine.objects import Condition, ObjectMeta

BOTH = Switches(extract=True, create=True)
EMPTY = ImageMetadata(model=ModelMetadata())
NAMED = ImageMetadata(model=ModelMetadata(canonical_name="acme/tiny"))
RECOMMENDS = ImageMetadata(model=ModelMetadata(recommended_deployments=(RecommendedDeployment(gpu_model="MI300X"),)))
SOURCES = (ModelSource(model_id="acme/tiny", source_uri="hf://acme/tiny"),)


@pytest.mark.parametrize(
    ("own", "config", "expected"),
    [
        pytest.param(None, None, BOTH, id="nobody says anything"),
        pytest.param(None, False, Switches(extract=False, create=False), id="the runtime config switches both off"),
        pytest.param(ModelDiscovery(), False, BOTH, id="an empty block of its own wins"),
        pytest.param(
            ModelDiscovery(extract_metadata=False), None, Switches(extract=False, create=True), id="only extraction off"
        ),
        pytest.param(
            ModelDiscovery(create_service_templates=False),
            True,
            Switches(extract=True, create=False),
            id="no templates",
        ),
    ],
)
def test_switches(own: ModelDiscovery | None, config: bool | None, expected: Switches) -> None:
    merged = RuntimeConfigSpec(model=ModelDefaults(auto_discovery=config) if config is not None else None)
    assert models.switches(AIMModelSpec(image="a", discovery=own), merged) == expected


@pytest.mark.parametrize(
    ("spec", "status", "on", "expected"),
    [
        pytest.param(AIMModelSpec(image="a"), None, BOTH, True, id="a new model"),
        pytest.param(
            AIMModelSpec(image="a"), AIMModelStatus(image_metadata=EMPTY, inspected_image="a"), BOTH, False, id="once"
        ),
        pytest.param(
            AIMModelSpec(image="b"), AIMModelStatus(image_metadata=EMPTY, inspected_image="a"), BOTH, True, id="another"
        ),
        pytest.param(
            AIMModelSpec(image="a"),
            AIMModelStatus(image_metadata=EMPTY),
            BOTH,
            False,
            id="from before images were kept",
        ),
        pytest.param(AIMModelSpec(image="a", image_metadata=EMPTY), None, BOTH, False, id="given by hand"),
        pytest.param(AIMModelSpec(image="a"), None, Switches(extract=False, create=True), False, id="switched off"),
    ],
)
def test_whether_the_registry_is_asked(
    spec: AIMModelSpec, status: AIMModelStatus | None, on: Switches, expected: bool
) -> None:
    assert models.must_be_inspected(spec, status, on) is expected


@pytest.mark.parametrize(
    ("spec", "metadata", "on", "expected"),
    [
        pytest.param(AIMModelSpec(image="a"), None, BOTH, Expected.UNKNOWN, id="not known yet"),
        pytest.param(AIMModelSpec(image="a"), EMPTY, BOTH, Expected.NO, id="nothing recommended"),
        pytest.param(AIMModelSpec(image="a"), RECOMMENDS, BOTH, Expected.YES, id="recommended"),
        pytest.param(
            AIMModelSpec(image="a"), RECOMMENDS, Switches(extract=True, create=False), Expected.NO, id="switched off"
        ),
        pytest.param(
            AIMModelSpec(image="a", custom_templates=(CustomTemplate(),)),
            None,
            Switches(extract=True, create=False),
            Expected.YES,
            id="custom ones come all the same",
        ),
        pytest.param(AIMModelSpec(image="a", model_sources=SOURCES), None, BOTH, Expected.YES, id="a custom model"),
        pytest.param(
            AIMModelSpec(image="a", custom_templates=(CustomTemplate(),)),
            None,
            BOTH,
            Expected.YES,
            id="without waiting",
        ),
    ],
)
def test_whether_templates_are_expected(
    spec: AIMModelSpec, metadata: ImageMetadata | None, on: Switches, expected: Expected
) -> None:
    assert models.expected(spec, metadata, on) is expected


def test_metadata_nobody_looks_for_is_known_to_be_empty() -> None:
    off = Switches(extract=False, create=True)
    assert models.known_metadata(AIMModelSpec(image="a"), None, off) == ImageMetadata()
    assert models.known_metadata(AIMModelSpec(image="a"), None, BOTH) is None


def template(word: AIMStatus | None, **untrue: str) -> AIMServiceTemplate:
    conditions = tuple(Condition(type=name, status="False", reason=why, message="") for name, why in untrue.items())
    return AIMServiceTemplate(status=TemplateStatus(status=word, conditions=conditions) if word else None)


READY, PENDING, PROGRESSING = AIMStatus.READY, AIMStatus.PENDING, AIMStatus.PROGRESSING
DEGRADED, FAILED, ABSENT = AIMStatus.DEGRADED, AIMStatus.FAILED, AIMStatus.NOT_AVAILABLE


@pytest.mark.parametrize(
    ("words", "awaited", "expected"),
    [
        pytest.param([], Expected.UNKNOWN, (PROGRESSING, "AwaitingMetadata"), id="none, and nobody knows"),
        pytest.param([], Expected.YES, (PROGRESSING, "CreatingTemplates"), id="none yet"),
        pytest.param([], Expected.NO, (READY, "NoTemplatesExpected"), id="none ever"),
        pytest.param([READY, READY], Expected.YES, (READY, "AllTemplatesReady"), id="all ready"),
        pytest.param([DEGRADED, FAILED], Expected.YES, (FAILED, "AllTemplatesFailed"), id="all broken"),
        pytest.param([ABSENT, ABSENT], Expected.YES, (ABSENT, "NoTemplatesAvailable"), id="no GPUs for any"),
        pytest.param([READY, FAILED], Expected.YES, (DEGRADED, "SomeTemplatesDegraded"), id="some broken"),
        pytest.param([FAILED, ABSENT], Expected.YES, (DEGRADED, "SomeTemplatesDegraded"), id="broken or absent"),
        pytest.param([READY, PENDING], Expected.YES, (PROGRESSING, "TemplatesProgressing"), id="some on their way"),
        pytest.param([READY, ABSENT], Expected.YES, (READY, "SomeTemplatesReady"), id="GPUs for some"),
        pytest.param([None, READY], Expected.YES, (PROGRESSING, "TemplatesProgressing"), id="one without status"),
        pytest.param([None], Expected.NO, (PROGRESSING, "TemplatesProgressing"), id="only one without status"),
    ],
)
def test_what_templates_make_of_their_model(
    words: list[AIMStatus | None], awaited: Expected, expected: tuple[AIMStatus, str]
) -> None:
    found = [template(word) for word in words]
    component = models.templates_component("ServiceTemplates", found, awaited, Dependency.UNSPECIFIED)
    assert (component.state, component.reason) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(template(DEGRADED, ModelReady="ModelFailed", Ready="ModelFailed"), PROGRESSING, id="by its model"),
        pytest.param(
            template(DEGRADED, ModelReady="ModelFailed", CacheReady="CacheFailed", Ready="x"),
            PROGRESSING,
            id="and cache",
        ),
        pytest.param(
            template(FAILED, ModelReady="ModelFailed", DiscoveryJobReady="JobFailed"), FAILED, id="by itself as well"
        ),
        pytest.param(template(FAILED, Ready="InvalidSpec"), FAILED, id="by itself"),
        pytest.param(
            template(DEGRADED, ClusterModelReady="ClusterModelFailed", DiscoveryJobReady="JobNotCreated"),
            PROGRESSING,
            id="by its model, before discovery has begun",
        ),
        pytest.param(
            template(
                DEGRADED,
                ModelReady="ModelFailed",
                DiscoveryJobReady="JobRunning",
                DiscoveryPodsReady="FailedScheduling",
            ),
            PROGRESSING,
            id="by its model, while discovery waits for a node",
        ),
        pytest.param(
            template(DEGRADED, ModelReady="ModelFailed", GPUReady="GPUNotAvailable"),
            DEGRADED,
            id="for want of GPUs too",
        ),
        pytest.param(template(PENDING, DiscoveryJobReady="JobRunning"), PENDING, id="its model is well"),
    ],
)
def test_a_template_that_waits_for_its_model_does_not_hold_it_down(
    found: AIMServiceTemplate, expected: AIMStatus
) -> None:
    assert models.word(found) is expected


@pytest.mark.parametrize(
    ("inspection", "reason"),
    [
        pytest.param(Inspection(NAMED), "ImageMetadataFound", id="just read, with a name"),
        pytest.param(Inspection(EMPTY), "ImageFound", id="just read, without a name"),
        pytest.param(Inspection(), "ImageFound", id="known from before"),
    ],
)
def test_how_well_the_image_is_known(inspection: Inspection, reason: str) -> None:
    component = models.metadata_component(inspection, (), Dependency.UNSPECIFIED)
    assert (component.condition, component.state, component.reason) == ("ImageMetadataReady", READY, reason)


def test_an_image_that_cannot_be_read_holds_back_nothing_else() -> None:
    problem = Problem(Category.UNKNOWN, "ImageNotFound", "no such image")
    component = models.metadata_component(Inspection(problem=problem), (), Dependency.UNSPECIFIED)
    assert not component.blocks
    assert component.effective_reason == "ImageNotFound"


def test_a_missing_secret_in_the_words_of_either_scope() -> None:
    problem = models.secret_missing("regcred", "team")
    assert problem == Problem(
        Category.MISSING_UPSTREAM, "SecretNotFound", 'imagePullSecret "regcred" not found in namespace "team"'
    )
    assert models.for_cluster(problem).reason == "ReferenceNotFound"
    assert models.for_cluster(problem).message.startswith("Upstream dependency not found")


@pytest.mark.parametrize(
    ("before", "inspection", "expected"),
    [
        pytest.param(None, Inspection(NAMED), (NAMED, "new"), id="what was found is remembered"),
        pytest.param(
            AIMModelStatus(image_metadata=NAMED, inspected_image="new"), Inspection(), (NAMED, "new"), id="and kept"
        ),
        pytest.param(
            AIMModelStatus(image_metadata=NAMED, inspected_image="old"),
            Inspection(problem=Problem(Category.UNKNOWN, "ImageNotFound", "")),
            (None, None),
            id="but not what another image said",
        ),
    ],
)
def test_what_is_remembered_of_the_image(
    before: AIMModelStatus | None, inspection: Inspection, expected: object
) -> None:
    model = AIMModel(spec=AIMModelSpec(image="new"), status=before)
    status = models.status(model, inspection, BOTH)
    assert (status.image_metadata, status.inspected_image) == expected


@pytest.mark.parametrize(
    ("inspected", "expected"),
    [
        pytest.param("old", "old", id="of another image, which it stays"),
        pytest.param("new", "new", id="of this one"),
        pytest.param(None, "new", id="from before images were kept"),
    ],
)
def test_while_nothing_is_looked_for_metadata_stays_that_of_its_image(inspected: str | None, expected: str) -> None:
    before = AIMModelStatus(image_metadata=NAMED, inspected_image=inspected)
    model = AIMModel(spec=AIMModelSpec(image="new"), status=before)
    status = models.status(model, Inspection(), Switches(extract=False, create=True))
    assert (status.image_metadata, status.inspected_image) == (NAMED, expected)
    assert models.must_be_inspected(AIMModelSpec(image="new"), status, BOTH) is (expected == "old")


NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("created", "status", "seconds"),
    [
        pytest.param(NOW - timedelta(minutes=3), None, 180.0, id="since it was created"),
        pytest.param(NOW - timedelta(minutes=3), AIMModelStatus(), 180.0, id="a blank status is no pass"),
        pytest.param(
            NOW - timedelta(minutes=3), AIMModelStatus(observed_generation=1), 0.0, id="it had its first pass"
        ),
        pytest.param(NOW + timedelta(minutes=3), None, 0.0, id="clocks that disagree"),
        pytest.param(None, None, 0.0, id="nobody knows since when"),
    ],
)
def test_how_long_a_model_waits_for_its_first_pass(
    created: datetime | None, status: AIMModelStatus | None, seconds: float
) -> None:
    metadata = ObjectMeta(name="m", namespace="n", creation_timestamp=created)
    assert models.waiting_for(AIMModel(metadata=metadata, status=status), NOW) == seconds
