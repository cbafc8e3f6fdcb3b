"""The last known state of all objects of one kind, with indexes; what reconcilers read instead of the network."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, Protocol

from typing_extensions import TypeVar

from aim_engine.kube.snapshot import Snapshot
from aim_engine.objects import Key, ObjectMeta


class HasMetadata(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=HasMetadata)


class Change(NamedTuple, Generic[T]):
    """What became of one object; `old` is None for a new one, `new` for one that is gone."""

    key: Key
    old: T | None
    new: T | None


class Index(Generic[T]):
    """Objects found by what a function says of them: nothing, one value or several."""

    def __init__(self, values: Callable[[T], Iterable[Hashable]], objects: dict[Key, T]) -> None:
        self._values = values
        self._objects = objects
        self._keys: defaultdict[Hashable, set[Key]] = defaultdict(set)
        for key, item in objects.items():
            self.move(Change(key, None, item))

    def __getitem__(self, value: Hashable) -> list[T]:
        """The objects with this value, ordered by key; none is an empty list."""
        keys = self._keys.get(value)
        return [self._objects[key] for key in sorted(keys)] if keys else []

    def move(self, change: Change[T]) -> None:
        """Follow a change of the store."""
        for value in self._values(change.old) if change.old is not None else ():
            keys = self._keys[value]
            keys.discard(change.key)
            if not keys:
                del self._keys[value]
        for value in self._values(change.new) if change.new is not None else ():
            self._keys[value].add(change.key)


def version(item: HasMetadata) -> int:
    """The resource version as a number; API servers count them up."""
    return number(item.metadata.resource_version)


def number(resource_version: str) -> int:
    return int(resource_version) if resource_version.isdecimal() else 0


class Store(Generic[T]):
    """Objects by key. Only the informer changes it; a newer version is never replaced by an older one."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._snapshots: dict[Key, Snapshot] = {}
        self._indexes: list[Index[T]] = []
        self._by_label: dict[str, Index[T]] = {}
        self._by_owner = self.index(lambda item: [owner.uid for owner in item.metadata.owner_references])
        self._by_namespace = self.index(lambda item: [item.metadata.namespace])

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._objects.values()))

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def all_keys(self) -> list[Key]:
        return list(self._objects)

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def snapshot(self, key: Key) -> Snapshot | None:
        """The object as its appliers see it, if the informer keeps that."""
        return self._snapshots.get(key)

    def in_namespace(self, namespace: str) -> list[T]:
        return self._by_namespace[namespace]

    def owned_by(self, uid: str) -> list[T]:
        """The objects that have an owner reference with this UID."""
        return self._by_owner[uid]

    def labelled(self, label: str, value: str) -> list[T]:
        """The objects with this label; the first question about a label builds its index."""
        index = self._by_label.get(label)
        if index is None:
            index = self._by_label[label] = self.index(
                lambda item: [found] if (found := item.metadata.labels.get(label)) is not None else []
            )
        return index[value]

    def index(self, values: Callable[[T], Iterable[Hashable]]) -> Index[T]:
        """A new index, kept up to date from now on; ask it with `index[value]`."""
        index = Index(values, self._objects)
        self._indexes.append(index)
        return index

    def put(self, item: T, snapshot: Snapshot | None = None, *, force: bool = False) -> Change[T] | None:
        """Take an object in; None if what is known is as new, unless forced."""
        key = item.metadata.key
        old = self._objects.get(key)
        if old is not None and version(old) >= version(item) and not force:
            return None
        self._objects[key] = item
        if snapshot is not None:
            self._snapshots[key] = snapshot
        return self._moved(Change(key, old, item))

    def drop(self, key: Key, as_of: int | None = None) -> Change[T] | None:
        """Forget an object; None if it was not known, or is known from after `as_of`."""
        old = self._objects.get(key)
        if old is None or (as_of is not None and version(old) > as_of):
            return None
        del self._objects[key]
        self._snapshots.pop(key, None)
        return self._moved(Change(key, old, None))

    def _moved(self, change: Change[T]) -> Change[T]:
        for index in self._indexes:
            index.move(change)
        return change
