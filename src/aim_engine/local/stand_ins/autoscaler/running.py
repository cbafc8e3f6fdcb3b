"""The program: looks at every ScaledObject when it changes and every few seconds, measures, scales, and tells."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import aiohttp
import msgspec

from aim_engine.kube.client import Client
from aim_engine.kube.controller import Controller, Wake, owners
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import PODS, Resource
from aim_engine.local.stand_ins import following
from aim_engine.local.stand_ins.autoscaler import manifests, scaling
from aim_engine.local.stand_ins.autoscaler.measuring import Measure, Unmeasured
from aim_engine.local.stand_ins.autoscaler.objects import (
    AUTOSCALERS,
    DEPLOYMENTS,
    SCALED_OBJECTS,
    Autoscaler,
    AutoscalerStatus,
    Deployment,
    Pod,
    ScaledObject,
)
from aim_engine.local.stand_ins.autoscaler.scaling import Bounds, Decision, Reading
from aim_engine.objects import Key, Manifest

MANAGER: Final = "aim-autoscaler"
CRDS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
PORT_ANNOTATION: Final = "prometheus.kserve.io/port"
USUAL_PORT: Final = "8080"
"""Where KServe expects metrics when no annotation says otherwise."""


MISSING: Final = "ScaledObject doesn't have correct scaleTargetRef specification: the Deployment is not there"


async def run(client: Client, version: str, interval: float, ready: Callable[[], None]) -> None:
    """Scale until cancelled, looking every `interval` seconds; the kinds of KEDA have to be installed.

    `version` is the one of KEDA that is stood in for.
    """
    await client.apply(CRDS, manifests.COLLECTORS, manager=MANAGER, force=True)
    filled = asyncio.Event()
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        autoscaler = _Autoscaler(client, session, version, interval)
        group.create_task(following.follow(autoscaler.informers, [autoscaler.controller], filled))
        await filled.wait()
        ready()


class _Course:
    """What is remembered of one ScaledObject between two looks."""

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.measure = Measure()
        self.proposals: deque[tuple[float, int]] = deque()
        self.applied: Manifest | None = None


class _Autoscaler:
    def __init__(self, client: Client, session: aiohttp.ClientSession, version: str, interval: float) -> None:
        self._client, self._session, self._version, self._interval = client, session, version, interval
        self._items = Informer(client, SCALED_OBJECTS, ScaledObject)
        self._autoscalers = Informer(client, AUTOSCALERS, Autoscaler)
        self._deployments = Informer(client, DEPLOYMENTS, Deployment)
        self._pods = Informer(client, PODS, Pod)
        self._courses: dict[Key, _Course] = {}
        by_target = self._items.store.index(
            lambda item: [Key(item.metadata.namespace, item.spec.scale_target_ref.name)]
        )
        self.informers: tuple[Informer[Any], ...] = (self._items, self._autoscalers, self._deployments, self._pods)
        self.controller = Controller(
            "scaled-object",
            self._items,
            self._look,
            wakes=(
                Wake(self._autoscalers, owners(SCALED_OBJECTS)),
                Wake(self._deployments, lambda change: [item.metadata.key for item in by_target[change.key]]),
            ),
            workers=4,
        )

    async def _look(self, key: Key) -> float | None:
        item = self._items.store.get(key)
        if item is None or item.metadata.deletion_timestamp:
            self._courses.pop(key, None)
            return None
        course = self._courses.get(key)
        if course is None or course.uid != item.metadata.uid:
            course = self._courses[key] = _Course(item.metadata.uid)
        deployment = self._deployments.store.get(Key(key.namespace, item.spec.scale_target_ref.name))
        refusal = MISSING if deployment is None else _refusal(item)
        if deployment is None or refusal:
            await self._tell(item, None, refusal, active=False)
            return None
        await self._make(item, course)
        await self._scale(item, course, deployment)
        return self._interval

    async def _make(self, item: ScaledObject, course: _Course) -> None:
        """Have the HorizontalPodAutoscaler be as the ScaledObject wants it."""
        wanted = manifests.autoscaler(item, self._version)
        if course.applied != wanted or self._autoscalers.store.get(AUTOSCALERS.key(wanted)) is None:
            made = await self._client.apply(AUTOSCALERS, wanted, msgspec.Raw, manager=MANAGER, force=True)
            self._autoscalers.learn(made)
            course.applied = wanted

    async def _scale(self, item: ScaledObject, course: _Course, deployment: Deployment) -> None:
        current = deployment.spec.replicas
        readings, problem = await self._measured(item, course, deployment)
        decision = self._decided(item, course, current, readings)
        if decision.replicas != current:
            change = {"spec": {"replicas": decision.replicas}}
            await self._client.patch(DEPLOYMENTS, deployment.metadata.key, change, manager=MANAGER, subresource="scale")
        await self._report(item, deployment, decision, (readings, problem))
        await self._tell(item, current, None, active=any(reading.total > 0 for reading in readings))

    async def _measured(
        self, item: ScaledObject, course: _Course, deployment: Deployment
    ) -> tuple[list[Reading], str | None]:
        """The readings, or why there are none."""
        labels = deployment.spec.selector.match_labels.items()
        pods = [
            pod
            for pod in self._pods.store.in_namespace(item.metadata.namespace)
            if pod.is_ready and labels <= pod.metadata.labels.items()
        ]
        port = item.metadata.annotations.get(PORT_ANNOTATION, USUAL_PORT)
        try:
            return await course.measure.read(self._session, item.spec.triggers, pods, port), None
        except Unmeasured as problem:
            return [], str(problem)

    def _decided(self, item: ScaledObject, course: _Course, current: int, readings: list[Reading]) -> Decision:
        proposal = scaling.wanted(current, readings)
        now = asyncio.get_running_loop().time()
        if proposal is None:
            proposal = current
        else:
            since = now - item.spec.advanced.horizontal_pod_autoscaler_config.down_window
            while course.proposals and course.proposals[0][0] < since:
                course.proposals.popleft()
            course.proposals.append((now, proposal))
            if proposal < current:
                proposal = min(current, scaling.steadied(proposal, course.proposals, since))
        return scaling.bounded(proposal, Bounds(max(1, item.spec.min_replica_count), item.spec.max_replica_count))

    async def _report(
        self,
        item: ScaledObject,
        deployment: Deployment,
        decision: Decision,
        measured: tuple[list[Reading], str | None],
    ) -> None:
        """Write the status of the HorizontalPodAutoscaler."""
        key = Key(item.metadata.namespace, manifests.name_of(item))
        found = self._autoscalers.store.get(key)
        if found is None:
            return
        readings, problem = measured
        said = manifests.conditions(problem, decision, deployment.spec.replicas)
        running = deployment.status.replicas
        status = AutoscalerStatus(
            current_replicas=running,
            desired_replicas=decision.replicas,
            observed_generation=found.metadata.generation or None,
            conditions=following.told(said, found.status.conditions),
            current_metrics=tuple(manifests.current_metrics(item, readings, running)) or None,
        )
        if status != found.status:
            plain: Manifest = {
                "currentReplicas": 0,
                "desiredReplicas": 0,
                "currentMetrics": None,
                **msgspec.to_builtins(status),
            }
            await self._client.patch(AUTOSCALERS, key, {"status": plain}, manager=MANAGER, subresource="status")

    async def _tell(self, item: ScaledObject, replicas: int | None, problem: str | None, *, active: bool) -> None:
        """Write the status of the ScaledObject."""
        status = manifests.status(item, replicas, problem, active)
        if status != item.status:
            change: Manifest = {"status": msgspec.to_builtins(status)}
            await self._client.patch(SCALED_OBJECTS, item.metadata.key, change, manager=MANAGER, subresource="status")


def _refusal(item: ScaledObject) -> str | None:
    """Why a ScaledObject can't be followed at all."""
    if item.spec.scale_target_ref.kind != "Deployment":
        return f"the local autoscaler scales Deployments, not {item.spec.scale_target_ref.kind}"
    if not item.spec.triggers:
        return "no triggers defined in the ScaledObject/ScaledJob"
    if item.spec.max_replica_count < item.spec.min_replica_count:
        return (
            f"MinReplicaCount={item.spec.min_replica_count} must be less than "
            f"MaxReplicaCount={item.spec.max_replica_count}"
        )
    return None
