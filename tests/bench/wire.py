"""Objects as an API server sends them, in the size and shape of a cluster that serves models."""

import json
from typing import Any

from tests.api.manifests import full

SERVICE = next(manifest for manifest in full("v2") if manifest["kind"] == "AIMService")
NOW = "2025-06-07T08:09:10Z"


def pod(number: int) -> bytes:
    """A running inference pod of KServe, with what kubelet, scheduler and injected sidecars add."""
    name = f"assistant-{number:04d}-predictor-7c9d8b6f5d-x{number % 97:02d}kq"
    return text(
        {
            "metadata": metadata(name, number, kubelet_fields()),
            "spec": {
                "containers": [container(f"{name}-main", number)],
                "initContainers": [container(f"{name}-init", number)],
                "volumes": [
                    {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
                    {"name": "weights", "persistentVolumeClaim": {"claimName": f"qwen3-cache-{number:08x}"}},
                    {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": token_sources()}},
                ],
                "affinity": {"nodeAffinity": gpu_nodes()},
                "nodeName": f"gpu-node-{number % 128}",
                "restartPolicy": "Always",
                "dnsPolicy": "ClusterFirst",
                "schedulerName": "default-scheduler",
                "serviceAccountName": "default",
                "terminationGracePeriodSeconds": 300,
                "tolerations": [
                    {
                        "key": f"node.kubernetes.io/{what}",
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": 300,
                    }
                    for what in ("not-ready", "unreachable")
                ],
            },
            "status": {
                "phase": "Running",
                "podIP": f"10.42.{number // 250}.{number % 250}",
                "hostIP": f"10.0.0.{number % 128}",
                "startTime": NOW,
                "qosClass": "Burstable",
                "conditions": [
                    {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": NOW}
                    for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
                ],
                "containerStatuses": [container_status(f"{name}-main", number, {"running": {"startedAt": NOW}})],
                "initContainerStatuses": [
                    container_status(
                        f"{name}-init",
                        number,
                        {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": NOW}},
                    )
                ],
            },
        }
    )


def service(number: int) -> bytes:
    """A running AIMService with most of its fields set."""
    names = {"f:spec": {f"f:{name}": {} for name in SERVICE["spec"]}}
    return text({**SERVICE, "metadata": metadata(f"assistant-{number:04d}", number, names)})


def text(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, separators=(",", ":")).encode()


def metadata(name: str, number: int, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "generateName": name[:-5],
        "namespace": f"team-{number % 20}",
        "uid": f"1d1b9f5e-{number:04x}-4000-8000-{number:012x}",
        "resourceVersion": str(1_000_000 + number),
        "creationTimestamp": NOW,
        "labels": {
            "app": f"isvc.assistant-{number:04d}-predictor",
            "serving.kserve.io/inferenceservice": f"assistant-{number:04d}",
            "aim.eai.amd.com/service": f"assistant-{number:04d}",
            "aim.eai.amd.com/service.name": f"assistant-{number:04d}",
            "aim.eai.amd.com/template": "qwen3-32b-2x-mi325x-thr-fp8-0a1b",
            "aim.eai.amd.com/model": "qwen3-32b",
            "app.kubernetes.io/component": "inference",
            "app.kubernetes.io/managed-by": "aim-engine",
            "pod-template-hash": "7c9d8b6f5d",
        },
        "annotations": {"serving.kserve.io/autoscalerClass": "none", "internal.serving.kserve.io/port": "8000"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": name[:-6],
                "uid": f"2d1b9f5e-{number:04x}-4000-8000-{number:012x}",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": [
            {
                "manager": manager,
                "operation": "Update",
                "apiVersion": "v1",
                "time": NOW,
                "fieldsType": "FieldsV1",
                "fieldsV1": fields,
            }
            for manager in ("kube-controller-manager", "kubelet")
        ],
    }


def kubelet_fields() -> dict[str, Any]:
    conditions = {
        f'k:{{"type":"{kind}"}}': {".": {}, "f:status": {}} for kind in ("Ready", "Initialized", "ContainersReady")
    }
    spec = {
        f"f:{name}": {} for name in ("affinity", "dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName")
    }
    return {"f:status": {"f:conditions": conditions, "f:phase": {}, "f:podIP": {}, "f:startTime": {}}, "f:spec": spec}


def container(name: str, number: int) -> dict[str, Any]:
    return {
        "name": name,
        "image": "ghcr.io/silogen/aim-qwen-qwen3-32b:1.0.0",
        "imagePullPolicy": "IfNotPresent",
        "env": [
            *({"name": f"AIM_SETTING_{index}", "value": f"value {index} of {number}"} for index in range(20)),
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "huggingface", "key": "token"}}},
        ],
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "resources": {
            "limits": {"amd.com/gpu": "2", "memory": "96Gi"},
            "requests": {"amd.com/gpu": "2", "cpu": "8", "memory": "64Gi"},
        },
        "readinessProbe": {
            "tcpSocket": {"port": 8000},
            "periodSeconds": 10,
            "failureThreshold": 3,
            "timeoutSeconds": 1,
        },
        "volumeMounts": [
            {"name": "dshm", "mountPath": "/dev/shm"},
            {"name": "weights", "mountPath": "/workspace/model-cache/Qwen/Qwen3-32B"},
            {"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def container_status(name: str, number: int, state: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "ready": True,
        "started": True,
        "restartCount": 0,
        "image": "ghcr.io/silogen/aim-qwen-qwen3-32b:1.0.0",
        "imageID": f"ghcr.io/silogen/aim-qwen-qwen3-32b@sha256:{number:064x}",
        "containerID": f"containerd://{number:064x}",
        "state": state,
        "lastState": {},
    }


def gpu_nodes() -> dict[str, Any]:
    ids = {"key": "amd.com/gpu.device-id", "operator": "In", "values": ["74a5", "74b9"]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [ids]}]}}


def token_sources() -> list[dict[str, Any]]:
    return [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
