"""Runtime configs as every other kind meets them: resolved at the beginning of a pass, and waking who uses them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from aim_engine.api import names
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import runtime_config
from aim_engine.core.runtime_config import CONFIG_FOUND, Resolution
from aim_engine.kube.controller import Wake
from aim_engine.kube.informer import Informer
from aim_engine.kube.store import Change, HasMetadata
from aim_engine.objects import Key, ObjectMeta

T = TypeVar("T", bound=HasMetadata)

EVERYWHERE = None


def resolve(consumer: ObjectMeta, name: str | None, cluster: Cluster, *, found: str = CONFIG_FOUND) -> Resolution:
    """The config in effect for an object that names this one; no name means `default`."""
    sought = runtime_config.wanted(consumer, name, cluster.operator_namespace)
    return runtime_config.resolve(
        sought,
        cluster.runtime_configs.store.get(sought.namespaced),
        cluster.cluster_runtime_configs.store.get(sought.cluster),
        found=found,
    )


def wakes(consumers: Informer[T], cluster: Cluster, name_of: Callable[[T], str | None]) -> Sequence[Wake[Any]]:
    """A config that appears, changes or goes wakes every object that resolves it."""

    def used(item: T) -> Iterable[tuple[str | None, str]]:
        name = name_of(item) or names.DEFAULT_RUNTIME_CONFIG
        return ((item.metadata.namespace or cluster.operator_namespace, name), (EVERYWHERE, name))

    users = consumers.store.index(used)

    def of_namespace(change: Change[Any]) -> Iterable[Key]:
        return using(change, change.key.namespace)

    def of_cluster(change: Change[Any]) -> Iterable[Key]:
        return using(change, EVERYWHERE)

    def using(change: Change[Any], where: str | None) -> Iterable[Key]:
        if change.old and change.new and change.old.spec == change.new.spec:
            return ()
        return (item.metadata.key for item in users[where, change.key.name])

    return (Wake(cluster.runtime_configs, of_namespace), Wake(cluster.cluster_runtime_configs, of_cluster))
