"""What goes with a service beside what Kubernetes collects: caches it began that are not done."""

from aim_engine.api import names
from aim_engine.api.artifact import CacheMode
from aim_engine.api.service import AIMService
from aim_engine.api.status import AIMStatus
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import service_cache
from aim_engine.core.derived_name import label_value
from aim_engine.core.plan import Plan, aim_target


def cleanup(service: AIMService, cluster: Cluster) -> Plan:
    """Caches of this service that are not ready, unless others need them; nothing if the namespace goes anyway."""
    namespace = service.metadata.namespace
    if cluster.is_ending(namespace):
        return Plan()
    mine = cluster.template_caches.store.labelled(names.LABEL_SERVICE, label_value(service.metadata.name) or "unnamed")
    unfinished = [
        cache
        for cache in mine
        if cache.metadata.namespace == namespace
        and service_cache.state(cache) is not AIMStatus.READY
        and not is_needed(cache, service, cluster)
    ]
    return Plan(delete=tuple(aim_target("AIMTemplateCache", cache.metadata) for cache in unfinished))


def is_needed(cache: AIMTemplateCache, leaving: AIMService, cluster: Cluster) -> bool:
    """Whether a Shared cache is one that another service of the namespace runs by, or is about to."""
    if cache.spec is None or cache.spec.mode is CacheMode.DEDICATED:
        return False
    return any(
        other.metadata.uid != leaving.metadata.uid
        and other.metadata.deletion_timestamp is None
        and other.status is not None
        and other.status.resolved_template is not None
        and other.status.resolved_template.name == cache.spec.template_name
        for other in cluster.services.store.in_namespace(cache.metadata.namespace)
    )
