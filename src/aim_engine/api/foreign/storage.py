"""Volumes."""

from aim_engine.api.foreign.common import ForeignCondition, Quantities
from aim_engine.objects import ObjectMeta, Wire


class VolumeResources(Wire):
    requests: Quantities = {}


class PersistentVolumeClaimSpec(Wire):
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_name: str = ""
    resources: VolumeResources = VolumeResources()


class PersistentVolumeClaimStatus(Wire):
    phase: str = ""
    capacity: Quantities = {}
    conditions: tuple[ForeignCondition, ...] = ()


class PersistentVolumeClaim(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class StorageClass(Wire):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str = ""
