"""The chart's objects on the real API server: taken as they are, and allowed under `restricted`."""

from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.operator.stage import until
from tests.deploy.conftest import Helm, only

APPLY = "application/apply-patch+yaml"
STRICT = "dryRun=All&fieldValidation=Strict&fieldManager=test&force=true"
NOT_HERE = {"ServiceMonitor", "Issuer", "Certificate"}
"""Kinds of projects that the control plane of the tests does not have."""
EVERYTHING = (
    *(f"{name}.enable=true" for name in ("networkPolicy", "clusterRuntimeConfig", "clusterModelSource")),
    *("certManager.enable=true", "prometheus.enable=true", "manager.replicas=2"),
)
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def address(api_server: ApiServer, one: dict[str, Any]) -> str:
    """Where an object lives, as the API server itself says."""
    version, kind, metadata = one["apiVersion"], one["kind"], one["metadata"]
    base = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    known = api_server.call("GET", base)["resources"]
    found = next(entry for entry in known if entry["kind"] == kind and "/" not in entry["name"])
    inside = f"/namespaces/{metadata['namespace']}" if found["namespaced"] else ""
    return f"{base}{inside}/{found['name']}/{metadata['name']}"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param((), id="as it comes"),
        pytest.param(EVERYTHING, id="with everything switched on"),
        pytest.param(("metrics.enable=false", "rbacHelpers.enable=false", "crd.keep=false"), id="with little"),
    ],
)
def test_the_api_server_takes_every_object_and_knows_every_field(
    helm: Helm, api_server: ApiServer, namespace: str, settings: tuple[str, ...]
) -> None:
    objects = [one for one in helm.render(*settings, namespace=namespace) if one["kind"] not in NOT_HERE]
    for one in objects:
        path = f"{address(api_server, one)}?{STRICT}"
        status, answer = api_server.request("PATCH", path, one, content_type=APPLY)
        assert status in (200, 201), f"{one['kind']} {one['metadata']['name']}: {answer['message']}"


def test_the_api_server_would_have_refused_an_unknown_field(helm: Helm, api_server: ApiServer, namespace: str) -> None:
    deployment = only(helm.render(namespace=namespace), "Deployment")
    deployment["spec"]["template"]["spec"]["containerz"] = []
    status, answer = api_server.request(
        "PATCH", f"{address(api_server, deployment)}?{STRICT}", deployment, content_type=APPLY
    )
    assert status >= 400 and "containerz" in answer["message"]


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        pytest.param((), True, id="the pod of the chart"),
        pytest.param(("certManager.enable=true",), True, id="with a certificate"),
        pytest.param(
            ('manager.securityContext={"allowPrivilegeEscalation": true}',), False, id="one that asks for more"
        ),
    ],
)
def test_the_pod_is_allowed_where_only_restricted_ones_are(
    helm: Helm, api_server: ApiServer, namespace: str, settings: tuple[str, ...], allowed: bool
) -> None:
    labels = {"metadata": {"labels": RESTRICTED}}
    assert (
        api_server.request(
            "PATCH", f"/api/v1/namespaces/{namespace}", labels, content_type="application/merge-patch+json"
        )[0]
        == 200
    )
    objects = helm.render(*settings, namespace=namespace)
    api_server.call("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", only(objects, "ServiceAccount"))
    template = only(objects, "Deployment")["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "manager"}, "spec": template["spec"]}
    status, answer = api_server.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    assert status == (201 if allowed else 403), answer
    assert allowed or "violates PodSecurity" in answer["message"]


def test_a_role_for_people_lets_them_do_just_that(helm: Helm, api_server: ApiServer, namespace: str) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    role = only(helm.render(), "ClusterRole", "aimservice-editor")
    api_server.request("POST", f"{rbac}/clusterroles", role)  # another test of this run may have brought it
    binding = {
        "metadata": {"name": "editors"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "aimservice-editor"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    }
    api_server.call("POST", f"{rbac}/namespaces/{namespace}/rolebindings", binding)
    until(lambda: may(api_server, "create", "aimservices", namespace), "alice may create services here")
    assert not may(api_server, "create", "aimservices", "default")
    assert not may(api_server, "delete", "aimmodels", namespace)
    assert not may(api_server, "update", "aimservices/status", namespace)


def may(api_server: ApiServer, verb: str, resource: str, namespace: str) -> bool:
    name, _, subresource = resource.partition("/")
    wish = {"verb": verb, "group": "aim.eai.amd.com", "resource": name, "subresource": subresource}
    review = {"spec": {"user": "alice", "resourceAttributes": {**wish, "namespace": namespace}}}
    return api_server.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]
