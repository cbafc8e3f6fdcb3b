"""Asking a container whether it is alive, ready or started, and judging the answers."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Literal

import aiohttp
import msgspec

from aim_engine.local.container.errors import ContainerGone
from aim_engine.local.container.running import RunningContainer
from aim_engine.local.node.container_spec import Container, ExecAction, Hook, HttpAction, Probe, TcpAction
from aim_engine.local.node.timings import Timings

ProbeKind = Literal["Startup", "Readiness", "Liveness"]


class Answer(msgspec.Struct, frozen=True):
    """What one question gave; the text is a kubelet's."""

    success: bool
    text: str = ""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The container that is asked."""

    container: Container
    address: str
    process: RunningContainer
    session: aiohttp.ClientSession


async def ask(question: Probe | Hook, target: Target, timeout: float) -> Answer:
    """Ask once; whatever goes wrong is an answer."""
    if question.http_get:
        return await _http(question.http_get, target, timeout)
    if question.tcp_socket:
        return await _tcp(question.tcp_socket, target, timeout)
    if question.exec:
        return await _exec(question.exec, target, timeout)
    return Answer(False, "this node asks by httpGet, tcpSocket or exec only")


class Verdict:
    """Counts answers in a row and holds the judgement they lead to."""

    def __init__(self, probe: Probe, *, healthy: bool) -> None:
        self._probe = probe
        self._row = 0
        self._last = healthy
        self.healthy = healthy

    def take(self, *, success: bool) -> bool:
        """Count one answer; say whether a threshold was reached with it, in either direction."""
        self._row = self._row + 1 if success == self._last else 1
        self._last = success
        threshold = self._probe.success_threshold if success else self._probe.failure_threshold
        if self._row < threshold:
            return False
        self.healthy = success
        return True


Judged = Callable[[ProbeKind, bool], Awaitable[bool]]
"""Takes a judgement; returns whether to go on asking."""
Failed = Callable[[ProbeKind, str], None]


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """Asks one probe of one container until told to stop."""

    kind: ProbeKind
    probe: Probe
    target: Target
    timings: Timings
    judged: Judged
    failed: Failed

    async def run(self) -> bool:
        """Ask every period until `judged` has heard enough; return the last judgement."""
        await asyncio.sleep(self.probe.initial_delay_seconds * self.timings.probe_unit)
        verdict = Verdict(self.probe, healthy=self.kind == "Liveness")
        while True:
            answer = await ask(self.probe, self.target, self.probe.timeout_seconds)
            if not answer.success:
                self.failed(self.kind, answer.text)
            if verdict.take(success=answer.success) and not await self.judged(self.kind, verdict.healthy):
                return verdict.healthy
            await asyncio.sleep(self.probe.period_seconds * self.timings.probe_unit)


def _port(named: int | str, container: Container) -> int | None:
    if isinstance(named, int) or named.isdigit():
        return int(named)
    return next((port.container_port for port in container.ports if port.name == named), None)


async def _http(action: HttpAction, target: Target, timeout: float) -> Answer:
    port = _port(action.port, target.container)
    if port is None:
        return Answer(False, f'couldn\'t find port named "{action.port}" in container "{target.container.name}"')
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    address = f"{action.host or target.address}:{port}"
    url = f"{action.scheme.lower()}://{address}{path}"
    headers = {"User-Agent": "kube-probe/1.34", "Accept": "*/*"}
    headers |= {header.name: header.value for header in action.http_headers}
    limit = aiohttp.ClientTimeout(total=timeout)
    try:
        async with target.session.get(
            url, headers=headers, timeout=limit, ssl=_UNVERIFIED, allow_redirects=False
        ) as answer:
            if 200 <= answer.status < 400:
                return Answer(True)
            return Answer(False, f"HTTP probe failed with statuscode: {answer.status}")
    except TimeoutError:
        why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        return Answer(False, f'Get "{url}": {why}')
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Answer(False, f'Get "{url}": {_connection_problem(error, address)}')


def _unverified() -> ssl.SSLContext:
    """Probes speak TLS without looking at the certificate, as a kubelet's do."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


_UNVERIFIED = _unverified()


async def _tcp(action: TcpAction, target: Target, timeout: float) -> Answer:
    port = _port(action.port, target.container)
    if port is None:
        return Answer(False, f'couldn\'t find port named "{action.port}" in container "{target.container.name}"')
    host = action.host or target.address
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return Answer(False, f"dial tcp {host}:{port}: i/o timeout")
    except OSError as error:
        return Answer(False, _connection_problem(error, f"{host}:{port}"))
    writer.close()
    return Answer(True)


async def _exec(action: ExecAction, target: Target, timeout: float) -> Answer:
    try:
        code, output = await target.process.execute(action.command, timeout=timeout)
    except TimeoutError:
        return Answer(False, f'command timed out: "{" ".join(action.command)}" timed out after {timeout:g}s')
    except ContainerGone as error:
        return Answer(False, str(error))
    return Answer(code == 0, output.strip()[:1024])


def _connection_problem(error: Exception, address: str) -> str:
    if isinstance(error, ConnectionRefusedError) or isinstance(error.__cause__, ConnectionRefusedError):
        return f"dial tcp {address}: connect: connection refused"
    return str(error) or type(error).__name__
