"""All controllers of the operator, ready to run."""

from dataclasses import dataclass
from typing import Any

from aim_engine.controllers import artifact, model, model_source, runtime_config, template, template_cache
from aim_engine.controllers.carrying_out import Executor
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.pipeline import Pipeline, Timings
from aim_engine.controllers.service import concept as service
from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.controller import Controller
from aim_engine.kube.events import Recorder
from aim_engine.kube.lock import Lock
from aim_engine.kube.metrics import Metrics
from aim_engine.objects import Key
from aim_engine.registry.client import Registry

DISCOVERY_LOCK = "aim-discovery-lock"

CONCEPTS: tuple[Concept[Any, Any, Any], ...] = (
    runtime_config.NAMESPACED,
    runtime_config.CLUSTER,
    template_cache.TEMPLATE_CACHES,
    model.MODELS,
    model.CLUSTER_MODELS,
    model_source.MODEL_SOURCES,
    service.SERVICES,
)
"""Those that know no time of their own."""


@dataclass(frozen=True)
class Assembly:
    """What the operator is made of; the runtime runs it."""

    cluster: Cluster
    recorder: Recorder
    controllers: tuple[Controller, ...]


def concepts(timings: Timings) -> tuple[Concept[Any, Any, Any], ...]:
    """Every kind, and how it is reconciled."""
    return (*CONCEPTS, *template.concepts(timings.templates), *artifact.concepts(timings.weights))


def assemble(
    client: Client, registry: Registry, operator_namespace: str, identity: str, metrics: Metrics, timings: Timings
) -> Assembly:
    """One informer per kind and one controller per concept, on this client; `identity` is who keeps locks."""
    cluster = Cluster(client, operator_namespace, registry)
    lock = Lock(client, Key(operator_namespace, DISCOVERY_LOCK), identity)
    recorder = Recorder(client)
    executor = Executor(client, cluster, Applier(client))
    controllers = list[Controller]()

    def crowded() -> bool:
        return any(len(one.queue) for one in controllers)

    recorder.give_way(crowded)
    for concept in concepts(timings):
        pipeline = Pipeline(concept, executor, recorder, timings, lock, crowded=crowded)
        controllers.append(controller(pipeline, metrics))
    return Assembly(cluster, recorder, tuple(controllers))


def controller(pipeline: Pipeline[Any, Any, Any], metrics: Metrics) -> Controller:
    """The controller that runs a pipeline."""
    concept, executor = pipeline.concept, pipeline.executor
    return Controller(
        concept.controller,
        concept.informer(executor.cluster),
        pipeline.reconcile,
        wakes=concept.wakes(executor.cluster),
        timings=executor.client.timings,
        metrics=metrics,
    )
