"""What users of a disturbed cluster ask for, at random but repeatably, and how every wish has to end."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.api_server import ApiServer

PLACES = ("chaos-0", "chaos-1", "chaos-2", "chaos-3")
SERVED = PLACES[0]
"""Where InferenceServices get pods and routes a gateway; elsewhere KServe is silent."""
TEMPLATES = ("left", "right")
GATEWAY = {"name": "gateway", "namespace": "gateways"}
MERGE = "application/merge-patch+json"
PAUSED = {"aim.eai.amd.com/reconciliation-paused": "true"}
SIMULATED = [
    {"name": "AIM_DEBUG_SIMULATE_DOWNLOAD", "value": "1"},
    {"name": "AIM_DEBUG_DOWNLOAD_DURATION", "value": "0"},
    {"name": "AIM_DEBUG_VERIFY_DURATION", "value": "0"},
]


def aim(place: str, plural: str, name: str = "") -> str:
    """The path of our objects of one kind in a namespace, or of one of them."""
    path = f"/apis/aim.eai.amd.com/v1alpha1/namespaces/{place}/{plural}"
    return f"{path}/{name}" if name else path


@dataclass
class Wish:
    """One service as its user wants it."""

    place: str
    name: str
    model: str
    template: str
    caching: str
    replicas: int
    routed: bool
    colour: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.place}/{self.name}"

    @property
    def path(self) -> str:
        return aim(self.place, "aimservices", self.name)

    @property
    def trouble(self) -> str:
        """The reason why it can't run, if its user named something that is not there."""
        if self.model == "missing":
            return "ModelNotFound"
        return "TemplateNotFound" if self.template == "missing" else ""

    @property
    def env(self) -> list[dict[str, str]]:
        return [*SIMULATED, {"name": "COLOUR", "value": self.colour}]

    @property
    def routing(self) -> dict[str, Any]:
        path = "/{.metadata.namespace}/{.metadata.name}"
        return {"enabled": self.routed, "gatewayRef": GATEWAY, "pathTemplate": path}

    def manifest(self) -> dict[str, Any]:
        spec = {
            "model": {"name": self.model},
            "template": {"name": self.template},
            "caching": {"mode": self.caching},
            "replicas": self.replicas,
            "routing": self.routing,
            "env": self.env,
        }
        return {
            "apiVersion": "aim.eai.amd.com/v1alpha1",
            "kind": "AIMService",
            "metadata": {"name": self.name},
            "spec": spec,
        }


@dataclass
class Users:
    """Everybody who asks for something; `wishes` and `paints` are what has to come true in the end."""

    server: ApiServer
    chance: random.Random
    most: int
    """How many services are ever asked for; some leave again, and some of these come back."""
    wishes: dict[str, Wish] = field(default_factory=dict[str, Wish])
    gone: list[Wish] = field(default_factory=list[Wish])
    paints: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    made: int = 0

    def prepare(self) -> None:
        """Namespaces, each with a model that is ready by hand and two templates that share one source."""
        for place in PLACES:
            self.server.call("POST", "/api/v1/namespaces", {"metadata": {"name": place}})
            model = {"metadata": {"name": "tiny", "annotations": PAUSED}, "spec": {"image": "registry.local/tiny:1.0"}}
            made = self.server.call("POST", aim(place, "aimmodels"), kind("AIMModel", model))
            ready = {**made, "status": {"status": "Ready"}}
            self.server.call("PUT", f"{aim(place, 'aimmodels', 'tiny')}/status", ready)
            for name in TEMPLATES:
                sources = [
                    {"modelId": f"acme/{source}", "sourceUri": f"hf://acme/{source}", "size": "1Mi"}
                    for source in (name, "common")
                ]
                spec = {
                    "modelName": "tiny",
                    "modelSources": sources,
                    "type": "optimized",
                    "hardware": {"cpu": {"requests": "10m"}},
                }
                template = kind("AIMServiceTemplate", {"metadata": {"name": name}, "spec": spec})
                self.server.call("POST", aim(place, "aimservicetemplates"), template)

    def act(self) -> None:
        """One thing that one user does now."""
        doings: dict[Callable[[], None], int] = {
            self.create: 8 if self.made < self.most else 0,
            self.scale: 2,
            self.route: 2,
            self.colour: 2,
            self.paint: 1,
            self.leave: 2,
            self.come_back: 1,
        }
        self.chance.choices([*doings], [*doings.values()])[0]()

    def create(self) -> None:
        self.ask(
            Wish(
                place=self.chance.choice(PLACES),
                name=f"service-{self.made:03}",
                model=self.chance.choices(("tiny", "missing"), (15, 1))[0],
                template=self.chance.choices((*TEMPLATES, "missing"), (10, 10, 1))[0],
                caching=self.chance.choices(("Shared", "Dedicated"), (40, 1))[0],
                replicas=self.chance.randint(1, 3),
                routed=self.chance.random() < 0.7,
                colour=self.any_colour(),
            )
        )
        self.made += 1

    def ask(self, wish: Wish) -> None:
        wish.uid = self.server.call("POST", aim(wish.place, "aimservices"), wish.manifest())["metadata"]["uid"]
        self.wishes[str(wish)] = wish

    def scale(self) -> None:
        if wish := self.anyone():
            wish.replicas = self.chance.randint(1, 3)
            self.change(wish.path, {"replicas": wish.replicas})

    def route(self) -> None:
        if wish := self.anyone():
            wish.routed = not wish.routed
            self.change(wish.path, {"routing": wish.routing})

    def colour(self) -> None:
        if wish := self.anyone():
            wish.colour = self.any_colour()
            self.change(wish.path, {"env": wish.env})

    def paint(self) -> None:
        """A template changes under the services that run by it."""
        place, template = self.chance.choice(PLACES), self.chance.choice(TEMPLATES)
        self.paints[place, template] = self.any_colour()
        env = [{"name": "PAINT", "value": self.paints[place, template]}]
        self.change(aim(place, "aimservicetemplates", template), {"env": env})

    def leave(self) -> None:
        if wish := self.anyone():
            self.server.call("DELETE", wish.path)
            self.gone.append(self.wishes.pop(str(wish)))

    def come_back(self) -> None:
        """A service of the same name, once the old one is gone for good."""
        waiting = [wish for wish in self.gone if str(wish) not in self.wishes]
        if not waiting:
            return
        wish = self.chance.choice(waiting)
        status, found = self.server.request("POST", aim(wish.place, "aimservices"), wish.manifest())
        if status == 201:
            wish.uid = found["metadata"]["uid"]
            self.wishes[str(wish)] = wish
        else:
            assert status == 409, found

    def change(self, path: str, spec: dict[str, Any]) -> None:
        status, answer = self.server.request("PATCH", path, {"spec": spec}, content_type=MERGE)
        assert status == 200, answer

    def anyone(self) -> Wish | None:
        return self.chance.choice([*self.wishes.values()]) if self.wishes else None

    def any_colour(self) -> str:
        return f"colour-{self.chance.randrange(1000)}"


def kind(name: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": name, **content}
