"""Prometheus metrics of the runtime, under the names that dashboards for Kubernetes operators look for."""

import time
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from aim_engine.kube.transport import Call, Observer

PASS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
QUEUE_BUCKETS = (1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000)
RESULTS = ("success", "error", "requeue", "requeue_after")


class Metrics(Observer):
    """All metrics of one process, in a registry of their own."""

    def __init__(self, server: str = "") -> None:
        self.registry = CollectorRegistry()
        self._host = urlsplit(server).netloc
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        one, queue = ("controller",), ("name", "controller")
        self.passes = counter("controller_runtime_reconcile_total", "Passes by result", ("controller", "result"))
        self.pass_errors = counter("controller_runtime_reconcile_errors_total", "Passes that failed", one)
        self.pass_seconds = histogram(
            "controller_runtime_reconcile_time_seconds", "Length of passes", one, buckets=PASS_BUCKETS
        )
        self.active = gauge("controller_runtime_active_workers", "Workers inside a pass", one)
        self.workers = gauge("controller_runtime_max_concurrent_reconciles", "Workers there are", one)
        self.depth = gauge("workqueue_depth", "Objects that wait for a worker", queue)
        self.adds = counter("workqueue_adds_total", "Wakes", queue)
        self.retries = counter("workqueue_retries_total", "Wakes after a failed pass", queue)
        self.waited = histogram("workqueue_queue_duration_seconds", "Wait for a worker", queue, buckets=QUEUE_BUCKETS)
        self.worked = histogram("workqueue_work_duration_seconds", "Time with a worker", queue, buckets=QUEUE_BUCKETS)
        self.unfinished = gauge("workqueue_unfinished_work_seconds", "Sum of the passes that run", queue)
        self.longest = gauge("workqueue_longest_running_processor_seconds", "Longest pass that runs", queue)
        self.leader = gauge("leader_election_master_status", "1 while this process leads", ("name",))
        self.requests = counter("rest_client_requests_total", "HTTP calls", ("code", "method", "host"))
        self.calls = counter("kube_api_calls_total", "Calls to the API server", ("verb", "resource", "code"))
        self.call_seconds = histogram(
            "kube_api_call_duration_seconds",
            "Length of calls, watches left out",
            ("verb", "resource"),
            buckets=PASS_BUCKETS,
        )
        self.watch_restarts = counter("kube_watch_restarts_total", "Watches that ended and were resumed", ("resource",))

    def called(self, call: Call, code: int, seconds: float) -> None:
        said = str(code) if code else "<error>"
        self.requests.labels(said, call.method, self._host).inc()
        self.calls.labels(call.verb, call.resource, said).inc()
        if call.verb != "watch":
            self.call_seconds.labels(call.verb, call.resource).observe(seconds)

    def watch_ended(self, resource: str) -> None:
        self.watch_restarts.labels(resource).inc()

    def queue(self, name: str) -> "QueueMetrics":
        return QueueMetrics(self, name)

    def controller(self, name: str, workers: int) -> "ControllerMetrics":
        self.workers.labels(name).set(workers)
        return ControllerMetrics(self, name)


class QueueMetrics:
    """The part of one queue."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        labels = (name, name)
        self.depth = metrics.depth.labels(*labels)
        self.adds = metrics.adds.labels(*labels)
        self.retries = metrics.retries.labels(*labels)
        self.waited = metrics.waited.labels(*labels)
        self.worked = metrics.worked.labels(*labels)
        self._unfinished = metrics.unfinished.labels(*labels)
        self._longest = metrics.longest.labels(*labels)

    def running(self, since: Callable[[], list[float]]) -> None:
        """Read, at each scrape, since when (`time.perf_counter`) the running passes run."""
        self._unfinished.set_function(lambda: sum(time.perf_counter() - start for start in since()))
        self._longest.set_function(lambda: max((time.perf_counter() - start for start in since()), default=0.0))


class ControllerMetrics:
    """The part of one controller."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self.active = metrics.active.labels(name)
        self._results = {result: metrics.passes.labels(name, result) for result in RESULTS}
        self._errors = metrics.pass_errors.labels(name)
        self._seconds = metrics.pass_seconds.labels(name)

    def ended(self, result: str, seconds: float) -> None:
        self._results[result].inc()
        self._seconds.observe(seconds)
        if result == "error":
            self._errors.inc()
