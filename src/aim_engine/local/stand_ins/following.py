"""Stand-ins that follow the cluster: stores that fill, controllers that then work, until they are told to end."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from aim_engine.kube.controller import Controller
from aim_engine.kube.informer import Informer
from aim_engine.objects import Condition


async def follow(
    informers: Sequence[Informer[Any]], controllers: Sequence[Controller], following: asyncio.Event
) -> None:
    """Run them until cancelled; `following` is set when the stores hold what the cluster has."""
    async with asyncio.TaskGroup() as group:
        for informer in informers:
            group.create_task(informer.run(), name=informer.name)
        for informer in informers:
            await informer.wait_synced()
        for controller in controllers:
            group.create_task(controller.run(), name=controller.name)
        following.set()


def told(now: Sequence[Condition], before: Sequence[Condition], generation: int | None = None) -> tuple[Condition, ...]:
    """The conditions with the time since when each has its status, which is kept while that stays."""
    known = {condition.type: condition for condition in before}
    moment = datetime.now(UTC).replace(microsecond=0)
    return tuple(
        msgspec.structs.replace(
            condition,
            observed_generation=generation,
            last_transition_time=known[condition.type].last_transition_time
            if condition.type in known and known[condition.type].status == condition.status
            else moment,
        )
        for condition in now
    )
