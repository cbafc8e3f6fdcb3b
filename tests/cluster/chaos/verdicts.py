"""Whether the world is as the users wish it: every sentence names one thing that is not."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.api_server import ApiServer
from tests.cluster.chaos.wishes import PLACES, SERVED, Users, Wish, aim

SERVING = "/apis/serving.kserve.io/v1beta1/inferenceservices"
ROUTES = "/apis/gateway.networking.k8s.io/v1/httproutes"
CACHES = "/apis/aim.eai.amd.com/v1alpha1/aimtemplatecaches"
ARTIFACTS = "/apis/aim.eai.amd.com/v1alpha1/aimartifacts"
CACHE_NAME = "aim.eai.amd.com/template-cache.name"
"""The label of a download that tells which cache began it; the cache of one service has that service in its name."""


class World:
    """One look at everything, by what it belongs to."""

    def __init__(self, server: ApiServer) -> None:
        self.services = {place: server.call("GET", aim(place, "aimservices"))["items"] for place in PLACES}
        self.served, self.routes, self.caches, self.artifacts = (
            server.call("GET", path)["items"] for path in (SERVING, ROUTES, CACHES, ARTIFACTS)
        )

    def service(self, wish: Wish) -> Any:
        return next((one for one in self.services[wish.place] if one["metadata"]["name"] == wish.name), None)


def wrong(users: Users, server: ApiServer) -> list[str]:
    """Everything that is not yet as it should be."""
    world = World(server)
    return [
        *strangers(users, world),
        *(told for wish in users.wishes.values() for told in of_service(wish, users, world)),
    ]


def of_service(wish: Wish, users: Users, world: World) -> Iterator[str]:
    found = world.service(wish)
    if found is None or found["metadata"]["uid"] != wish.uid:
        yield f"{wish} is not there"
        return
    status = found.get("status", {})
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        yield f"{wish}: what its user changed last was not looked at"
    expected = "Failed" if wish.trouble else "Running" if wish.place == SERVED else "Starting"
    if status.get("status") != expected:
        yield f"{wish} is {status.get('status')} instead of {expected}: {failing(status)}"
    reasons = {one["reason"] for one in status.get("conditions", [])}
    if wish.trouble and wish.trouble not in reasons:
        yield f"{wish} does not say {wish.trouble}: {sorted(reasons)}"
    mine = [one for one in world.served if owner(one) == wish.uid]
    routes = [one for one in world.routes if owner(one) == wish.uid]
    if len(mine) != (0 if wish.trouble else 1):
        yield f"{wish} has {len(mine)} InferenceServices"
    if len(routes) != (1 if wish.routed and not wish.trouble else 0):
        yield f"{wish} has {len(routes)} routes, routing is {'on' if wish.routed else 'off'}"
    yield from (told for one in mine for told in of_served(wish, users, one))
    yield from (told for one in routes for told in of_route(wish, mine, one))


def of_served(wish: Wish, users: Users, found: Any) -> Iterator[str]:
    predictor = found["spec"]["predictor"]
    env = {one["name"]: one.get("value") for one in predictor["containers"][0]["env"]}
    paint = users.paints.get((wish.place, wish.template))
    for what, planned, there in (
        ("replicas", wish.replicas, predictor.get("minReplicas")),
        ("COLOUR", wish.colour, env.get("COLOUR")),
        ("PAINT", paint, env.get("PAINT")),
        ("template", wish.template, found["metadata"]["labels"].get("aim.eai.amd.com/template")),
        ("volumes of weights", 2, sum("persistentVolumeClaim" in one for one in predictor["volumes"])),
    ):
        if planned != there:
            yield f"{wish}: {what} of its InferenceService is {there} instead of {planned}"


def of_route(wish: Wish, served: list[Any], found: Any) -> Iterator[str]:
    rule = found["spec"]["rules"][0]
    path, backend = rule["matches"][0]["path"]["value"], rule["backendRefs"][0]["name"]
    if path != f"/{wish.place}/{wish.name}":
        yield f"{wish}: its route is at {path}"
    if [backend] != [f"{one['metadata']['name']}-predictor" for one in served]:
        yield f"{wish}: its route leads to {backend}"


def strangers(users: Users, world: World) -> Iterator[str]:
    """What should be gone, and what is there twice."""
    wanted = {wish.uid for wish in users.wishes.values()}
    for place, services in world.services.items():
        for one in services:
            if one["metadata"]["uid"] not in wanted:
                yield f"{place}/{one['metadata']['name']} should be gone: {one['metadata'].get('finalizers')}"
    present = wanted | {one["metadata"]["uid"] for one in world.caches}
    for one in (*world.served, *world.routes, *world.caches, *world.artifacts):
        if owner(one) and owner(one) not in present:
            yield f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']} is an orphan"
    shared = (one for one in world.artifacts if "-service-" not in one["metadata"]["labels"][CACHE_NAME])
    downloads = Counter((one["metadata"]["namespace"], one["spec"]["sourceUri"]) for one in shared)
    for (place, source), number in downloads.items():
        if number > 1:
            yield f"{source} is downloaded {number} times in {place}"


def owner(item: Any) -> str:
    """The UID of who controls an object; empty if nobody does."""
    owners = item["metadata"].get("ownerReferences", [])
    return next((one["uid"] for one in owners if one.get("controller")), "")


def failing(status: Any) -> str:
    """What a service says of itself, in short."""
    said = [one for one in status.get("conditions", []) if one["status"] != "True"]
    return "; ".join(f"{one['type']} {one['reason']}: {one['message']}" for one in said)
