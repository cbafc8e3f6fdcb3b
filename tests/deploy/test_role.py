"""The operator's rights: never more than promised, and the names that other parts rely on.

That they are enough is shown by the cluster tests, whose operator has exactly these rights.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.deploy.conftest import Helm, only

from aim_engine.api import kinds
from aim_engine.core.download_kinds import ARTIFACT, MODEL_CACHE
from aim_engine.local import installation

READ = {"get", "list", "watch"}
ALL = READ | {"create", "delete", "patch", "update"}
OURS = [kind.plural for kind in kinds.KINDS]
RBAC = "rbac.authorization.k8s.io"

BOUND: dict[tuple[str, str], set[str]] = {
    ("", "events"): {"create", "get", "list", "patch", "watch"},
    **{("", name): READ for name in ("namespaces", "nodes", "pods", "secrets", "serviceaccounts")},
    ("", "pods/log"): {"get"},
    ("", "persistentvolumeclaims"): ALL,
    **{("aim.eai.amd.com", name): ALL for name in OURS},
    **{("aim.eai.amd.com", f"{name}/finalizers"): {"update"} for name in OURS},
    **{("aim.eai.amd.com", f"{name}/status"): {"get", "patch", "update"} for name in OURS},
    ("autoscaling", "horizontalpodautoscalers"): READ,
    ("batch", "jobs"): ALL,
    ("coordination.k8s.io", "leases"): ALL,
    ("gateway.networking.k8s.io", "httproutes"): ALL,
    **{("serving.kserve.io", name): ALL for name in ("inferenceservices", "servingruntimes", "clusterservingruntimes")},
    (RBAC, "rolebindings"): ALL - {"delete"},
    (RBAC, "clusterroles"): {"bind"},
    ("storage.k8s.io", "storageclasses"): READ,
}
"""What the operator may be given at most: (API group, resource) -> verbs."""

IN_ITS_NAMESPACE = {
    ("", "configmaps"): ALL,
    ("coordination.k8s.io", "leases"): ALL,
    ("", "events"): {"create", "patch"},
}
FOR_METRICS = {
    ("authentication.k8s.io", "tokenreviews"): {"create"},
    ("authorization.k8s.io", "subjectaccessreviews"): {"create"},
}


def rights(role: dict[str, Any]) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """Every right of a role, rule by rule."""
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield (group, resource), set(rule["verbs"])


@pytest.mark.parametrize(
    ("kind", "name", "bound"),
    [
        pytest.param("ClusterRole", "aim-engine-manager-role", BOUND, id="everywhere"),
        pytest.param("Role", "aim-engine-leader-election-role", IN_ITS_NAMESPACE, id="in its own namespace"),
        pytest.param("ClusterRole", "aim-engine-metrics-auth-role", FOR_METRICS, id="to guard its metrics"),
    ],
)
def test_the_operator_gets_no_more_than_was_promised(
    helm: Helm, kind: str, name: str, bound: dict[tuple[str, str], set[str]]
) -> None:
    given = list(rights(only(helm.render(), kind, name)))
    assert given
    for what, verbs in given:
        assert verbs <= bound.get(what, set()), f"{what}: {verbs}"


def test_the_operator_hands_on_only_the_right_to_report_progress(helm: Helm) -> None:
    objects = helm.render()
    (binding,) = [
        rule for rule in only(objects, "ClusterRole", "aim-engine-manager-role")["rules"] if "bind" in rule["verbs"]
    ]
    assert binding["resourceNames"] == [ARTIFACT.status_updater, MODEL_CACHE.status_updater]
    for name, resource in ((ARTIFACT.status_updater, "aimartifacts"), (MODEL_CACHE.status_updater, "aimmodelcaches")):
        given = list(rights(only(objects, "ClusterRole", name)))
        assert given == [(("aim.eai.amd.com", f"{resource}/status"), {"get", "patch", "update"})]


def test_roles_speak_of_all_kinds(helm: Helm) -> None:
    objects = helm.render()
    followed = {
        what[1] for what, verbs in rights(only(objects, "ClusterRole", "aim-engine-manager-role")) if "watch" in verbs
    }
    assert set(OURS) <= followed
    people = {f"{kind.singular}-{role}" for kind in kinds.KINDS for role in ("admin", "editor", "viewer")}
    assert people <= {one["metadata"]["name"] for one in objects}


def test_no_role_of_the_operator_has_a_wildcard(helm: Helm) -> None:
    bindings = [one for one in helm.render() if one["kind"].endswith("RoleBinding")]
    account = {"kind": "ServiceAccount", "name": installation.ACCOUNT, "namespace": installation.NAMESPACE}
    assert all(binding["subjects"] == [account] for binding in bindings)
    bound = {(binding["roleRef"]["kind"], binding["roleRef"]["name"]) for binding in bindings}
    assert len(bound) == 3
    for kind, name in bound:
        for what, verbs in rights(only(helm.render(), kind, name)):
            assert "*" not in (*what, *verbs)
