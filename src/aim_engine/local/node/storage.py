"""Directories for claims: a PersistentVolume is made when the volume controller asks for one, and removed later."""

import asyncio
import shutil
from pathlib import Path

import structlog

from aim_engine.kube.client import Client
from aim_engine.kube.errors import AlreadyExists, KubeError, NotFound
from aim_engine.kube.events import Level, Recorder, Reference
from aim_engine.kube.informer import Informer
from aim_engine.kube.store import Change
from aim_engine.local.node import claims
from aim_engine.local.node.claims import CLAIMS, CLASSES, PROVISIONER, VOLUMES, Claim, PersistentVolume, StorageClass
from aim_engine.local.node.errors import MountError
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.timings import Timings
from aim_engine.objects import Key

WORKERS = 4

log = structlog.get_logger("node")


class Storage:
    """The provisioner of class `local`, and the way from a pod's claim to its directory."""

    def __init__(
        self, client: Client, recorder: Recorder, directory: Path, timings: Timings, *, forgetful: bool
    ) -> None:
        """A `forgetful` cluster starts empty, so directories of volumes it does not know are of an earlier life."""
        self._client = client
        self._recorder = recorder
        self._directory = directory
        self._timings = timings
        self._forgetful = forgetful
        self._claims = Informer(client, CLAIMS, Claim)
        self._volumes = Informer(client, VOLUMES, PersistentVolume)
        self._classes = Informer(client, CLASSES, StorageClass)
        self._todo: asyncio.Queue[Claim | PersistentVolume] = asyncio.Queue()
        self._claims.listen(self._claim_changed)
        self._volumes.listen(self._volume_changed)
        self._classes.listen(self._class_changed)

    async def install(self) -> None:
        """Make the default class, unless a class of that name is there."""
        try:
            await self._client.create(CLASSES, claims.storage_class())
        except AlreadyExists:
            return

    async def run(self) -> None:
        """Provision and reclaim until cancelled."""
        found = list(self._directory.iterdir())  # first, so that what another agent makes from now on is no stranger
        async with asyncio.TaskGroup() as group:
            for informer in (self._claims, self._volumes, self._classes):
                group.create_task(informer.run(), name=informer.name)
            for _ in range(WORKERS):
                group.create_task(self._work())
            if self._forgetful:
                await self._remove_strangers(found)

    async def find(self, namespace: str, name: str, pod: Pod) -> Path:
        """The directory of a bound claim; MountError says why there is none."""
        claim = await self._claim(Key(namespace, name))
        if claim.status.phase != "Bound":
            raise MountError(f'persistentvolumeclaim "{name}" is not bound')
        ephemeral = any(
            volume.ephemeral and f"{pod.metadata.name}-{volume.name}" == name for volume in pod.spec.volumes
        )
        owners = {owner.uid for owner in claim.metadata.owner_references}
        if ephemeral and pod.metadata.uid not in owners:
            raise MountError(
                f'persistentvolumeclaim "{name}" was not made for this pod; delete it or rename the volume'
            )
        return await self._place(claim.spec.volume_name)

    async def _claim(self, key: Key) -> Claim:
        """The claim as it is known, or as the API server has it where that may be newer: pods follow it closely."""
        known = self._claims.store.get(key)
        if known is not None and known.status.phase == "Bound":
            return known
        try:
            return await self._client.get(CLAIMS, key, Claim)
        except NotFound as error:
            raise MountError(f'persistentvolumeclaim "{key.name}" not found') from error

    async def _place(self, name: str) -> Path:
        try:
            volume = self._volumes.store.get(Key("", name)) or await self._client.get(
                VOLUMES, Key("", name), PersistentVolume
            )
        except NotFound as error:
            raise MountError(f'persistentvolume "{name}" not found') from error
        place = Path(volume.spec.host_path.path) if volume.spec.host_path else None
        if not volume.ours or place is None or place.parent != self._directory:
            raise MountError(f'persistentvolume "{name}" was not made by class {claims.CLASS} of this machine')
        place.mkdir(exist_ok=True)
        return place

    def _claim_changed(self, change: Change[Claim]) -> None:
        if change.new is not None and claims.awaits_us(change.new):
            self._todo.put_nowait(change.new)

    def _volume_changed(self, change: Change[PersistentVolume]) -> None:
        if change.new is not None and _released(change.new):
            self._todo.put_nowait(change.new)
        if change.new is None and change.old is not None and _goes_with_its_claim(change.old):
            self._todo.put_nowait(change.old)

    def _class_changed(self, change: Change[StorageClass]) -> None:
        """Claims that named the class before it was known are looked at again."""
        if change.new is None or change.new.provisioner != PROVISIONER:
            return
        for claim in self._claims.store:
            if claim.spec.storage_class_name == change.key.name and claims.awaits_us(claim):
                self._todo.put_nowait(claim)

    async def _remove_strangers(self, found: list[Path]) -> None:
        await self._volumes.wait_synced()
        await self._claims.wait_synced()
        volumes = {volume.metadata.name for volume in self._volumes.store}
        coming = {claims.volume_name(claim) for claim in self._claims.store}
        for path in found:
            if path.name not in volumes | coming:
                await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)

    async def _work(self) -> None:
        while True:
            item = await self._todo.get()
            try:
                await (self._provision(item) if isinstance(item, Claim) else self._reclaim(item))
            except KubeError as error:
                log.warning("storage work failed", object=str(item.metadata.key), error=str(error))
                asyncio.get_running_loop().call_later(self._timings.retry, self._todo.put_nowait, item)

    async def _provision(self, claim: Claim) -> None:
        await self._classes.wait_synced()
        kind = self._classes.store.get(Key("", claim.spec.storage_class_name))
        if kind is None or kind.provisioner != PROVISIONER or not claims.ready_to_provision(claim, kind):
            return
        if problem := claims.refusal(claim):
            self._tell(claim, "Warning", "ProvisioningFailed", problem)
            return
        place = self._directory / claims.volume_name(claim)
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o777)
        try:
            await self._client.create(VOLUMES, claims.volume(claim, kind, place))
        except AlreadyExists:
            return
        made = f"Successfully provisioned volume {claims.volume_name(claim)}"
        self._tell(claim, "Normal", "ProvisioningSucceeded", made)

    async def _reclaim(self, volume: PersistentVolume) -> None:
        place = self._directory / volume.metadata.name
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        try:
            await self._client.delete(VOLUMES, volume.metadata.key, uid=volume.metadata.uid)
        except NotFound:
            return

    def _tell(self, claim: Claim, level: Level, reason: str, message: str) -> None:
        metadata = claim.metadata
        about = Reference("v1", "PersistentVolumeClaim", metadata.namespace, metadata.name, metadata.uid)
        self._recorder.record(PROVISIONER, about, level, reason, message)


def _released(volume: PersistentVolume) -> bool:
    going = volume.metadata.deletion_timestamp is not None
    return _goes_with_its_claim(volume) and volume.status.phase == "Released" and not going


def _goes_with_its_claim(volume: PersistentVolume) -> bool:
    return volume.ours and volume.spec.persistent_volume_reclaim_policy == "Delete"
