"""A world in stores, for tests of controllers: YAML in, one look, and the plan and status that come of it.

Nothing is sent anywhere: the stores are filled as the answers of an API server would fill them.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import yaml

from aim_engine.controllers.carrying_out import Executor
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.pipeline import Pipeline, stored_conditions
from aim_engine.core import plan, transitions
from aim_engine.core.parent import Parent
from aim_engine.core.plan import Plan, Step
from aim_engine.core.transitions import Occurrence
from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.events import Recorder
from aim_engine.kube.informer import Informer
from aim_engine.objects import Key, Manifest
from aim_engine.registry.client import Registry

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAMESPACE = "team"
REGISTRY = Registry()
"""Of all worlds, none of which asks it: reading the certificates that it trusts takes longer than a whole test."""


class Stored(Cluster):
    """The stores, and the logs of containers."""

    def __init__(self, client: Client, logs: Mapping[str, str]) -> None:
        super().__init__(client, "aim-system", REGISTRY)
        self.logs = logs

    async def log(self, pod: Key, container: str, *, tail: int, limit: int | None = None) -> str | None:  # noqa: ARG002
        return self.logs.get(f"{pod.name}/{container}")


@dataclass(frozen=True)
class Look:
    """What one look came to."""

    plan: Plan
    steps: tuple[Step, ...]
    """The plan's objects in their final form; none if it may not be carried out."""
    may_apply: bool
    status: Manifest
    told: tuple[Occurrence, ...] = ()
    """What users hear of it."""

    @property
    def word(self) -> str:
        return str(self.status["status"])

    def condition(self, kind: str) -> str:
        """Status and reason of a condition, as in `False/PvcPending`; empty if there is none."""
        found = next((one for one in self.status["conditions"] if one["type"] == kind), None)
        return f"{found['status']}/{found['reason']}" if found else ""

    def message(self, kind: str) -> str:
        """What a condition says."""
        return next((str(one["message"]) for one in self.status["conditions"] if one["type"] == kind), "")

    def manifest(self, kind: str) -> Manifest:
        """The one object of a kind that would be made, as it is sent."""
        (found,) = [step for step in self.steps if step.manifest["kind"] == kind]
        return self.as_sent(found)

    @staticmethod
    def as_sent(step: Step) -> Manifest:
        """The object as the API server gets it."""
        plain: Manifest = msgspec.json.decode(msgspec.json.encode(step.manifest))
        return plain

    @property
    def made(self) -> list[str]:
        """What would be made, as in `Job tiny-download-1234`."""
        return [f"{step.manifest['kind']} {step.manifest['metadata']['name']}" for step in self.steps]


class World:
    """Objects of all kinds, as the stores know them."""

    def __init__(self, *manifests: Manifest | str, logs: Mapping[str, str] | None = None) -> None:
        self.client = Client(Connection(server="http://127.0.0.1:1"))
        self.cluster = Stored(self.client, logs or {})
        self.versions = itertools.count(1)
        for manifest in manifests:
            self.put(manifest)

    def put(self, manifest: Manifest | str) -> None:
        """Add or change objects; a text may hold several YAML documents."""
        documents = yaml.safe_load_all(manifest) if isinstance(manifest, str) else (manifest,)
        for document in documents:
            informer = self._informer(document["apiVersion"], document["kind"])
            scope = {"namespace": NAMESPACE} if informer.resource.namespaced else {}
            given = document.get("metadata", {})
            uid = f"uid-of-{document['kind'].lower()}-{given['name']}"
            metadata = {**scope, "uid": uid, "generation": 1, **given, "resourceVersion": str(next(self.versions))}
            informer.learn(msgspec.Raw(msgspec.json.encode({**document, "metadata": metadata})))

    def _informer(self, api_version: str, kind: str) -> Informer[Any]:
        """Secrets are only watched, and only their metadata: no manifest of ours is one."""
        return self.cluster.secrets if kind == "Secret" else self.cluster.informer(api_version, kind)

    def drop(self, kind: str, name: str, api_version: str = "aim.eai.amd.com/v1alpha1") -> None:
        self.cluster.informer(api_version, kind).store.drop(Key(NAMESPACE, name))

    async def look(
        self, concept: Concept[Any, Any, Any], name: str, now: datetime = NOW, namespace: str = NAMESPACE
    ) -> Look:
        """One look at an object, with the status that would be stored."""
        executor = Executor(self.client, self.cluster, Applier(self.client))
        pipeline = Pipeline(concept, executor, Recorder(self.client))
        item = concept.informer(self.cluster).store.get(Key(namespace, name))
        assert item is not None, f"there is no {concept.resource.kind} {name}"
        walk = await pipeline.look(item, now)
        settled = transitions.settle(walk.judgement.notes, stored_conditions(item), item.metadata.generation, now)
        may_apply = walk.judgement.decision.may_apply
        status: Any = concept.status(item, walk.view, walk.judgement)
        status = concept.counts(status, walk.plan.delete if may_apply else ())
        stored = msgspec.structs.replace(status, conditions=settled.conditions, observed_generation=1)
        parent = Parent(concept.resource.kind, concept.controller, item.metadata)
        steps = plan.steps(walk.plan, parent, walk.view.config.label_propagation) if may_apply else ()
        told = (*settled.occurrences, *concept.announces(walk.view))
        return Look(walk.plan, steps, may_apply, msgspec.to_builtins(stored), told)

    async def settle(
        self, concept: Concept[Any, Any, Any], name: str, now: datetime = NOW, namespace: str = NAMESPACE
    ) -> Look:
        """One look whose plan is carried out in the stores: objects are made, promoted and deleted."""
        look = await self.look(concept, name, now, namespace)
        for target in look.plan.delete if look.may_apply else ():
            self.drop(target.kind, target.name, target.api_version)
        for step in look.steps:
            informer = self.cluster.informer(step.manifest["apiVersion"], step.manifest["kind"])
            if informer.resource.key(step.manifest) not in informer.store:
                self.put(step.manifest)
        for patch in look.plan.patch if look.may_apply else ():
            self.promote(patch.target.api_version, patch.target.kind, patch.target.name)
        item: Any = concept.informer(self.cluster).store.get(Key(namespace, name))
        whole = {"apiVersion": concept.resource.api_version, "kind": concept.resource.kind}
        self.put({**whole, **msgspec.to_builtins(item), "status": look.status})
        return look

    def promote(self, api_version: str, kind: str, name: str) -> None:
        """Take the owners off an object."""
        item: Any = self.cluster.informer(api_version, kind).store.get(Key(NAMESPACE, name))
        metadata = {**msgspec.to_builtins(item.metadata), "ownerReferences": []}
        self.put({"apiVersion": api_version, "kind": kind, **msgspec.to_builtins(item), "metadata": metadata})
