"""A lock for short work, kept in a Lease."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import structlog

from aim_engine.kube.client import Client
from aim_engine.kube.errors import Conflict, KubeError, NotFound, Timeout
from aim_engine.kube.lease import Lease, LeaseSpec, manifest, steady
from aim_engine.kube.resource import LEASES
from aim_engine.objects import Key

log = structlog.get_logger("lock")


class Lock:
    """Keeps short work to one process at a time, and within this process to one task."""

    def __init__(self, client: Client, key: Key, identity: str) -> None:
        self._client = client
        self._key = key
        self._identity = identity
        self._timings = client.timings
        self._here = asyncio.Lock()

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[bool]:
        """Whether the lock was obtained in time; work that outlasts it is ended with `Timeout`, for it is not alone."""
        until = steady() + self._timings.lock
        try:
            async with asyncio.timeout(self._timings.lock):
                await self._here.acquire()
        except TimeoutError:
            yield False
            return
        try:
            lease, ends = await self._obtain(until)
            if lease is None:
                yield False
                return
            deadline = asyncio.timeout(ends - steady())
            try:
                async with deadline:
                    yield True
            except TimeoutError as error:
                if not deadline.expired():
                    raise
                said = f"the work outlasted the lock {self._key}, which is kept for {self._timings.lock:g} s"
                raise Timeout(said) from error
            finally:
                await self._free(lease)
        finally:
            self._here.release()

    async def _obtain(self, until: float) -> tuple[Lease | None, float]:
        """The lease, and when it ends by our clock; none if it was not free in time."""
        while steady() < until:
            started = steady()
            try:
                lease = await self._take()
                if lease is not None:
                    return lease, started + self._timings.lock
            except Conflict:
                pass  # another was faster; look again
            await asyncio.sleep(self._timings.lock_poll)
        return None, 0.0

    async def _take(self) -> Lease | None:
        now = datetime.now(UTC)
        ours = LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=math.ceil(self._timings.lock),
            acquire_time=now,
            renew_time=now,
        )
        try:
            lease = await self._client.get(LEASES, self._key, Lease)
        except NotFound:
            return await self._client.create(LEASES, manifest(self._key, ours), Lease)
        if not self._is_free(lease.spec, now):
            return None
        return await self._client.replace(LEASES, manifest(self._key, ours, lease.metadata.resource_version), Lease)

    def _is_free(self, spec: LeaseSpec, now: datetime) -> bool:
        # Our own name on it is left from before a restart: inside this process no other task can have it.
        if spec.holder_identity in (None, "", self._identity) or spec.renew_time is None:
            return True
        return spec.renew_time + timedelta(seconds=spec.lease_duration_seconds or 0) < now

    async def _free(self, lease: Lease) -> None:
        spec = LeaseSpec(lease_duration_seconds=lease.spec.lease_duration_seconds)
        try:
            await self._client.replace(LEASES, manifest(self._key, spec, lease.metadata.resource_version))
        except KubeError as error:
            log.debug("lock not released", lease=str(self._key), error=str(error))
