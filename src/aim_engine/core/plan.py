"""What a pass wants to be so: data that can be compared, printed and refused before anything is sent."""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.api.runtime_config import LabelPropagation
from aim_engine.core import labels
from aim_engine.core.parent import Parent
from aim_engine.objects import Manifest, ObjectMeta


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """An object that exists, by name; a UID makes sure that it is the one that was seen."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """A small change to an object that this plan does not describe as a whole."""

    target: Target
    body: Any
    """A merge patch, or a JSON patch if it is a sequence of operations."""
    subresource: str = ""
    best_effort: bool = False
    """Failure is not worth telling anybody."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a pass wants done; nothing of it has happened yet."""

    apply: tuple[Manifest, ...] = ()
    """To be as described, and to go with the parent."""
    apply_unowned: tuple[Manifest, ...] = ()
    """To be as described, and to outlive the parent."""
    create: tuple[Manifest, ...] = ()
    """To exist and to go with the parent; left alone once there."""
    create_unowned: tuple[Manifest, ...] = ()
    """To exist; left alone once there."""
    delete: tuple[Target, ...] = ()
    patch: tuple[Patch, ...] = ()
    requeue_after: timedelta | None = None

    def __add__(self, other: "Plan") -> "Plan":
        """Both plans in one; the earlier requeue counts."""
        delays = [delay for delay in (self.requeue_after, other.requeue_after) if delay is not None]
        return Plan(
            apply=self.apply + other.apply,
            apply_unowned=self.apply_unowned + other.apply_unowned,
            create=self.create + other.create,
            create_unowned=self.create_unowned + other.create_unowned,
            delete=self.delete + other.delete,
            patch=self.patch + other.patch,
            requeue_after=min(delays, default=None),
        )


class Verb(StrEnum):
    """What is done with an object."""

    APPLY = "apply"
    CREATE = "create"


class Step(msgspec.Struct, frozen=True):
    """One write, complete: labels and owner are in the manifest."""

    verb: Verb
    manifest: Manifest

    def __str__(self) -> str:
        return f"{self.verb} {target(self.manifest)}"


def steps(plan: Plan, parent: Parent, propagation: LabelPropagation | None) -> tuple[Step, ...]:
    """The writes of a plan in the order they are made: owned objects first, each group sorted by kind and name."""

    def ordered(verb_of: Iterable[tuple[Verb, tuple[Manifest, ...]]], owned: bool) -> list[Step]:
        wanted = [
            Step(verb, _complete(child, parent, propagation, owned)) for verb, group in verb_of for child in group
        ]
        return sorted(wanted, key=lambda step: sort_key(step.manifest))

    with_owner = ((Verb.APPLY, plan.apply), (Verb.CREATE, plan.create))
    without = ((Verb.APPLY, plan.apply_unowned), (Verb.CREATE, plan.create_unowned))
    return (*ordered(with_owner, owned=True), *ordered(without, owned=False))


def sort_key(manifest: Manifest) -> tuple[str, str, str, str, str]:
    """Group, version, kind, namespace, name."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    metadata = manifest["metadata"]
    return group, version, manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def target(manifest: Manifest) -> Target:
    """The object a manifest describes."""
    metadata = manifest["metadata"]
    return Target(
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
    )


def aim_target(kind: str, metadata: ObjectMeta) -> Target:
    """One of our own objects that was seen."""
    return Target(
        api_version=names.API_VERSION, kind=kind, namespace=metadata.namespace, name=metadata.name, uid=metadata.uid
    )


def with_owner(child: Manifest, parent: Parent) -> Manifest:
    """The child with a reference to its parent; a reference of the same UID is replaced, others are kept."""
    if not parent.may_own(child):
        return child
    metadata = child["metadata"]
    others = [owner for owner in metadata.get("ownerReferences", ()) if owner.get("uid") != parent.metadata.uid]
    return {**child, "metadata": {**metadata, "ownerReferences": [*others, parent.owner_reference]}}


class Finalizers(msgspec.Struct, frozen=True):
    """Finalizers of an object as they should be."""

    wanted: tuple[str, ...]
    changed: bool


def with_finalizer(metadata: ObjectMeta, finalizer: str) -> Finalizers:
    """The finalizers with this one among them."""
    present = finalizer in metadata.finalizers
    return Finalizers(metadata.finalizers if present else (*metadata.finalizers, finalizer), not present)


def without_finalizers(metadata: ObjectMeta, *finalizers: str) -> Finalizers:
    """The finalizers without these."""
    left = tuple(finalizer for finalizer in metadata.finalizers if finalizer not in finalizers)
    return Finalizers(left, left != metadata.finalizers)


def is_paused(metadata: ObjectMeta) -> bool:
    """Whether its user asked to leave the object alone, with exactly the word `true`."""
    return metadata.annotations.get(names.ANNOTATION_PAUSED) == "true"


def _complete(child: Manifest, parent: Parent, propagation: LabelPropagation | None, owned: bool) -> Manifest:
    dressed = labels.dressed(child, parent, propagation)
    return with_owner(dressed, parent) if owned else dressed
