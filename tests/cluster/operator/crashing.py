"""Operators that are killed by their first write, one after the other, until one finds nothing left to write."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.api_server import ApiServer
from tests.cluster.operator.proxy import Proxy, Write
from tests.cluster.operator.stage import Operator, until

from aim_engine.local.control_plane import Cluster

MOST_CRASHES = 40
QUIET = 5.0


@dataclass(frozen=True)
class Story:
    """What users create, what is made of it, and when all of it is there."""

    populate: Callable[[ApiServer, str], None]
    paths: Mapping[str, str]
    """Kind -> the path of its objects in a namespace, which goes in at {}."""
    is_complete: Callable[[ApiServer, str], bool]

    def objects(self, server: ApiServer, namespace: str) -> dict[str, list[Any]]:
        return {kind: server.call("GET", path.format(namespace))["items"] for kind, path in self.paths.items()}

    def uids(self, server: ApiServer, namespace: str) -> set[str]:
        return {one["metadata"]["uid"] for items in self.objects(server, namespace).values() for one in items}

    def shape(self, server: ApiServer, namespace: str) -> dict[str, list[Any]]:
        """What is there, without what differs from one making to the next: names from UIDs, times, versions."""
        return {
            kind: sorted((owners(one), one.get("spec", {}).get("sourceUri", ""), said(one)) for one in items)
            for kind, items in self.objects(server, namespace).items()
        }

    def differences(self, server: ApiServer, one: str, other: str) -> dict[str, Any]:
        """The kinds of which two namespaces don't have the same."""
        mine, theirs = self.shape(server, one), self.shape(server, other)
        return {kind: (found, theirs[kind]) for kind, found in mine.items() if found != theirs[kind]}


def owners(item: Any) -> list[str]:
    return [f"{one['kind']}/{one['name']}" for one in item["metadata"].get("ownerReferences", [])]


def said(item: Any) -> list[tuple[str, str, str]]:
    """The conditions of one of our objects."""
    conditions = item.get("status", {}).get("conditions", []) if "observedGeneration" in item.get("status", {}) else []
    return sorted((one["type"], one["status"], one["reason"]) for one in conditions)


def disturbed_and_not(
    story: Story, cluster: Cluster, server: ApiServer, namespaces: tuple[str, str], directory: Path, at_least: int
) -> dict[str, list[Any]]:
    """Tell a story twice, the first time with crashes, at least so many; return the shape that both end in."""
    disturbed, undisturbed = namespaces
    story.populate(server, disturbed)
    with Proxy(cluster) as proxy:
        crashes = killed_until_done(story, server, disturbed, proxy, directory)
        proxy.after_write = lambda _: True
        assert crashes >= at_least, f"only {crashes} writes"
        before = story.uids(server, disturbed)
        story.populate(server, undisturbed)
        with Operator(proxy.kubeconfig(directory), directory):
            until(
                lambda: story.is_complete(server, undisturbed) and proxy.quiet(undisturbed) > QUIET,
                "the measure is there",
            )
            until(lambda: not story.differences(server, disturbed, undisturbed), "crashes don't lead elsewhere")
        assert story.uids(server, disturbed) == before, "what was made is made again"
    return story.shape(server, disturbed)


def killed_until_done(story: Story, server: ApiServer, namespace: str, proxy: Proxy, directory: Path) -> int:
    """Run one operator after the other, each killed by its first write, until one has nothing to write; count them."""
    current: list[Operator] = []

    def kill(write: Write) -> bool:
        mortal = write.of_object and f"/namespaces/{namespace}/" in write.path and write.status < 300
        if mortal:
            current[-1].process.kill()
        return not mortal

    proxy.after_write = kill
    made = set[str]()
    for crashes in range(MOST_CRASHES):
        with Operator(proxy.kubeconfig(directory), directory) as operator:
            current.append(operator)
            proxy.open = True
            until(
                lambda: is_over(current[-1]) or at_rest(story, server, namespace, current[-1]),
                "it is killed, or all is done",
            )
            if not is_over(operator):
                return crashes
        now = story.uids(server, namespace)
        assert made <= now, "something that was made is lost"
        made = now
    raise AssertionError(f"no end in sight: {proxy.writes}")


def is_over(operator: Operator) -> bool:
    return operator.process.poll() is not None


def at_rest(story: Story, server: ApiServer, namespace: str, operator: Operator) -> bool:
    """Whether an operator works and, for a while, finds nothing to do."""
    if not (operator.ready and story.is_complete(server, namespace)):
        return False
    time.sleep(QUIET)
    return True
