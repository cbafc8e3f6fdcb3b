"""Server-side apply that sends an object only when it differs from what is there."""

from hashlib import sha256
from typing import Any

import msgspec

from aim_engine.kube.client import Client
from aim_engine.kube.differs import Difference, differences
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import Resource
from aim_engine.kube.snapshot import Snapshot, take
from aim_engine.kube.store import Change
from aim_engine.objects import Key, Manifest


class Applier:
    """Applies the objects of all kinds; one per process, because it remembers what the server would not take."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._followed: set[Resource] = set()
        self._stubborn: dict[tuple[Resource, Key], tuple[str, bytes, tuple[str, ...]]] = {}
        """What still differed in the answer to an apply, because a webhook changed it: that counts as equal."""
        self._equal: dict[tuple[Resource, Key], tuple[str, bytes, Snapshot]] = {}
        """Which plan was last found to be equal to which object; most passes change neither."""

    def pending(self, informer: Informer[Any], manifest: Manifest, manager: str) -> list[Difference] | None:
        """Why the object would be sent; empty if it would not, None if it is not there at all."""
        key = informer.resource.key(manifest)
        snapshot = informer.store.snapshot(key)
        if snapshot is None:
            return None
        which, digest = (informer.resource, key), _digest(manifest)
        if self._equal.get(which) != (manager, digest, snapshot):
            found = differences(manifest, snapshot, manager)
            if found and self._stubborn.get(which) != (manager, digest, _told(found)):
                return found
            self._follow(informer)
        self._equal[which] = (manager, digest, snapshot)
        return []

    async def apply(self, informer: Informer[Any], manifest: Manifest, *, manager: str, force: bool = False) -> bool:
        """Make the object as planned; true if that took a write. The store knows the answer at once."""
        if self.pending(informer, manifest, manager) == []:
            return False
        resource, key = informer.resource, informer.resource.key(manifest)
        answer = await self._client.apply(resource, manifest, msgspec.Raw, manager=manager, force=force)
        informer.learn(answer)
        self._follow(informer)
        left = differences(manifest, take(answer, {manager}), manager)
        if left:
            self._stubborn[resource, key] = (manager, _digest(manifest), _told(left))
        else:
            self._stubborn.pop((resource, key), None)
        return True

    def _follow(self, informer: Informer[Any]) -> None:
        """Forget what we know of objects that are gone."""
        if informer.resource not in self._followed:
            self._followed.add(informer.resource)
            informer.listen(lambda change: self._forget(informer.resource, change))

    def _forget(self, resource: Resource, change: Change[Any]) -> None:
        if change.new is None:
            self._stubborn.pop((resource, change.key), None)
            self._equal.pop((resource, change.key), None)


def _digest(manifest: Manifest) -> bytes:
    return sha256(msgspec.json.encode(manifest, order="sorted")).digest()


def _told(found: list[Difference]) -> tuple[str, ...]:
    return tuple(map(str, found))
