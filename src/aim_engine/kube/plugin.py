"""Credential plugins of a kubeconfig (`exec:`): a program that prints a token or a client certificate."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from aim_engine.kube.errors import Misconfigured
from aim_engine.kube.timings import Timings
from aim_engine.objects import Manifest, Wire


class Credential(Wire):
    """What a plugin answered; it counts until it expires."""

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None

    def expired(self, now: datetime) -> bool:
        return self.expiration_timestamp is not None and now >= self.expiration_timestamp

    # A credential in a log or a traceback would be a leak.
    def __repr__(self) -> str:
        return f"Credential(expires {self.expiration_timestamp})"


class Answer(Wire):
    """The ExecCredential object that a plugin prints."""

    status: Credential | None = None


@dataclass(kw_only=True)
class Plugin:
    """One `exec:` entry; runs its program when a credential is needed and none is good."""

    command: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    interactive: bool = True
    """May talk to the person at the terminal, if there is one."""
    cluster: Manifest | None = None
    """Facts on the cluster for plugins that want them."""
    install_hint: str = ""
    timings: Timings = field(default_factory=Timings)

    def __post_init__(self) -> None:
        self._known: Credential | None = None
        self._turn = asyncio.Lock()

    async def credential(self) -> Credential:
        """A credential that has not expired; one run of the program serves all who wait."""
        async with self._turn:
            if self._known is None or self._known.expired(datetime.now(UTC)):
                self._known = await self._run()
            return self._known

    def forget(self) -> bool:
        """Have the program run again; false if nothing was known anyway."""
        known, self._known = self._known, None
        return known is not None

    async def _run(self) -> Credential:
        terminal = self.interactive and sys.stdin is not None and sys.stdin.isatty()
        spec: dict[str, Any] = {"interactive": terminal} | ({"cluster": self.cluster} if self.cluster else {})
        asked = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        info = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(asked).decode()}
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.arguments,
                stdin=None if terminal else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, **self.environment, **info},
            )
        except OSError as error:
            hint = f"; {self.install_hint}" if self.install_hint else ""
            raise Misconfigured(f"can't run the credential plugin {self.command}: {error}{hint}") from error
        try:
            async with asyncio.timeout(self.timings.plugin):
                output, _ = await process.communicate()
        except TimeoutError:
            raise Misconfigured(
                f"the credential plugin {self.command} gave no answer in {self.timings.plugin:g} s"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise Misconfigured(f"the credential plugin {self.command} ended with code {process.returncode}")
        return self._read(output)

    def _read(self, output: bytes) -> Credential:
        try:
            status = msgspec.json.decode(output, type=Answer).status
        except msgspec.DecodeError as error:
            raise Misconfigured(f"the credential plugin {self.command} printed no ExecCredential: {error}") from error
        if status is None or not (status.token or status.client_certificate_data):
            raise Misconfigured(f"the credential plugin {self.command} printed neither a token nor a certificate")
        return status
