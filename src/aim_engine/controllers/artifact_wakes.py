"""What wakes a download object: claims and Jobs it owns, its pods and what is said of them, rights, runtime configs."""

from collections.abc import Iterable, Sequence
from typing import Any

from aim_engine.api import names
from aim_engine.api.foreign import Event, Pod
from aim_engine.controllers import configs
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import pods
from aim_engine.core.derived_name import label_value
from aim_engine.core.download_kinds import DownloadKind
from aim_engine.kube.controller import Wake, owners
from aim_engine.kube.informer import Informer
from aim_engine.kube.store import Change
from aim_engine.objects import Key


def wakes(cluster: Cluster, informer: Informer[Any], kind: DownloadKind) -> Sequence[Wake[Any]]:
    """All that wakes the download objects of one kind."""
    by_label = informer.store.index(lambda one: [(one.metadata.namespace, label_value(one.metadata.name))])

    def of_pod(pod: Pod | None) -> Iterable[Key]:
        if pod is None or pod.metadata.labels.get(names.LABEL_CACHE_TYPE) != kind.cache_type:
            return ()
        found = by_label[pod.metadata.namespace, pod.metadata.labels.get(names.LABEL_CACHE_NAME)]
        return (one.metadata.key for one in found)

    def of_pods(change: Change[Pod]) -> Iterable[Key]:
        return of_pod(change.new or change.old) if pods.tells_more(change.old, change.new) else ()

    def of_pod_event(change: Change[Event]) -> Iterable[Key]:
        about = change.new.involved_object if change.new else None
        return of_pod(cluster.pods.store.get(Key(about.namespace, about.name))) if about else ()

    def of_claim_event(change: Change[Event]) -> Iterable[Key]:
        about = change.new.involved_object if change.new else None
        claim = cluster.claims.store.get(Key(about.namespace, about.name)) if about else None
        return owners(informer.resource)(Change(claim.metadata.key, None, claim)) if claim else ()

    def of_binding(change: Change[Any]) -> Iterable[Key]:
        if change.key.name != kind.status_updater:
            return ()
        return (one.metadata.key for one in informer.store.in_namespace(change.key.namespace))

    return (
        Wake(cluster.claims, owners(informer.resource)),
        Wake(cluster.jobs, owners(informer.resource)),
        Wake(cluster.pods, of_pods),
        Wake(cluster.pod_events, of_pod_event),
        Wake(cluster.claim_events, of_claim_event),
        Wake(cluster.role_bindings, of_binding),
        *configs.wakes(informer, cluster, lambda one: one.spec.runtime_config_name if one.spec else None),
    )
