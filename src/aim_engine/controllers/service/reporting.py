"""The status of a service: what was resolved, where it is reached, how many replicas it has."""

from collections.abc import Sequence
from typing import Final

import msgspec

from aim_engine.api.artifact import AIMArtifact, AIMModelCache
from aim_engine.api.service import AIMServiceStatus, ServiceCache, ServiceRouting
from aim_engine.api.status import AIMStatus
from aim_engine.controllers.service.view import View
from aim_engine.core import references, scaling, service_cache
from aim_engine.core.conditions import Judgement
from aim_engine.core.plan import Target
from aim_engine.core.service import Service

DOWNLOADS: Final = frozenset({AIMArtifact.__name__, AIMModelCache.__name__})


def status(service: Service, view: View, judgement: Judgement) -> AIMServiceStatus:
    """References are kept once they were found, and replaced only by what is ready."""
    before = service.status
    model, template = view.seen.model.model, view.seen.template.usable
    model_ready = model is not None and model.status is not None and model.status.status is AIMStatus.READY
    return AIMServiceStatus(
        resolved_runtime_config=view.seen.config.reference,
        resolved_model=references.resolved(model) if model and model_ready else before.resolved_model,
        resolved_template=references.resolved(template) if template else before.resolved_template,
        status=judgement.status,
        routing=ServiceRouting(path=view.route.path) if view.route else None,
        cache=cache(service, view),
        runtime=scaling.replicas(service.spec, view.seen.served.autoscaler),
    )


def cache(service: Service, view: View) -> ServiceCache | None:
    """The cache in use, and whether its one retry was spent before."""
    before = service.status.cache or ServiceCache()
    cached = view.seen.cached
    ready = cached.cache is not None and service_cache.state(cached.cache) is AIMStatus.READY
    now = ServiceCache(
        template_cache_ref=references.resolved(cached.cache) if cached.cache and ready else before.template_cache_ref,
        retry_attempts=before.retry_attempts,
    )
    return None if now == ServiceCache() else now


def with_retry(status: AIMServiceStatus, deleted: Sequence[Target]) -> AIMServiceStatus:
    """The status in which the one retry of a failed cache is spent, if downloads were deleted for it."""
    if not any(target.kind in DOWNLOADS for target in deleted):
        return status
    spent = msgspec.structs.replace(status.cache or ServiceCache(), retry_attempts=1)
    return msgspec.structs.replace(status, cache=spent)
