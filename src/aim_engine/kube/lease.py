"""Leader election by a Lease, and the fence that goes with it.

Times of other machines are never compared with ours: a lease is over when we have watched it
unchanged for as long as it lasts, by our own clock that never jumps.
"""

import asyncio
import math
import time
from datetime import UTC, datetime

import structlog

from aim_engine.kube.client import Client
from aim_engine.kube.errors import Conflict, Fenced, KubeError, NotFound
from aim_engine.kube.metrics import Metrics
from aim_engine.kube.resource import LEASES
from aim_engine.objects import Key, Manifest, ObjectMeta, Wire

log = structlog.get_logger("lease")


def steady() -> float:
    """Seconds that never jump and go on while the machine sleeps, where the system has such a clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class LeaseSpec(Wire):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(Wire):
    """A `coordination.k8s.io/v1` Lease."""

    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()


def manifest(key: Key, spec: LeaseSpec, resource_version: str = "") -> Manifest:
    """The Lease as the server takes it: its times want exactly six digits."""
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"namespace": key.namespace, "name": key.name}
        | ({"resourceVersion": resource_version} if resource_version else {}),
        "spec": {
            "holderIdentity": spec.holder_identity,
            "leaseDurationSeconds": spec.lease_duration_seconds,
            "acquireTime": _micro(spec.acquire_time),
            "renewTime": _micro(spec.renew_time),
            "leaseTransitions": spec.lease_transitions,
        },
    }


def _micro(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


class LeaseLost(KubeError):
    """The lease could not be renewed in time: another process may lead now, this one must end."""


class LeaseFence:
    """Open until a moment that only a renewed lease moves on; a process that slept past it finds it closed."""

    def __init__(self) -> None:
        self._until = -math.inf

    @property
    def remaining(self) -> float:
        return self._until - steady()

    def open_until(self, moment: float) -> None:
        self._until = moment

    def close(self) -> None:
        self._until = -math.inf

    def check(self) -> None:
        """Raise `Fenced` unless the lease is surely ours."""
        if self.remaining <= 0:
            raise Fenced("the write was held back: this process does not hold the leader lease")


class Elector:
    """Takes the lease when it is free and keeps it; give it a client without a fence."""

    def __init__(
        self, client: Client, key: Key, identity: str, fence: LeaseFence, metrics: Metrics | None = None
    ) -> None:
        self._client = client
        self._key = key
        self._identity = identity
        self._fence = fence
        self._timings = client.timings
        self._status = (metrics or Metrics()).leader.labels(key.name)
        self._status.set(0)
        self._lease: Lease | None = None
        self._seen = ("", 0.0)
        """The version last seen, and when it was first seen."""

    async def acquire(self) -> None:
        """Return when the lease is ours."""
        while not await self._attempt():
            await asyncio.sleep(self._timings.lease_retry)
        self._status.set(1)
        log.info("became leader", lease=str(self._key), identity=self._identity)

    async def keep(self) -> None:
        """Renew the lease until cancelled; `LeaseLost` when it could not be renewed in time, or another has it."""
        while self._fence.remaining > 0:
            await asyncio.sleep(min(self._timings.lease_retry, self._fence.remaining))
            # Woken after the deadline, by a frozen process or machine: even if nobody took over, passes ran blind.
            if self._fence.remaining > 0 and not await self._attempt() and self._taken():
                break
        self._fence.close()
        self._status.set(0)
        raise LeaseLost(f"lost the leader lease {self._key}; another process may lead now")

    async def release(self) -> None:
        """Give the lease back, so that a successor need not wait; failing that, it expires."""
        held = self._fence.remaining > 0
        self._fence.close()
        self._status.set(0)
        if not held:
            return
        try:
            async with asyncio.timeout(self._timings.release):
                while not await self._given_back():
                    pass
        except (KubeError, TimeoutError) as error:
            log.warning("lease not released", lease=str(self._key), error=str(error) or "no answer in time")

    async def _given_back(self) -> bool:
        """Whether the lease is ours no more; a renewal that was broken off may have reached the server late."""
        lease = await self._client.get(LEASES, self._key, Lease)
        if lease.spec.holder_identity != self._identity:
            return True
        spec = LeaseSpec(
            holder_identity="",
            lease_duration_seconds=1,
            acquire_time=lease.spec.acquire_time,
            renew_time=datetime.now(UTC),
            lease_transitions=lease.spec.lease_transitions,
        )
        try:
            await self._client.replace(LEASES, manifest(self._key, spec, lease.metadata.resource_version))
        except Conflict:
            return False
        return True

    async def _attempt(self) -> bool:
        """Take or renew the lease once; the time that counts is the one before the call."""
        started = steady()
        try:
            # Half of the deadline, so that one hanging call leaves time for another.
            async with asyncio.timeout(self._timings.renew_deadline / 2):
                self._lease = await self._write()
        except (KubeError, TimeoutError) as error:
            log.warning("lease not written", lease=str(self._key), error=str(error) or "no answer in time")
            self._lease = None
            return False
        if self._lease is None or self._lease.spec.holder_identity != self._identity:
            return False
        self._fence.open_until(started + self._timings.renew_deadline)
        return True

    async def _write(self) -> Lease | None:
        """The lease after our write, or as it is if we may not write it."""
        lease = self._lease if self._lease and self._lease.spec.holder_identity == self._identity else None
        if lease is None:
            try:
                lease = await self._client.get(LEASES, self._key, Lease)
            except NotFound:
                return await self._client.create(LEASES, manifest(self._key, self._ours(None)), Lease)
        if not self._may_take(lease):
            return lease
        body = manifest(self._key, self._ours(lease.spec), lease.metadata.resource_version)
        return await self._client.replace(LEASES, body, Lease)

    def _may_take(self, lease: Lease) -> bool:
        if lease.metadata.resource_version != self._seen[0]:
            self._seen = (lease.metadata.resource_version, steady())
        if not lease.spec.holder_identity or lease.spec.holder_identity == self._identity:
            return True
        return steady() - self._seen[1] > (lease.spec.lease_duration_seconds or 0)

    def _taken(self) -> bool:
        """Another process is known to hold it."""
        return self._lease is not None and self._lease.spec.holder_identity != self._identity

    def _ours(self, before: LeaseSpec | None) -> LeaseSpec:
        now = datetime.now(UTC)
        ours = before is not None and before.holder_identity == self._identity
        transitions = before.lease_transitions or 0 if before else 0
        return LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=math.ceil(self._timings.lease),
            acquire_time=before.acquire_time if before and ours else now,
            renew_time=now,
            lease_transitions=transitions if ours or before is None else transitions + 1,
        )
