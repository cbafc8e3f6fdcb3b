"""What a failed call means to the user."""

import pytest

from aim_engine.core.problems import Category, Dependency, Failure, NetworkFault, of_failure, of_fetch


@pytest.mark.parametrize(
    ("failure", "category", "reason", "message"),
    [
        pytest.param(
            Failure(text="", status=404), Category.MISSING_DOWNSTREAM, "NotFound", "Resource not found", id="404"
        ),
        pytest.param(
            Failure(text="", status=401),
            Category.AUTH,
            "Unauthorized",
            "Authentication required or invalid credentials",
            id="401",
        ),
        pytest.param(
            Failure(text="", status=403),
            Category.AUTH,
            "Forbidden",
            "Insufficient permissions to access resource",
            id="403",
        ),
        pytest.param(
            Failure(text="", status=422),
            Category.INVALID_SPEC,
            "InvalidSpec",
            "Resource specification is invalid",
            id="422",
        ),
        pytest.param(
            Failure(text="", status=409, reason="AlreadyExists"),
            Category.INVALID_SPEC,
            "AlreadyExists",
            "Resource already exists",
            id="409 already exists",
        ),
        pytest.param(
            Failure(text="", status=409, reason="Conflict"),
            Category.INFRASTRUCTURE,
            "Conflict",
            "Resource conflict - version mismatch or concurrent modification",
            id="409 conflict",
        ),
        pytest.param(Failure(text="", status=504), Category.INFRASTRUCTURE, "Timeout", "Request timed out", id="504"),
        pytest.param(
            Failure(text="", status=500, reason="ServerTimeout"),
            Category.INFRASTRUCTURE,
            "Timeout",
            "Request timed out",
            id="server timeout",
        ),
        pytest.param(
            Failure(text="", status=503),
            Category.INFRASTRUCTURE,
            "ServiceUnavailable",
            "Kubernetes API server unavailable or internal error",
            id="503",
        ),
        pytest.param(
            Failure(text="", status=500),
            Category.INFRASTRUCTURE,
            "ServiceUnavailable",
            "Kubernetes API server unavailable or internal error",
            id="500",
        ),
        pytest.param(
            Failure(text="", status=429),
            Category.INFRASTRUCTURE,
            "RateLimited",
            "Too many requests - rate limited",
            id="429",
        ),
        pytest.param(
            Failure(text="", status=502), Category.INFRASTRUCTURE, "ServerError", "Server error (5xx)", id="another 5xx"
        ),
        pytest.param(
            Failure(text="", status=413), Category.INVALID_SPEC, "ClientError", "Client error (4xx)", id="another 4xx"
        ),
        pytest.param(
            Failure(text="", network=NetworkFault.REFUSED),
            Category.INFRASTRUCTURE,
            "ConnectionRefused",
            "Connection refused - service may be down",
            id="refused",
        ),
        pytest.param(
            Failure(text="", network=NetworkFault.TIMED_OUT),
            Category.INFRASTRUCTURE,
            "NetworkTimeout",
            "Network timeout",
            id="timed out",
        ),
        pytest.param(
            Failure(text="", network=NetworkFault.RESET),
            Category.INFRASTRUCTURE,
            "ConnectionReset",
            "Connection reset by peer",
            id="reset",
        ),
        pytest.param(
            Failure(text="x", network=NetworkFault.NAME_NOT_RESOLVED, subject="ghcr.io"),
            Category.INFRASTRUCTURE,
            "DNSFailure",
            "DNS resolution failed for ghcr.io",
            id="name not resolved",
        ),
        pytest.param(
            Failure(text="broken pipe", network=NetworkFault.OTHER, subject="write"),
            Category.INFRASTRUCTURE,
            "NetworkError",
            "Network operation failed: write",
            id="other network trouble",
        ),
        pytest.param(
            Failure(text="surprise"), Category.UNKNOWN, "UnknownError", "surprise", id="anything else keeps its text"
        ),
        pytest.param(
            Failure(text="pods is forbidden", status=403),
            Category.AUTH,
            "Forbidden",
            "Insufficient permissions to access resource: pods is forbidden",
            id="the cause follows the message",
        ),
    ],
)
def test_of_failure(failure: Failure, category: Category, reason: str, message: str) -> None:
    problem = of_failure(failure)
    assert (problem.category, problem.reason, problem.message) == (category, reason, message)


@pytest.mark.parametrize(
    ("dependency", "category", "reason", "message"),
    [
        pytest.param(
            Dependency.UPSTREAM,
            Category.MISSING_UPSTREAM,
            "ReferenceNotFound",
            "Upstream dependency not found",
            id="what the user refers to is missing",
        ),
        pytest.param(
            Dependency.DOWNSTREAM,
            Category.MISSING_DOWNSTREAM,
            "ResourceNotReady",
            "Downstream resource not found or being created",
            id="what we make is not there yet",
        ),
        pytest.param(
            Dependency.UNSPECIFIED, Category.MISSING_DOWNSTREAM, "NotFound", "Resource not found", id="neither"
        ),
    ],
)
def test_a_missing_object_is_a_matter_of_who_makes_it(
    dependency: Dependency, category: Category, reason: str, message: str
) -> None:
    problem = of_fetch(Failure(text="", status=404), dependency)
    assert (problem.category, problem.reason, problem.message) == (category, reason, message)


@pytest.mark.parametrize("dependency", list(Dependency))
def test_other_failures_mean_the_same_for_every_dependency(dependency: Dependency) -> None:
    assert of_fetch(Failure(text="", status=403), dependency) == of_failure(Failure(text="", status=403))
