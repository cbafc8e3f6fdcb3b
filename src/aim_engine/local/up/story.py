"""The way of a service to its first answer, told step by step off its status."""

import asyncio
from collections.abc import Iterator, Mapping

import aiohttp

from aim_engine.api.artifact import AIMArtifact
from aim_engine.api.service import AIMService, AIMServiceStatus
from aim_engine.kube.client import Client
from aim_engine.kube.errors import NotFound
from aim_engine.kube.selection import Selection
from aim_engine.local.up.events import Step, Tell
from aim_engine.local.up.objects import ARTIFACTS, SERVICES
from aim_engine.objects import Condition, Key

POLL_SECONDS = 0.3
SETTLED_SECONDS = 120.0
"""How long a service may stand still before somebody wants to know why."""

STEPS: Mapping[str, str] = {
    "model": "ModelReady",
    "profile": "TemplateReady",
    "weights": "CacheReady",
    "inference service": "InferenceServiceReady",
    "route": "HTTPRouteReady",
}
"""Step -> the condition that tells how far it is."""


async def follow(client: Client, key: Key, gateway: str | None, tell: Tell) -> str | None:
    """Tell how the service comes up until it is Running and answers; its path behind the gateway, if it has one.

    None if somebody deleted it, or if it has stood still for too long, which the last step tells with its conditions.
    """
    loop = asyncio.get_running_loop()
    last: tuple[Step, ...] = ()
    deadline = loop.time() + SETTLED_SECONDS
    while True:
        try:
            service = await client.get(SERVICES, key, AIMService)
        except NotFound:
            return None
        status = service.status or AIMServiceStatus()
        told = (*steps(status, await _progress(client, key, status)), _whole(status))
        for step in told:
            if step not in last:
                tell(step)
        if told != last:
            last, deadline = told, loop.time() + SETTLED_SECONDS
        path = status.routing.path if status.routing else None
        if status.status == "Running" and (gateway is None or path is None or await _answers(f"{gateway}{path}")):
            tell(Step("service", "done", f"{key.name} is Running" + (" and answers" if gateway and path else "")))
            return path
        if loop.time() > deadline:
            tell(Step("service", "failed", f"{key.name} does not get on: {_told(status)}"))
            return None
        await asyncio.sleep(POLL_SECONDS)


def steps(status: AIMServiceStatus, share: float | None) -> Iterator[Step]:
    """How far each step is."""
    known = {condition.type: condition for condition in status.conditions}
    for name, kind in STEPS.items():
        condition = known.get(kind)
        if condition is None:
            yield Step(name, "waiting")
        elif condition.status == "True":
            yield Step(name, "done", condition.message)
        else:
            yield Step(name, "working", condition.message, share if name == "weights" else None)


def _whole(status: AIMServiceStatus) -> Step:
    return Step("service", "working", status.status or "Pending")


def _told(status: AIMServiceStatus) -> str:
    def line(condition: Condition) -> str:
        return f"{condition.type} {condition.reason}: {condition.message}"

    missing = [line(condition) for condition in status.conditions if condition.status != "True"]
    return "\n  ".join([f"it is {status.status or 'Pending'}", *missing])


async def _progress(client: Client, key: Key, status: AIMServiceStatus) -> float | None:
    """How much of the weights is there, while they are fetched."""
    if any(condition.type == "CacheReady" and condition.status == "True" for condition in status.conditions):
        return None
    found = await client.list(ARTIFACTS, Selection(namespace=key.namespace), AIMArtifact)
    known = [each.status.progress for each in found.items if each.status and each.status.progress]
    total = sum(each.total_bytes or 0 for each in known)
    return sum(each.downloaded_bytes or 0 for each in known) / total if total else None


async def _answers(base: str) -> bool:
    """Whether the gateway leads to a server that answers."""
    try:
        timeout = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(f"{base}/v1/models") as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False
