"""What a pass makes of what it saw: the health of every part, and what pods and route should be."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.status import AIMStatus
from aim_engine.controllers.service.pod import inference_pod
from aim_engine.controllers.service.routing import Route, routed
from aim_engine.controllers.service.seen import Seen, is_ours
from aim_engine.core import inference_pods, scaling, service_cache, service_health
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency
from aim_engine.core.service import Service
from aim_engine.core.transitions import Note, Occurrence
from aim_engine.manifests.inference_service import Pod


@dataclass(frozen=True)
class View:
    """All that plan and status are made from."""

    config: RuntimeConfigSpec
    components: tuple[Component, ...]
    notes: tuple[Note, ...]
    announcements: tuple[Occurrence, ...]
    seen: Seen
    route: Route | None
    """None: there should be no route."""
    pod: Pod | None
    """None: too little is known to say what pods should be."""
    now: datetime


def observe(service: Service, seen: Seen, now: datetime) -> View:
    route, routing_health = routed(service, seen)
    pod, invalid_arguments = inference_pod(service.spec, seen)
    return View(
        config=seen.config.spec,
        components=components(service, seen, routing_health),
        notes=(),
        announcements=announcements(seen, invalid_arguments),
        seen=seen,
        route=route,
        pod=pod,
        now=now,
    )


def components(service: Service, seen: Seen, routing: Component | None) -> tuple[Component, ...]:
    """The health of every part, in the order in which the first trouble is told."""
    served = seen.served
    conflict = taken(service, served.inference_service)
    serving = conflict or service_health.inference_service(
        served.inference_service,
        served.events,
        served.name,
        installed=served.installed,
        laggards=inference_pods.laggards(served.pods, served.around_pods),
    )
    parts = [seen.model.component, seen.template.component, seen.config.component, serving]
    if served.inference_service:
        parts.append(inference_pods.inspect(served.pods, served.around_pods))
    mounted, cached = service_cache.mounts_weights(served.inference_service), seen.cached
    gone = service_cache.is_gone(service, cached.all)
    parts.append(
        service_cache.component(service, cached.mode, cached.cache, cached.downloads, mounted=mounted, gone=gone)
    )
    if routing:
        parts.append(routing)
    if scaling.is_automatic(service.spec):
        ready = serving.effective_state is AIMStatus.READY
        parts.append(service_health.autoscaler(served.autoscaler, served=ready))
    return tuple(parts)


def taken(service: Service, found: Any) -> Component | None:
    """An InferenceService of our name that belongs to somebody else is left alone, and told."""
    if found is None or is_ours(service, found):
        return None
    said = f"InferenceService {found.metadata.name} exists and belongs to another owner; rename the service"
    return Component(
        name="InferenceService",
        state=AIMStatus.FAILED,
        reason="NameConflict",
        message=said,
        dependency=Dependency.DOWNSTREAM,
        blocks=False,
    )


def announcements(seen: Seen, invalid_arguments: tuple[str, ...]) -> tuple[Occurrence, ...]:
    """What users should hear though no condition tells it."""
    told = [
        _announced("Warning", "InvalidEngineArgs", f"AIM_ENGINE_ARGS of the {layer} is no JSON object")
        for layer in invalid_arguments
    ]
    choice = seen.template.selection
    if choice:
        told += [
            _announced("Normal", "UnknownGPUModel", f"ranked last, its GPU model is not known: {unknown}")
            for unknown in choice.unknown_gpus
        ]
        verdicts = "; ".join(str(verdict) for verdict in choice.verdicts)
        told += [_announced("Normal", "TemplateSelection", verdicts)] if verdicts else []
    return tuple(told)


def _announced(kind: Any, reason: str, message: str) -> Occurrence:
    return Occurrence(type=kind, reason=reason, message=message, recurring=False)
