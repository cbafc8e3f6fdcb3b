"""Carries a plan out: deletions, then objects, then patches. What fails is collected; the rest goes on."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

import msgspec

from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.failures import told
from aim_engine.core.plan import Patch, Plan, Step, Target, Verb
from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.errors import AlreadyExists, Conflict, Fenced, Forbidden, KubeError, NotFound
from aim_engine.objects import Key


@dataclass(frozen=True)
class Outcome:
    """What came of a plan."""

    writes: int = 0
    error: str = ""
    """Why not all of it was done, as one sentence; empty if it was."""
    outrun: bool = False
    """Somebody changed, made or removed an object before we could; the next pass decides anew."""
    deleted: tuple[Target, ...] = ()
    """What was to go, if all of it did."""


@dataclass
class Tally:
    """What came of the writes so far."""

    writes: int = 0
    errors: list[str] = field(default_factory=list[str])
    outrun: bool = False

    async def count(
        self, write: Awaitable[bool], *, outrun_by: tuple[type[KubeError], ...], quiet: bool = False
    ) -> None:
        """Wait for a write; `quiet` if its failure is not worth telling."""
        try:
            self.writes += await write
        except outrun_by:
            self.outrun = True
        except Fenced:
            raise  # losing the lease is no matter of one object: that ends the pass at once
        except KubeError as error:
            if not quiet:
                self.errors.append(told(error))

    def told(self, what: str) -> str:
        """All that failed as one sentence, or nothing."""
        return f"{what}: {'; '.join(self.errors)}" if self.errors else ""


@dataclass(frozen=True)
class Executor:
    """Does what plans say, on one cluster."""

    client: Client
    cluster: Cluster
    applier: Applier

    async def carry_out(self, plan: Plan, steps: Sequence[Step], owner: str, *, force: bool) -> Outcome:
        """Do it; `steps` are the plan's objects in their final form, `owner` is the field manager."""
        tally = Tally()
        for target in plan.delete:
            await tally.count(self.delete(target), outrun_by=(Conflict,))
        if tally.errors or tally.outrun:
            return Outcome(tally.writes, tally.told("Failed to delete resources"), tally.outrun)
        for step in steps:
            await tally.count(self.make(step, owner, force), outrun_by=(AlreadyExists,))
        for patch in plan.patch:
            await tally.count(self.change(patch, owner), outrun_by=(Conflict, NotFound), quiet=patch.best_effort)
        return Outcome(tally.writes, tally.told("Failed to apply resources"), tally.outrun, plan.delete)

    async def delete(self, target: Target) -> bool:
        """Ask for a deletion; whether there was something to delete."""
        resource = self.cluster.informer(target.api_version, target.kind).resource
        try:
            await self.client.delete(resource, Key(target.namespace, target.name), uid=target.uid)
        except NotFound:
            return False
        return True

    async def clean_up(self, plan: Plan) -> int:
        """Do the deletions of an object that is going; what is forbidden, or another's by now, is not ours."""
        writes = 0
        for target in plan.delete:
            try:
                writes += await self.delete(target)
            except (Conflict, Forbidden):
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
