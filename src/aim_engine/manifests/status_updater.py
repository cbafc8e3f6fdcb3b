"""The right of download pods to report their progress, one binding per namespace."""

from aim_engine.core.download_kinds import DownloadKind
from aim_engine.objects import Manifest


def build(kind: DownloadKind, namespace: str) -> Manifest:
    """Lets the namespace's default service account patch the status of the download objects there."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": kind.status_updater, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": kind.status_updater},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
