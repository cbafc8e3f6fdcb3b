"""The operator as a process: connection, leader election, controllers, probes, metrics, signals."""

import asyncio
import os
import signal
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import structlog
from aiohttp import web

from aim_engine.cli import registries
from aim_engine.controllers import assembly, pipeline
from aim_engine.kube import kubeconfig
from aim_engine.kube.client import Client
from aim_engine.kube.lease import Elector, LeaseFence
from aim_engine.kube.metrics import Metrics
from aim_engine.kube.runtime import Runtime
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key
from aim_engine.registry.limits import Limits
from aim_engine.settings import Settings
from aim_engine.web import access, address, certificates, metrics, probes

LEASE = "3be10d2f.eai.amd.com"
LAST_ANSWERS = 0.5
"""Seconds that answers which are under way get when the process ends."""

log = structlog.get_logger("operator")


async def run(
    settings: Settings,
    timings: Timings | None = None,
    pipeline_timings: pipeline.Timings | None = None,
    registry_limits: Limits | None = None,
) -> None:
    """Work until SIGTERM or SIGINT.

    Raises KubeError when the cluster cannot be reached or the lease was lost, RegistryError for wrong settings of them.
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    timings = timings or Timings()
    registry = registries.of(settings, registry_limits)
    server = kubeconfig.discover(settings.kubeconfig, timings=timings)
    measured = Metrics(server.server)
    fence = LeaseFence() if settings.leader_elect else None
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(registry)
        client = await stack.enter_async_context(Client(server, timings, fence=fence, observer=measured))
        unfenced = await stack.enter_async_context(Client(server, timings, observer=measured))
        if not await reached(unfenced, stop):
            return
        parts = assembly.assemble(
            client,
            registry,
            settings.system_namespace,
            settings.identity,
            measured,
            pipeline_timings or pipeline.Timings(),
        )
        runtime = Runtime(
            informers=parts.cluster.informers,
            controllers=parts.controllers,
            recorder=parts.recorder,
            elector=elector(settings, unfenced, fence, measured),
            timings=timings,
        )
        await serve(stack, settings.health_probe_bind_address, probes.application(lambda: unready(runtime)))
        await serve_metrics(stack, settings, measured, unfenced)
        log.info("operator started", server=server.server, namespace=settings.system_namespace)
        await runtime.run(stop)
        log.info("operator stopped")


async def reached(client: Client, stop: asyncio.Event) -> bool:
    """Ask the API server for its version, so that a wrong address is told at once; false if `stop` came first."""
    try:
        async with asyncio.TaskGroup() as group:
            asked, stopped = group.create_task(client.read("/version")), group.create_task(stop.wait())
            await asyncio.wait((asked, stopped), return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            stopped.cancel()
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return not stop.is_set()


def elector(settings: Settings, client: Client, fence: LeaseFence | None, measured: Metrics) -> Elector | None:
    """Who keeps the lease, if this process has to have it."""
    if fence is None:
        return None
    return Elector(client, Key(settings.system_namespace, LEASE), settings.leader_identity, fence, measured)


def unready(runtime: Runtime) -> str | None:
    """Why this process could not reconcile now, as a sentence; None if it could."""
    waiting = [informer for informer in runtime.informers if not informer.synced]
    if waiting:
        return f"waiting for {', '.join(sorted({str(informer.resource) for informer in waiting}))}"
    problems = [informer.problem for informer in runtime.informers if informer.installed]
    return f"the API server does not answer: {problems[0]}" if problems and all(problems) else None


async def serve_metrics(stack: AsyncExitStack, settings: Settings, measured: Metrics, client: Client) -> None:
    """Serve the metrics as the flags say."""
    if not settings.metrics_secure:
        await serve(stack, settings.metrics_bind_address, metrics.application(measured.registry, None))
        return
    if address.parse(settings.metrics_bind_address) is None:
        return
    guarded = metrics.application(measured.registry, access.Access(client))
    await serve(stack, settings.metrics_bind_address, guarded, serving_certificate(settings))


def serving_certificate(settings: Settings) -> ssl.SSLContext:
    """The certificate that the flags name, or one made on the spot."""
    if not settings.metrics_cert_path:
        return certificates.self_signed("aim-engine")
    return certificates.mounted(Path(settings.metrics_cert_path), settings.metrics_cert_name, settings.metrics_cert_key)


async def serve(
    stack: AsyncExitStack, bind: str, application: web.Application, tls: ssl.SSLContext | None = None
) -> None:
    """Serve an application at a bind address until the stack is left; nowhere if the address says so."""
    where = address.parse(bind)
    if where is None:
        return
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=LAST_ANSWERS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    try:
        await web.TCPSite(runner, where.host, where.port, ssl_context=tls).start()
    except OSError as error:
        raise ValueError(f"can't listen at {bind}: {os.strerror(error.errno or 0)}") from error
