"""The Node object of a machine: labels as AMD's node labeller sets them, capacity, conditions."""

import platform
from collections.abc import Iterator
from datetime import datetime

import msgspec

import aim_engine
from aim_engine.core.gpu_models import GpuModel
from aim_engine.local.node.capacity import Machine
from aim_engine.objects import Manifest

GPU = "amd.com/gpu"
CAPACITY = {"cpu": "192", "memory": "2Ti", "pods": "500", "ephemeral-storage": "4Ti"}
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    """Where a node is reached."""

    address: str
    port: int
    pod_range: str


def gpu_labels(gpu: GpuModel, count: int) -> dict[str, str]:
    """Labels of a node whose GPUs are all of one model, in the plain and in the beta form."""
    instinct = gpu.name.startswith("MI")
    facts = {
        "device-id": gpu.device_ids[0],
        "family": "AI" if instinct else "NV",
        "vram": f"{gpu.vram}G",
        "product-name": f"AMD_{'Instinct' if instinct else 'Radeon'}_{gpu.name}",
    }
    plain = {f"amd.com/gpu.{name}": value for name, value in facts.items()}
    return plain | {f"beta.amd.com/gpu.{name}.{value}": str(count) for name, value in facts.items()}


def labels(machine: Machine, gpu: GpuModel | None) -> dict[str, str]:
    """Every label of the node."""
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    return {
        "kubernetes.io/hostname": machine.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        **(gpu_labels(gpu, machine.gpus) if gpu and machine.gpus else {}),
    }


def node(machine: Machine, gpu: GpuModel | None, pod_range: str) -> Manifest:
    """The object to register."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.name, "labels": labels(machine, gpu)},
        "spec": {"podCIDR": pod_range, "podCIDRs": [pod_range], "providerID": f"aim://{machine.name}"},
    }


def resources(machine: Machine) -> dict[str, str]:
    """Capacity, which is allocatable as a whole."""
    return {**CAPACITY, **({GPU: str(machine.gpus)} if machine.gpus else {})}


def status(machine: Machine, listening: Listening, version: str, now: datetime, since: datetime) -> Manifest:
    """The status of a node that is up since then."""
    return {
        "capacity": resources(machine),
        "allocatable": resources(machine),
        "conditions": list(_conditions(now, since)),
        "addresses": [
            {"type": "InternalIP", "address": listening.address},
            {"type": "Hostname", "address": machine.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": listening.port}},
        "nodeInfo": {
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "bootID": "",
            "containerRuntimeVersion": f"aim://{aim_engine.__version__}",
            "kernelVersion": platform.release(),
            "kubeProxyVersion": "",
            "kubeletVersion": version,
            "machineID": machine.name,
            "operatingSystem": "linux",
            "osImage": "processes of this machine",
            "systemUUID": machine.name,
        },
    }


def not_ready(now: datetime, message: str) -> Manifest:
    """The part of a status that says that the node is going away."""
    return {"conditions": [_condition("Ready", "False", "KubeletNotReady", message, now, now)]}


def _conditions(now: datetime, since: datetime) -> Iterator[Manifest]:
    for kind, reason, message in _PRESSURES:
        yield _condition(kind, "False", reason, message, now, since)
    yield _condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now, since)


def _condition(kind: str, status: str, reason: str, message: str, now: datetime, since: datetime) -> Manifest:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now.isoformat(),
        "lastTransitionTime": since.isoformat(),
    }
