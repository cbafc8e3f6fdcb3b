"""All controllers of the operator, ready to run."""

from dataclasses import dataclass
from typing import Any

from aim_engine.controllers import artifact, runtime_config, template_cache
from aim_engine.controllers.carrying_out import Executor
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.pipeline import Pipeline, Timings
from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.controller import Controller
from aim_engine.kube.events import Recorder
from aim_engine.kube.metrics import Metrics

CONCEPTS: tuple[Concept[Any, Any, Any], ...] = (
    runtime_config.NAMESPACED,
    runtime_config.CLUSTER,
    artifact.ARTIFACTS,
    artifact.MODEL_CACHES,
    template_cache.TEMPLATE_CACHES,
)


@dataclass(frozen=True)
class Assembly:
    """What the operator is made of; the runtime runs it."""

    cluster: Cluster
    recorder: Recorder
    controllers: tuple[Controller, ...]


def assemble(client: Client, operator_namespace: str, metrics: Metrics, timings: Timings) -> Assembly:
    """One informer per kind and one controller per concept, on this client."""
    cluster = Cluster(client, operator_namespace)
    recorder = Recorder(client)
    executor = Executor(client, cluster, Applier(client))
    controllers = (controller(concept, executor, recorder, metrics, timings) for concept in CONCEPTS)
    return Assembly(cluster, recorder, tuple(controllers))


def controller(
    concept: Concept[Any, Any, Any], executor: Executor, recorder: Recorder, metrics: Metrics, timings: Timings
) -> Controller:
    """The controller of one concept."""
    return Controller(
        concept.controller,
        concept.informer(executor.cluster),
        Pipeline(concept, executor, recorder, timings).reconcile,
        wakes=concept.wakes(executor.cluster),
        timings=executor.client.timings,
        metrics=metrics,
    )
