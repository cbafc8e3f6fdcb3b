"""The volumes of one pod as directories, and how its containers see them."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from aim_engine.kube.errors import KubeError
from aim_engine.local.container.run import Mount
from aim_engine.local.node import files, payload
from aim_engine.local.node.api_server import PodApi, TokenStatus
from aim_engine.local.node.container_spec import Container, VolumeMount
from aim_engine.local.node.downward import Placement
from aim_engine.local.node.errors import MountError, PodError
from aim_engine.local.node.expansion import expand
from aim_engine.local.node.layout import PodLayout
from aim_engine.local.node.payload import Owner
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.volume_spec import Volume

FindClaim = Callable[[str, str, Pod], Awaitable[Path]]
"""Namespace, claim and pod -> the directory of the bound volume; MountError if there is none."""


class Volumes:
    """Makes the directories once and keeps tokens and downward files fresh while the pod runs."""

    def __init__(self, layout: PodLayout, api: PodApi, find_claim: FindClaim, *, token_life: float) -> None:
        self._layout = layout
        self._api = api
        self._find_claim = find_claim
        self._token_life = token_life
        self._places: dict[str, Path] = {}
        self._read_only: set[str] = set()
        self._tokens: dict[str, dict[str, TokenStatus]] = {}

    async def prepare(self, pod: Pod, placement: Placement) -> None:
        """Make every volume ready; MountError names the one that can't be and why."""
        for volume in pod.spec.volumes:
            try:
                await self._make(volume, pod, placement)
            except (PodError, KubeError) as error:
                raise MountError(f'MountVolume.SetUp failed for volume "{volume.name}" : {error}') from error

    async def refresh(self, pod: Pod, placement: Placement) -> None:
        """Write the files anew where labels, ConfigMaps, Secrets or the time left of a token ask for it."""
        for volume in pod.spec.volumes:
            if files.projections(volume):
                await self._make(volume, pod, placement)

    def refresh_after(self, now: datetime) -> float | None:
        """Seconds until a token has to be replaced; `None` without tokens."""
        moments = [at for held in self._tokens.values() for at in map(self._renewal, held.values())]
        return max(0.0, (min(moments) - now).total_seconds()) if moments else None

    def mounts(self, container: Container, environment: Mapping[str, str]) -> tuple[Mount, ...]:
        """How the container sees its volumes, outer paths first."""
        made = [self._mount(mount, environment) for mount in container.volume_mounts]
        return tuple(sorted(made, key=lambda mount: mount.target.count("/")))

    async def _make(self, volume: Volume, pod: Pod, placement: Placement) -> None:
        place = self._layout.volume(volume.name)
        if volume.empty_dir:
            await asyncio.to_thread(_shared_directory, place, pod.spec.security_context.fs_group)
        elif files.projections(volume):
            await self._write_files(volume, pod, placement, place)
            self._read_only.add(volume.name)
        elif volume.persistent_volume_claim or volume.ephemeral:
            place = await self._claim(volume, pod)
        else:
            raise MountError(_refusal(volume))
        self._places[volume.name] = place

    async def _write_files(self, volume: Volume, pod: Pod, placement: Placement, place: Path) -> None:
        data = await self._api.data(pod.metadata.namespace, files.references(volume))
        held = self._tokens.setdefault(volume.name, {})
        for source in files.tokens(volume):
            if source.path not in held or self._renewal(held[source.path]) <= datetime.now(UTC):
                held[source.path] = await self._api.token(pod, source)
        tokens = {path: status.token for path, status in held.items()}
        inputs = files.Inputs(pod=pod, placement=placement, data=data, tokens=tokens)
        context = pod.spec.security_context
        payload.write(place, files.build(volume, inputs), Owner(context.run_as_user, context.fs_group))

    async def _claim(self, volume: Volume, pod: Pod) -> Path:
        claim = volume.persistent_volume_claim
        name = claim.claim_name if claim else f"{pod.metadata.name}-{volume.name}"
        place = await self._find_claim(pod.metadata.namespace, name, pod)
        if claim and claim.read_only:
            self._read_only.add(volume.name)
        if pod.spec.security_context.fs_group is not None:
            await asyncio.to_thread(_give_to_group, place, pod.spec.security_context.fs_group)
        return place

    def _mount(self, mount: VolumeMount, environment: Mapping[str, str]) -> Mount:
        place = self._places[mount.name]
        inner = expand(mount.sub_path_expr, environment) if mount.sub_path_expr else mount.sub_path
        source = _below(place, inner) if inner else place
        return Mount(source, mount.mount_path, mount.read_only or mount.name in self._read_only)

    def _renewal(self, status: TokenStatus) -> datetime:
        return status.issued_at + (status.expiration_timestamp - status.issued_at) * self._token_life


def _below(place: Path, inner: str) -> Path:
    """The path inside the volume, made a directory if nothing is there; links may not lead out of the volume."""
    found = (place / inner).resolve()
    if not found.is_relative_to(place.resolve()):
        raise MountError(f'subPath "{inner}" leads out of its volume')
    if not found.exists():
        found.mkdir(parents=True)
        found.chmod(0o777)
    return found


def _shared_directory(place: Path, group: int | None) -> None:
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o777)
    if group is not None:
        _give_to_group(place, group)


def _give_to_group(place: Path, group: int) -> None:
    """Let the group own the volume and whatever is made in it; only root can."""
    if os.geteuid() != 0:
        return
    for path in (place, *_everything_below(place)):
        information = path.lstat()
        os.chown(path, -1, group, follow_symlinks=False)
        if path.is_symlink():
            continue
        extra = 0o2070 if path.is_dir() else 0o060
        path.chmod(information.st_mode & 0o7777 | extra)


def _everything_below(place: Path) -> Iterator[Path]:
    for root, directories, names in os.walk(place):
        yield from (Path(root, name) for name in (*directories, *names))


def _refusal(volume: Volume) -> str:
    if volume.host_path:
        return (
            "hostPath volumes are refused by this node, because they would show containers the files of this machine; "
            "use an emptyDir or a PersistentVolumeClaim"
        )
    return (
        "this kind of volume is not offered by this node; it has emptyDir, configMap, secret, downwardAPI, projected, "
        "persistentVolumeClaim and ephemeral"
    )
