"""All pods of the agent's nodes: one runner for each, started and told by one watch."""

import asyncio
from collections.abc import Mapping

import structlog

from aim_engine.kube.client import Client, Selection
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import PODS
from aim_engine.kube.store import Change
from aim_engine.local.node.environment import Reference
from aim_engine.local.node.pod import PodRunner
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.site import Host, Tools
from aim_engine.objects import Key

BOUND = Selection(fields="spec.nodeName!=")

log = structlog.get_logger("node")


class Pods:
    """Follows the pods that are bound to one of our nodes."""

    def __init__(self, client: Client, hosts: Mapping[str, Host], tools: Tools) -> None:
        self._hosts = hosts
        self._tools = tools
        self._informer = Informer(client, PODS, Pod, selection=BOUND)
        self._informer.listen(self._changed)
        self._runners: dict[str, PodRunner] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._group: asyncio.TaskGroup | None = None

    def find(self, key: Key) -> PodRunner | None:
        """Who runs a pod."""
        pod = self._informer.store.get(key)
        return self._runners.get(pod.metadata.uid) if pod else None

    def source_changed(self, namespace: str, reference: Reference) -> None:
        """Have the pods that mount a ConfigMap or Secret write its files anew."""
        for runner in self._runners.values():
            if runner.pod.metadata.namespace == namespace:
                runner.source_changed(reference)

    async def run(self, stop: asyncio.Event) -> None:
        """Run what is bound until `stop`; then end every process and return when none is left."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            following = group.create_task(self._follow(), name="pods of this agent")
            await stop.wait()
            self._group = None
            following.cancel()
            for runner in self._runners.values():
                runner.leave()
            await self._end_all()

    async def _end_all(self) -> None:
        """Wait for the runners; one that waits for the API server in vain is not waited for."""
        if self._tasks:
            _, pending = await asyncio.wait(self._tasks, timeout=self._tools.timings.leaving * 2)
            for task in pending:
                task.cancel()

    async def _follow(self) -> None:
        """Follow the watch; what an agent before left of pods that are gone by now is removed."""
        left = [(host, uid) for host in self._hosts.values() for uid in host.layout.found()]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informer.run(), name=self._informer.name)
            await self._informer.wait_synced()
            for host, uid in left:
                if uid not in self._runners:
                    await asyncio.to_thread(host.layout.pod(uid).remove)

    def _changed(self, change: Change[Pod]) -> None:
        old, new = change.old, change.new
        replaced = old is not None and (new is None or new.metadata.uid != old.metadata.uid)
        if old is not None and replaced and old.metadata.uid in self._runners:
            self._runners[old.metadata.uid].vanish()
        if new is None:
            return
        runner = self._runners.get(new.metadata.uid)
        if runner is not None:
            runner.update(new)
        elif new.spec.node_name in self._hosts and self._group is not None:
            runner = self._runners[new.metadata.uid] = PodRunner(new, self._hosts[new.spec.node_name], self._tools)
            task = self._group.create_task(self._keep(runner), name=f"pod {new.metadata.key}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _keep(self, runner: PodRunner) -> None:
        """Run one pod; what goes wrong with it must not touch the others, so it is logged and the pod tried again."""
        key, uid = runner.pod.metadata.key, runner.pod.metadata.uid
        try:
            while True:
                try:
                    await runner.run()
                    return
                except Exception:
                    log.exception("pod failed on the node", pod=str(key))
                await asyncio.sleep(self._tools.timings.retry)
                pod = self._informer.store.get(key)
                if pod is None or pod.metadata.uid != uid or self._group is None:
                    return
                runner = self._runners[uid] = PodRunner(pod, runner.host, self._tools)
        finally:
            del self._runners[uid]
