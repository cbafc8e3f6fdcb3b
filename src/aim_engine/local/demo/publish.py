"""Puts the demo images and their weights where the stand-ins of the registry and the hub find them."""

import json
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from aim_engine.local.demo import weights
from aim_engine.local.demo.profiles import PROFILES

REGISTRY = "registry.local"
"""The name of the registry in manifests; AIM_REGISTRY_MIRRORS says where that is."""
READER_TOKEN = "hf_demo_reader"
"""The token with which the stand-in of the hub gives away the gated model. It opens nothing else anywhere."""
FIELD = "com.amd.aim."


class DemoImage(NamedTuple):
    """An image of the demo registry."""

    repository: str
    tag: str
    model: str
    gated: bool

    @property
    def name(self) -> str:
        return f"{REGISTRY}/{self.repository}:{self.tag}"

    def labels(self) -> dict[str, str]:
        """What the image says of itself, as the images of AMD do."""
        access = ", whose weights need a token" if self.gated else ""
        deployments = [profile.deployment() for profile in PROFILES]
        return {
            f"{FIELD}model.canonicalName": self.model,
            f"{FIELD}model.source": f"https://huggingface.co/{self.model}",
            f"{FIELD}model.tags": "text-generation,chat,demo",
            f"{FIELD}model.versions": self.tag,
            f"{FIELD}hfToken.required": str(self.gated).lower(),
            f"{FIELD}title": "Demo chat" if not self.gated else "Demo chat, gated",
            f"{FIELD}description.full": f"A model that reads words off its own weights{access}.",
            f"{FIELD}model.recommendedDeployments": json.dumps(deployments),
            "org.opencontainers.image.title": self.repository,
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.version": self.tag,
        }


IMAGES = (
    DemoImage("aim-demo", "1.0", "demo/tiny-chat", gated=False),
    DemoImage("aim-demo-gated", "1.0", "demo/gated-chat", gated=True),
)


def images(directory: Path) -> None:
    """Write the demo images for the registry; what else is in the directory stays."""
    for image in IMAGES:
        file = directory / image.repository / f"{image.tag}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump({"labels": image.labels()}, width=120), encoding="utf-8")


def models(directory: Path) -> None:
    """Write the demo models for the hub, unless they are there, and who may read them."""
    for image in IMAGES:
        folder = directory / image.model
        folder.mkdir(parents=True, exist_ok=True)
        missing = [(folder / name, content) for name, content in weights.contents(image.model).items()]
        for file, content in missing:
            if not file.exists():
                file.write_bytes(content)
    gated = [image.model for image in IMAGES if image.gated]
    rules = {"tokens": {READER_TOKEN: gated}, "gated": gated}
    (directory / "hub.json").write_bytes(msgspec.json.encode(rules))
