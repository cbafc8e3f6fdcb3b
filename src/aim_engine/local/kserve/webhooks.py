"""What KServe has to say before an object is stored: which of its webhooks the API server asks about which kinds."""

import base64
from typing import Any, Final, NamedTuple

from aim_engine.kube.resource import Resource
from aim_engine.objects import Manifest

MUTATING: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
INFERENCE_SERVICES: Final = "inferenceservice.serving.kserve.io"


class Endpoint(NamedTuple):
    """Where the controller listens for the API server, and whose certificate it shows there."""

    address: str
    """Such as https://127.18.0.1:9443."""
    authority: bytes
    """The certificate of the authority, as PEM."""


def configurations(endpoint: Endpoint) -> list[tuple[Resource, Manifest]]:
    """All configurations that KServe installs."""
    pods = _webhook(endpoint, "inferenceservice", "pod-mutator", "/mutate-pods", ("", "v1", "pods", "CREATE"))
    pods |= {
        "reinvocationPolicy": "IfNeeded",
        "namespaceSelector": {"matchExpressions": [{"key": "control-plane", "operator": "DoesNotExist"}]},
        "objectSelector": {"matchExpressions": [{"key": "serving.kserve.io/inferenceservice", "operator": "Exists"}]},
    }
    defaults = _of_kind(endpoint, "inferenceservice", "v1beta1", "mutate", "defaulter")
    return [
        (MUTATING, _configuration(MUTATING, INFERENCE_SERVICES, [defaults, pods])),
        *(
            (
                VALIDATING,
                _configuration(
                    VALIDATING,
                    f"{kind}.serving.kserve.io",
                    [_of_kind(endpoint, kind, version, "validate", "validator")],
                ),
            )
            for kind, version in (
                ("inferenceservice", "v1beta1"),
                ("trainedmodel", "v1alpha1"),
                ("inferencegraph", "v1alpha1"),
                ("clusterservingruntime", "v1alpha1"),
                ("servingruntime", "v1alpha1"),
            )
        ),
    ]


def _configuration(resource: Resource, name: str, webhooks: list[dict[str, Any]]) -> Manifest:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "webhooks": webhooks,
    }


def _of_kind(endpoint: Endpoint, kind: str, version: str, verb: str, duty: str) -> dict[str, Any]:
    path = f"/{verb}-serving-kserve-io-{version}-{kind}"
    return _webhook(endpoint, kind, duty, path, ("serving.kserve.io", version, f"{kind}s", "CREATE", "UPDATE"))


def _webhook(endpoint: Endpoint, kind: str, duty: str, path: str, asked: tuple[str, ...]) -> dict[str, Any]:
    group, version, plural, *operations = asked
    return {
        "name": f"{kind}.kserve-webhook-server.{duty}",
        "clientConfig": {
            "url": f"{endpoint.address}{path}",
            "caBundle": base64.b64encode(endpoint.authority).decode(),
        },
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1beta1"],
        "rules": [{"apiGroups": [group], "apiVersions": [version], "operations": operations, "resources": [plural]}],
    }
