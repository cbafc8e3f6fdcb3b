"""The program: follows the cluster, writes what it decides into statuses, and serves one port."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from aim_engine.kube.client import Client
from aim_engine.kube.controller import Controller, Wake
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import PODS, Resource
from aim_engine.kube.store import Change
from aim_engine.local.errors import LocalError
from aim_engine.local.stand_ins import following
from aim_engine.local.stand_ins.gateway import objects, verdicts
from aim_engine.local.stand_ins.gateway.objects import (
    CLASS,
    CONTROLLER,
    Gateway,
    GatewayClass,
    GatewayStatus,
    HTTPRoute,
    ListenerStatus,
    ParentStatus,
)
from aim_engine.local.stand_ins.gateway.proxy import Proxy
from aim_engine.local.stand_ins.gateway.table import Table
from aim_engine.local.stand_ins.gateway.verdicts import World
from aim_engine.objects import Condition, Key, Manifest

MANAGER = "aim-gateway"


async def run(client: Client, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until cancelled; `ready` is called with the address when requests find their way.

    The kinds of the Gateway API have to be installed. A port of 0 is any that is free.
    """
    spec = {"controllerName": CONTROLLER, "description": "Served by this machine's local gateway"}
    kind = {"apiVersion": objects.GATEWAY_CLASSES.api_version, "kind": "GatewayClass"}
    our_class: Manifest = {**kind, "metadata": {"name": CLASS}, "spec": spec}
    await client.apply(objects.GATEWAY_CLASSES, our_class, manager=MANAGER, force=True)
    gateway = _Gateway(client, host)
    filled = asyncio.Event()
    with _bound(host, port) as listening:
        async with asyncio.TaskGroup() as group:
            group.create_task(following.follow(gateway.informers, gateway.controllers, filled))
            await filled.wait()
            async with _serving(gateway.proxy.application(), listening):
                ready(f"http://{host}:{listening.getsockname()[1]}")
                await asyncio.Event().wait()


class _Gateway:
    """The stores, the controllers that write statuses, and the table that requests are passed on by."""

    def __init__(self, client: Client, host: str) -> None:
        self._client, self._host = client, host
        self._classes = Informer(client, objects.GATEWAY_CLASSES, GatewayClass)
        self._gateways = Informer(client, objects.GATEWAYS, Gateway)
        self._routes = Informer(client, objects.HTTP_ROUTES, HTTPRoute)
        self._namespaces = Informer(client, objects.NAMESPACES, objects.Namespace)
        self._services = Informer(client, objects.SERVICES, objects.Service)
        self._grants = Informer(client, objects.REFERENCE_GRANTS, objects.ReferenceGrant)
        self._pods = Informer(client, PODS, objects.Pod)
        deciding = (self._classes, self._gateways, self._routes, self._namespaces, self._services, self._grants)
        self.informers: tuple[Informer[Any], ...] = (*deciding, self._pods)
        self._world = World(
            classes=self._classes.store,
            gateways=self._gateways.store,
            namespaces=self._namespaces.store,
            services=self._services.store,
            grants=self._grants.store,
        )
        self._table: Table | None = None
        for informer in deciding:
            informer.listen(self._outdated)
        self.proxy = Proxy(self._current, self._world, self._pods.store)
        self._by_parent = self._routes.store.index(
            lambda route: [verdicts.parent_key(route, parent) for parent in route.spec.parent_refs]
        )
        self._by_backend = self._routes.store.index(
            lambda route: [verdicts.backend_key(route, one) for rule in route.spec.rules for one in rule.backend_refs]
        )
        self.controllers = self._controllers()

    def _controllers(self) -> tuple[Controller, ...]:
        return (
            Controller("gateway-class", self._classes, self._judge_class, workers=1),
            Controller(
                "gateway",
                self._gateways,
                self._judge_gateway,
                wakes=(
                    Wake(self._classes, lambda _: self._gateways.store.all_keys()),
                    Wake(self._routes, self._parents),
                    Wake(self._namespaces, lambda _: self._gateways.store.all_keys()),
                ),
                workers=2,
            ),
            Controller(
                "http-route",
                self._routes,
                self._judge_route,
                wakes=(
                    Wake(self._classes, lambda _: self._routes.store.all_keys()),
                    Wake(self._gateways, lambda change: _keys(self._by_parent[change.key])),
                    Wake(self._services, lambda change: _keys(self._by_backend[change.key])),
                    Wake(self._namespaces, lambda change: _keys(self._routes.store.in_namespace(change.key.name))),
                    Wake(self._grants, lambda _: self._routes.store.all_keys()),
                ),
                workers=4,
            ),
        )

    def _outdated(self, _: Change[Any]) -> None:
        self._table = None

    def _current(self) -> Table:
        if self._table is None:
            self._table = Table(self._routes.store, self._world)
        return self._table

    def _parents(self, change: Change[HTTPRoute]) -> Iterable[Key]:
        return {
            verdicts.parent_key(route, parent)
            for route in (change.old, change.new)
            if route is not None
            for parent in route.spec.parent_refs
        }

    async def _judge_class(self, key: Key) -> None:
        found = self._classes.store.get(key)
        if found is None or found.spec.controller_name != CONTROLLER:
            return
        accepted = [verdicts.condition("Accepted", "Accepted", "Gateways of this class are served")]
        conditions = following.told(accepted, found.status.conditions, found.metadata.generation)
        if conditions != found.status.conditions:
            await self._write(objects.GATEWAY_CLASSES, found, {"conditions": _plain(conditions)})

    async def _judge_gateway(self, key: Key) -> None:
        found = self._gateways.store.get(key)
        if found is None or not verdicts.is_ours(found, self._classes.store):
            return
        status = self._status(found)
        if status != found.status:
            plain: Manifest = msgspec.to_builtins(status)
            kinds = [{"group": objects.GROUP, "kind": "HTTPRoute"}]
            listeners = [{"attachedRoutes": 0, "supportedKinds": kinds, **one} for one in plain.get("listeners", [])]
            addresses = [{"type": "IPAddress", "value": self._host}]
            await self._write(objects.GATEWAYS, found, {**plain, "listeners": listeners, "addresses": addresses})

    def _status(self, gateway: Gateway) -> GatewayStatus:
        generation = gateway.metadata.generation
        before = {listener.name: listener.conditions for listener in gateway.status.listeners}
        attached = [
            listener.name
            for route in self._by_parent[gateway.metadata.key]
            for verdict in verdicts.of_route(route, self._world)
            if verdict.gateway.metadata.key == gateway.metadata.key
            for listener in verdict.listeners
        ]
        return GatewayStatus(
            conditions=following.told(verdicts.of_gateway(gateway), gateway.status.conditions, generation),
            listeners=tuple(
                ListenerStatus(
                    name=listener.name,
                    attached_routes=attached.count(listener.name),
                    conditions=following.told(
                        verdicts.of_listener(listener), before.get(listener.name, ()), generation
                    ),
                )
                for listener in gateway.spec.listeners
            ),
        )

    async def _judge_route(self, key: Key) -> None:
        found = self._routes.store.get(key)
        if found is None:
            return
        others = tuple(one for one in found.status.parents if one.controller_name != CONTROLLER)
        ours = {one.parent_ref: one.conditions for one in found.status.parents if one.controller_name == CONTROLLER}
        parents = tuple(
            ParentStatus(
                parent_ref=verdict.parent,
                controller_name=CONTROLLER,
                conditions=following.told(
                    (verdict.accepted, verdict.resolved), ours.get(verdict.parent, ()), found.metadata.generation
                ),
            )
            for verdict in verdicts.of_route(found, self._world)
        )
        if parents != tuple(one for one in found.status.parents if one.controller_name == CONTROLLER):
            plain = [{**msgspec.to_builtins(one), "conditions": _plain(one.conditions)} for one in (*others, *parents)]
            await self._write(objects.HTTP_ROUTES, found, {"parents": plain})

    async def _write(self, resource: Resource, found: GatewayClass | Gateway | HTTPRoute, status: Manifest) -> None:
        """Write a status that was decided from this very version of the object."""
        change: Manifest = {"metadata": {"resourceVersion": found.metadata.resource_version}, "status": status}
        await self._client.patch(resource, found.metadata.key, change, manager=MANAGER, subresource="status")


def _plain(conditions: tuple[Condition, ...]) -> list[Manifest]:
    return [msgspec.to_builtins(condition) for condition in conditions]


def _keys(routes: Iterable[HTTPRoute]) -> list[Key]:
    return [route.metadata.key for route in routes]


def _bound(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise LocalError(
            f"The gateway can't listen at {host}:{port}: {os.strerror(error.errno or 0)}; name another --port."
        ) from error


@asynccontextmanager
async def _serving(application: web.Application, listening: socket.socket) -> AsyncGenerator[None]:
    """Serve it for the length of a block; a client that leaves ends its request."""
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    try:
        await web.SockSite(runner, listening, shutdown_timeout=0.5).start()
        yield
    finally:
        await runner.cleanup()
