"""Objects of the kinds an operator makes, as carelessly written as people do: zero values, odd units, empty lists."""

from typing import Any

from aim_engine.kube.resource import Resource

JOBS = Resource("batch", "v1", "jobs", "Job")
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
ROUTES = Resource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
INFERENCE_SERVICES = Resource("serving.kserve.io", "v1beta1", "inferenceservices", "InferenceService")


def config_map(namespace: str, name: str, **data: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod_spec() -> dict[str, Any]:
    return {
        "restartPolicy": "Never",
        "hostNetwork": False,
        "securityContext": {},
        "nodeSelector": {"gpu": "yes"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": ""}],
        "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "g", "operator": "In", "values": ["a", "b"]}]}]
                }
            }
        },
        "initContainers": [],
        "containers": [container()],
        "volumes": [
            {"name": "scratch", "emptyDir": {}},
            {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1024Mi"}},
            {"name": "weights", "persistentVolumeClaim": {"claimName": "weights", "readOnly": False}},
        ],
    }


def container() -> dict[str, Any]:
    return {
        "name": "main",
        "image": "registry.example/main:1",
        "args": [],
        "env": [
            {"name": "ONE", "value": "1"},
            {"name": "EMPTY", "value": ""},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": False}}},
        ],
        "ports": [{"containerPort": 8000}],
        "resources": {
            "limits": {"cpu": "1000m", "memory": "1024Mi", "amd.com/gpu": "1"},
            "requests": {"cpu": 1, "memory": "0.5Gi"},
        },
        "volumeMounts": [
            {"name": "scratch", "mountPath": "/scratch", "readOnly": False},
            {"name": "memory", "mountPath": "/dev/shm", "subPath": ""},
        ],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}, "initialDelaySeconds": 0},
    }


def job(namespace: str, owner_uid: str = "00000000-0000-0000-0000-000000000001") -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner_uid}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "namespace": namespace,
            "name": "job",
            "labels": {"app": "job", "part": "test"},
            "annotations": {},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {
            "suspend": True,
            "backoffLimit": 0,
            "parallelism": 1,
            "template": {"metadata": {"labels": {"app": "job"}}, "spec": pod_spec()},
        },
    }


def claim(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": "claim", "finalizers": ["example.com/keep"]},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "0.5Gi"}},
            "storageClassName": "",
        },
    }


def binding(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": BINDINGS.api_version,
        "kind": "RoleBinding",
        "metadata": {"namespace": namespace, "name": "binding"},
        "roleRef": {"apiGroup": BINDINGS.group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }


def route(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": ROUTES.api_version,
        "kind": "HTTPRoute",
        "metadata": {"namespace": namespace, "name": "route"},
        "spec": {
            "parentRefs": [{"name": "gateway"}],
            "rules": [
                {
                    "matches": [{"path": {"value": "/a"}}],
                    "backendRefs": [{"name": "backend", "port": 80}],
                    "timeouts": {"request": "60s"},
                }
            ],
        },
    }


def inference_service(namespace: str) -> dict[str, Any]:
    main = container() | {"name": "kserve-container"}
    return {
        "apiVersion": INFERENCE_SERVICES.api_version,
        "kind": "InferenceService",
        "metadata": {"namespace": namespace, "name": "isvc", "annotations": {"a": "b"}},
        "spec": {
            "predictor": {
                "minReplicas": 0,
                "automountServiceAccountToken": False,
                "containers": [main],
                "imagePullSecrets": [{"name": "one"}],
                "volumes": [{"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1024Mi"}}],
            }
        },
    }
