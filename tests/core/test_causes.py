"""What an object in trouble is quoted with by those that depend on it."""

import pytest

from aim_engine.core import causes
from aim_engine.objects import Condition


def condition(kind: str, status: str, reason: str, message: str) -> Condition:
    return Condition(type=kind, status=status, reason=reason, message=message)


METADATA = condition("ImageMetadataReady", "False", "ImageNotFound", "registry.local has no missing:2.0")
WAITING = condition("ServiceTemplatesReady", "False", "AwaitingMetadata", "Waiting for the model to fetch metadata")
FOUND = condition("RuntimeConfigReady", "True", "ConfigFound", "")
UNREACHABLE = condition("DependenciesReachable", "False", "InfrastructureError", "Cannot reach dependencies")


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        pytest.param([], "", id="an object that has said nothing yet is not quoted"),
        pytest.param(
            [METADATA, condition("Ready", "True", "AllComponentsReady", "All components are ready")],
            "",
            id="an object that is ready is not quoted",
        ),
        pytest.param(
            [
                UNREACHABLE,
                FOUND,
                METADATA,
                WAITING,
                condition("Ready", "False", "InfrastructureError", "Infrastructure error - waiting for retry"),
            ],
            "registry.local has no missing:2.0",
            id="where Ready tells only the sort of trouble, the first part in trouble is quoted",
        ),
        pytest.param(
            [
                WAITING,
                METADATA,
                condition("Ready", "False", "ImageNotFound", "Component ImageMetadata is not ready: x"),
            ],
            "Component ImageMetadata is not ready: x",
            id="where Ready names the part, Ready is quoted",
        ),
        pytest.param(
            [condition("Ready", "False", "ReferenceNotFound", "Referenced resource not found")],
            "Referenced resource not found",
            id="where no part says anything, Ready is quoted all the same",
        ),
    ],
)
def test_the_most_telling_words_are_quoted(conditions: list[Condition], told: str) -> None:
    assert causes.first(conditions) == told
