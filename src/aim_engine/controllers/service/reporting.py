"""The status of a service: what was resolved, where it is reached, how many replicas it has."""

from aim_engine.api.service import AIMServiceStatus, ServiceCache, ServiceRouting
from aim_engine.api.status import AIMStatus
from aim_engine.controllers.service.view import View
from aim_engine.core import references, scaling, service_cache
from aim_engine.core.conditions import Judgement
from aim_engine.core.service import Service


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
        cache=cache(service, view, judgement),
        runtime=scaling.replicas(service.spec, view.seen.served.autoscaler),
    )


def cache(service: Service, view: View, judgement: Judgement) -> ServiceCache | None:
    """The cache in use, and whether its one retry was spent."""
    before = service.status.cache or ServiceCache()
    cached = view.seen.cached
    ready = cached.cache is not None and service_cache.state(cached.cache) is AIMStatus.READY
    retried = judgement.decision.may_apply and service_cache.to_retry(service, cached.cache, cached.downloads)
    now = ServiceCache(
        template_cache_ref=references.resolved(cached.cache) if cached.cache and ready else before.template_cache_ref,
        retry_attempts=1 if retried else before.retry_attempts,
    )
    return None if now == ServiceCache() else now
