"""Narrow views of claims and volumes, and what provisioning one means: values in, values out."""

from pathlib import Path

import msgspec

from aim_engine.api.quantity import Quantity
from aim_engine.kube.resource import Resource
from aim_engine.objects import Manifest, ObjectMeta, Wire

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)

PROVISIONER = "local.aim.eai.amd.com"
CLASS = "local"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
ASKED_OF = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")
SELECTED_NODE = "volume.kubernetes.io/selected-node"


class Asked(Wire):
    """How much a claim asks for."""

    requests: dict[str, Quantity] = msgspec.field(default_factory=dict[str, Quantity])


class ClaimSpec(Wire):
    """What a claim asks for."""

    access_modes: tuple[str, ...] = ()
    resources: Asked = Asked()
    storage_class_name: str = ""
    volume_name: str = ""
    volume_mode: str = "Filesystem"


class Phase(Wire):
    """How far a claim or a volume is."""

    phase: str = ""


class Claim(Wire):
    """A PersistentVolumeClaim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimSpec = ClaimSpec()
    status: Phase = Phase()


class Directory(Wire):
    """A directory of the host."""

    path: str = ""


class VolumeSpec(Wire):
    """Where a volume is and what happens to it when its claim goes."""

    host_path: Directory | None = None
    persistent_volume_reclaim_policy: str = "Retain"


class PersistentVolume(Wire):
    """A PersistentVolume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeSpec = VolumeSpec()
    status: Phase = Phase()

    @property
    def ours(self) -> bool:
        """Whether a local node made it."""
        return self.metadata.annotations.get(PROVISIONED_BY) == PROVISIONER


class StorageClass(Wire):
    """As much of a StorageClass as provisioning needs."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"


def storage_class() -> Manifest:
    """The default class of a local cluster."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def awaits_us(claim: Claim) -> bool:
    """Whether the volume controller asked for a volume of ours."""
    asked = any(claim.metadata.annotations.get(name) == PROVISIONER for name in ASKED_OF)
    going = claim.metadata.deletion_timestamp is not None
    return asked and not claim.spec.volume_name and not going


def ready_to_provision(claim: Claim, kind: StorageClass) -> bool:
    """Whether the volume may be made now: a class that waits for its first consumer waits for the node of that."""
    waits = kind.volume_binding_mode == "WaitForFirstConsumer"
    return not waits or SELECTED_NODE in claim.metadata.annotations


def refusal(claim: Claim) -> str | None:
    """Why a claim can't have a directory."""
    if claim.spec.volume_mode != "Filesystem":
        return f"volumeMode {claim.spec.volume_mode} is not offered by class {CLASS}, which has directories only."
    return None


def volume_name(claim: Claim) -> str:
    """The name every provisioner gives the volume of a claim."""
    return f"pvc-{claim.metadata.uid}"


def volume(claim: Claim, kind: StorageClass, directory: Path) -> Manifest:
    """The volume of a claim, bound to it by name."""
    metadata = claim.metadata
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume_name(claim), "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "accessModes": list(claim.spec.access_modes),
            "capacity": {"storage": claim.spec.resources.requests.get("storage", "0")},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata.namespace,
                "name": metadata.name,
                "uid": metadata.uid,
            },
            "hostPath": {"path": str(directory), "type": "Directory"},
            "persistentVolumeReclaimPolicy": kind.reclaim_policy,
            "storageClassName": kind.metadata.name,
            "volumeMode": "Filesystem",
        },
    }
