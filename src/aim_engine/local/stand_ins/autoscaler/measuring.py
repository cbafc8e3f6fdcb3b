"""Metrics of pods as KEDA's OpenTelemetry scaler adds them up: the last readings of every Ready pod, summed."""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from aim_engine.api.quantity import parse
from aim_engine.local.stand_ins.autoscaler.objects import Pod, Trigger
from aim_engine.local.stand_ins.autoscaler.scaling import Reading

WINDOW_SECONDS: Final = 30.0
"""How far back an operation over time looks."""
SCRAPE_SECONDS: Final = 5.0

Samples = Sequence[tuple[float, float]]
"""Moments and values, the oldest first."""


def _values(samples: Samples) -> list[float]:
    return [value for _, value in samples]


def _rate(samples: Samples) -> float:
    (first, before), (last, now) = samples[0], samples[-1]
    return (now - before) / (last - first) if last > first else 0.0


OPERATIONS: Final[dict[str, Callable[[Samples], float]]] = {
    "last_one": lambda samples: samples[-1][1],
    "avg": lambda samples: sum(_values(samples)) / len(samples),
    "min": lambda samples: min(_values(samples)),
    "max": lambda samples: max(_values(samples)),
    "count": lambda samples: float(len(samples)),
    "rate": _rate,
}
_QUERY = re.compile(r"^sum\((?P<metric>[a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})?\)$")


class Unmeasured(Exception):
    """Why there is no number to scale by, as a sentence."""


class Measure:
    """The readings of one ScaledObject over time."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, str], deque[tuple[float, float]]] = {}
        """(pod, metric) -> samples of the window."""

    async def read(
        self, session: aiohttp.ClientSession, triggers: Sequence[Trigger], pods: Sequence[Pod], port: str
    ) -> list[Reading]:
        """A reading per trigger; raise Unmeasured if one can't be had."""
        metrics = [(_metric(trigger), trigger) for trigger in triggers]
        if not pods:
            raise Unmeasured("no Ready pod is there to be measured")
        pages = await asyncio.gather(*(_scraped(session, pod, port) for pod in pods))
        now = asyncio.get_running_loop().time()
        names = {pod.metadata.name for pod in pods}
        self._samples = {key: kept for key, kept in self._samples.items() if key[0] in names}
        for pod, page in zip(pods, pages, strict=True):
            for metric, _ in metrics:
                self._keep(pod.metadata.name, metric, page, now)
        return [self._reading(metric, trigger, names) for metric, trigger in metrics]

    def _keep(self, pod: str, metric: str, page: dict[str, float], now: float) -> None:
        if metric not in page:
            raise Unmeasured(f"pod {pod} has no metric {metric}")
        samples = self._samples.setdefault((pod, metric), deque())
        samples.append((now, page[metric]))
        while samples[0][0] < now - WINDOW_SECONDS:
            samples.popleft()

    def _reading(self, metric: str, trigger: Trigger, pods: set[str]) -> Reading:
        operation = trigger.metadata.get("operationOverTime", "last_one")
        if operation not in OPERATIONS:
            raise Unmeasured(f"operationOverTime {operation} is none of {', '.join(OPERATIONS)}")
        total = sum(OPERATIONS[operation](list(self._samples[pod, metric])) for pod in pods)
        return Reading(total, _target(trigger), per_pod=trigger.metric_type != "Value")


def _metric(trigger: Trigger) -> str:
    """The metric of a trigger; other sources than pods are not there on a local cluster."""
    if trigger.type != "external":
        raise Unmeasured(f"the local cluster has no source for triggers of the type {trigger.type or 'none'}")
    query = trigger.metadata.get("metricQuery", "")
    found = _QUERY.match(query)
    if found is None:
        raise Unmeasured(f"the query {query!r} is not a sum over one metric")
    return found["metric"]


def _target(trigger: Trigger) -> float:
    try:
        target = float(parse(trigger.metadata.get("targetValue", "")))
    except ValueError as error:
        raise Unmeasured(f"the target value is no number: {error}") from error
    if target <= 0:
        raise Unmeasured("the target value is not above 0")
    return target


async def _scraped(session: aiohttp.ClientSession, pod: Pod, port: str) -> dict[str, float]:
    """Metric -> the sum of its samples, as the pod shows them."""
    address = f"http://{pod.status.pod_ip}:{port}/metrics"
    try:
        async with session.get(address, timeout=aiohttp.ClientTimeout(total=SCRAPE_SECONDS)) as answer:
            text = await answer.text()
        if answer.status != 200:
            raise Unmeasured(f"pod {pod.metadata.name} answers {answer.status} when asked for metrics")
        return _sums(text)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise Unmeasured(f"pod {pod.metadata.name} can't be asked for metrics: {error}") from error


def _sums(text: str) -> dict[str, float]:
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
    return sums
