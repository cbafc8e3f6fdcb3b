"""Carries a plan out: deletions, then objects, then patches. What fails is collected; the rest goes on."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.failures import told
from aim_engine.core.plan import Patch, Plan, Step, Target, Verb
from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.errors import AlreadyExists, Conflict, Forbidden, KubeError, NotFound
from aim_engine.objects import Key


@dataclass(frozen=True)
class Outcome:
    """What came of a plan."""

    writes: int = 0
    error: str = ""
    """Why not all of it was done, as one sentence; empty if it was."""
    outrun: bool = False
    """Somebody changed an object, or made one of a name we wanted, before we could; the next pass decides anew."""
    deleted: tuple[Target, ...] = ()
    """What was to go, if all of it did."""


@dataclass(frozen=True)
class Executor:
    """Does what plans say, on one cluster."""

    client: Client
    cluster: Cluster
    applier: Applier

    async def carry_out(self, plan: Plan, steps: Sequence[Step], owner: str, *, force: bool) -> Outcome:
        """Do it; `steps` are the plan's objects in their final form, `owner` is the field manager."""
        writes, errors = 0, list[str]()
        for target in plan.delete:
            try:
                writes += await self.delete(target)
            except KubeError as error:
                errors.append(told(error))
        if errors:
            return Outcome(writes, f"Failed to delete resources: {'; '.join(errors)}")
        outrun = False
        for step in steps:
            try:
                writes += await self.make(step, owner, force)
            except AlreadyExists:
                outrun = True
            except KubeError as error:
                errors.append(told(error))
        for patch in plan.patch:
            try:
                writes += await self.change(patch, owner)
            except Conflict:
                outrun = True
            except KubeError as error:
                if not patch.best_effort:
                    errors.append(told(error))
        error = f"Failed to apply resources: {'; '.join(errors)}" if errors else ""
        return Outcome(writes, error, outrun, plan.delete)

    async def delete(self, target: Target) -> bool:
        """Ask for a deletion; whether there was something to delete."""
        resource = self.cluster.informer(target.api_version, target.kind).resource
        try:
            await self.client.delete(resource, Key(target.namespace, target.name), uid=target.uid)
        except NotFound:
            return False
        return True

    async def clean_up(self, plan: Plan) -> int:
        """Do the deletions of an object that is going; what we may not delete is not ours to clean up."""
        writes = 0
        for target in plan.delete:
            try:
                writes += await self.delete(target)
            except Forbidden:
                continue
        return writes

    async def make(self, step: Step, owner: str, force: bool) -> bool:
        """Make an object as planned; whether that took a write. Raises AlreadyExists if somebody else just made it."""
        informer = self.cluster.informer(step.manifest["apiVersion"], step.manifest["kind"])
        if step.verb is Verb.APPLY:
            return await self.applier.apply(informer, step.manifest, manager=owner, force=force)
        if informer.resource.key(step.manifest) in informer.store:
            return False
        informer.learn(await self.client.create(informer.resource, step.manifest, msgspec.Raw, manager=owner))
        return True

    async def change(self, patch: Patch, owner: str) -> bool:
        """Change an object that is not ours to describe."""
        informer = self.cluster.informer(patch.target.api_version, patch.target.kind)
        changed = await self.client.patch(
            informer.resource,
            Key(patch.target.namespace, patch.target.name),
            patch.body,
            msgspec.Raw,
            manager=owner,
            subresource=patch.subresource,
        )
        informer.learn(changed)
        return True
