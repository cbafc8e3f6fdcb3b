"""Stands for KServe and a gateway: an idle pod for every InferenceService, and a good word on every route.

As a program, for one namespace: `python -m tests.serving KUBECONFIG NAMESPACE`.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from aim_engine.api import names
from aim_engine.api.foreign import HTTPRoute, InferenceService, Pod
from aim_engine.controllers.kinds import INFERENCE_SERVICES, PODS, ROUTES
from aim_engine.kube.client import Client
from aim_engine.kube.controller import Controller, Wake
from aim_engine.kube.events import Recorder
from aim_engine.kube.informer import Informer
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.runtime import Runtime
from aim_engine.kube.selection import Selection
from aim_engine.kube.store import Change
from aim_engine.objects import Key, Manifest

NOW = "2026-01-01T00:00:00Z"
READY: Manifest = {"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": NOW}]}}
ACCEPTED: Manifest = {
    "type": "Accepted",
    "status": "True",
    "reason": "Accepted",
    "message": "",
    "lastTransitionTime": NOW,
}


class Serving:
    """Two small controllers, for one namespace or for all."""

    def __init__(self, client: Client, namespace: str = "") -> None:
        self.client = client
        here = Selection(namespace)
        self.services = Informer(client, INFERENCE_SERVICES, InferenceService, selection=here)
        self.routes = Informer(client, ROUTES, HTTPRoute, selection=here)
        pods = Selection(namespace, labels=names.LABEL_INFERENCE_SERVICE)
        self.pods = Informer(client, PODS, Pod, selection=pods)
        wakes = [Wake(self.pods, served)]
        self.controllers = (
            Controller("kserve", self.services, self.serve, wakes=wakes),
            Controller("gateway", self.routes, self.accept),
        )

    async def serve(self, key: Key) -> None:
        service, pod = self.services.store.get(key), self.pods.store.get(key)
        if service is None:
            return
        if pod is None:
            self.pods.learn(await self.client.create(PODS, idle_pod(service), msgspec.Raw))
        elif is_ready(pod) and not service.status.conditions:
            patched = await self.client.patch(INFERENCE_SERVICES, key, READY, msgspec.Raw, subresource="status")
            self.services.learn(patched)

    async def accept(self, key: Key) -> None:
        route = self.routes.store.get(key)
        if route is None or route.status.parents:
            return
        gateway = {"parentRef": {"name": "gateway"}, "controllerName": "example.com/bench", "conditions": [ACCEPTED]}
        change = {"status": {"parents": [gateway]}}
        self.routes.learn(await self.client.patch(ROUTES, key, change, msgspec.Raw, subresource="status"))


@asynccontextmanager
async def running(client: Client, namespace: str = "") -> AsyncGenerator[None]:
    """Serve while a block runs."""
    parts = Serving(client, namespace)
    informers = (parts.services, parts.routes, parts.pods)
    runtime = Runtime(informers=informers, controllers=parts.controllers, recorder=Recorder(client))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(runtime.run(stop))
        yield
        stop.set()


def served(change: Change[Pod]) -> Iterable[Key]:
    """The InferenceService of a pod, which has its name."""
    return (change.key,)


def is_ready(pod: Pod) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


def idle_pod(service: InferenceService) -> Manifest:
    name, namespace = service.metadata.name, service.metadata.namespace
    owner = {
        "apiVersion": INFERENCE_SERVICES.api_version,
        "kind": INFERENCE_SERVICES.kind,
        "name": name,
        "uid": service.metadata.uid,
        "controller": True,
    }
    labels = {names.LABEL_INFERENCE_SERVICE: name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": [owner]},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "kserve-container", "image": "registry.k8s.io/pause:3.10"}],
        },
    }


async def main(kubeconfig: str, namespace: str) -> None:
    async with Client(from_kubeconfig([Path(kubeconfig)])) as client, running(client, namespace):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
