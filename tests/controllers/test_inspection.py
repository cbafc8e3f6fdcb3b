"""What users read when an image cannot be read."""

import pytest

from aim_engine.controllers import inspection
from aim_engine.core.problems import Category, Problem
from aim_engine.registry import errors

IMAGE = "registry.example/acme/aim:1"


@pytest.mark.parametrize(
    ("kind", "reason", "beginning"),
    [
        (errors.NameNotResolved, "DNSFailure", "DNS resolution failed for registry.example"),
        (errors.ConnectionRefused, "ConnectionRefused", "Connection refused - service may be down"),
        (errors.ConnectionLost, "ConnectionReset", "Connection reset by peer"),
        (errors.TimedOut, "NetworkTimeout", "Network timeout"),
        (errors.Unreachable, "NetworkError", "Network operation failed: reading registry.example"),
        (errors.CertificateRefused, "NetworkError", "Network operation failed: reading registry.example"),
    ],
)
def test_a_failure_of_the_network_is_told_in_the_words_of_all_network_failures(
    kind: type[errors.RegistryError], reason: str, beginning: str
) -> None:
    error = kind("the cause", registry="registry.example", host="registry.example")
    said = f'{beginning} (image "{IMAGE}"): the cause'
    assert inspection.problem(IMAGE, error) == Problem(Category.INFRASTRUCTURE, reason, said)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (errors.Unauthorized, "ImagePullAuthFailure"),
        (errors.NotFound, "ImageNotFound"),
        (errors.RateLimited, "MetadataExtractionFailed"),
        (errors.ServerFailed, "MetadataExtractionFailed"),
    ],
)
def test_an_answer_of_a_registry_is_told_as_a_failed_fetch(kind: type[errors.RegistryError], reason: str) -> None:
    said = f'failed to fetch image "{IMAGE}": the cause'
    assert inspection.problem(IMAGE, kind("the cause")) == Problem(Category.UNKNOWN, reason, said)
