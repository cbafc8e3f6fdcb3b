"""A cluster as the guides' readers have one, on this machine: everything is there but AIM Engine.

Real Kubernetes, KServe, registry and S3 store; the nodes run programs of this project in place of images, and what
`aim up` has stand-ins for is one here too.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.cluster.conftest import free_port
from tests.conftest import run
from tests.downloader import stage
from tests.downloader.conftest import Objects
from tests.registry import servers
from tests.registry.pushing import Pusher
from tests.walks.shell import Shell, shell

from aim_engine.local import binaries
from aim_engine.local.container import book
from aim_engine.local.demo import weights
from aim_engine.local.demo.publish import DemoImage

AIM = Path(sys.executable).with_name("aim")
PROGRAMS = ("helm", "kubectl", "crane")
IMAGES = (
    DemoImage("amdenterpriseai/aim-qwen-qwen3-32b", "0.8.5", "Qwen/Qwen3-32B", gated=False),
    DemoImage("acme/aim-llama-3-8b", "1.2.0", "meta-llama/Llama-3-8B", gated=False),
    DemoImage("acme/aim", "1.0", "meta-llama/Llama-3-8B", gated=False),
)
"""The images of the guides; in this cluster Docker Hub and GitHub's registry are one mirror."""
MODELS = ("Qwen/Qwen3-32B", "Qwen/Qwen2-0.5B")
BELONGINGS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast-nfs}
provisioner: local.aim.eai.amd.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: Namespace
metadata: {name: gateways}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: inference, namespace: gateways}
spec:
  gatewayClassName: aim-local
  listeners: [{name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}]
"""
MANAGER = """#!/bin/bash
# As in the image, but at the pod's own address: the pods of a local node share the machine's network.
exec aim operator "${@//=:/=$POD_IP:}"
"""


class Outside(NamedTuple):
    """What the cluster reaches beyond itself."""

    registry: str
    hub: str
    store: str


@contextmanager
def outside(directory: Path) -> Iterator[Outside]:
    """A registry with the images, a hub and an S3 store with the weights."""
    with (
        servers.registry(run(binaries.find("registry")), directory / "registry") as registry,
        stage.hub(directory / "hub") as hub,
        stage.s3_server(run(binaries.find("versitygw")), directory / "store") as store,
    ):
        run(_push(registry))
        for model in MODELS:
            hub.add(model, weights.contents(model))
        bucket = Objects(store, name="weights")
        bucket.add("qwen", {"config.json": b"{}", "model.safetensors": bytes(100_000)})
        bucket.client.close()
        yield Outside(registry, hub.url, store)


async def _push(registry: str) -> None:
    async with Pusher(f"http://{registry}") as pusher:
        for image in IMAGES:
            await pusher.image(image.repository, image.tag, image.labels())


def operator_image(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """The entry of an image book by which the operator's image is this project, with a variable or two more."""
    manager = directory / "manager"
    manager.write_text(MANAGER)
    manager.chmod(0o755)
    return {
        "image": "docker.io/amdenterpriseai/aim-engine",
        "entrypoint": ["/manager"],
        "programs": {"/manager": str(manager)},
        "environment": {"PATH": f"{AIM.parent}:/usr/bin:/bin", **environment},
    }


def image_book(directory: Path, reached: Outside) -> Path:
    """The images of the guides as programs of this project."""
    known = yaml.safe_load(Path(book.BUILT_IN).read_text())["images"]
    downloader = next(entry for entry in known if "aim-artifact-downloader" in entry["image"])
    demo = next(entry for entry in known if entry["image"] == "registry.local/aim-demo")
    programs = {
        path: str((Path(book.BUILT_IN).parent / file).resolve()) for path, file in downloader["programs"].items()
    }
    mirrors = ",".join(f"{host}=http://{reached.registry}" for host in ("docker.io", "ghcr.io"))
    entries = [
        operator_image(directory, {"AIM_REGISTRY_MIRRORS": mirrors}),
        {
            **downloader,
            "programs": programs,
            "environment": {**downloader["environment"], "HF_ENDPOINT": reached.hub},
        },
        *(
            {
                **demo,
                "image": f"*{image.repository}",
                "environment": {**demo["environment"], "AIM_DEMO_MODEL": image.model},
            }
            for image in IMAGES
        ),
    ]
    file = directory / "book.yaml"
    file.write_text(json.dumps({"images": entries}))
    return file


def linked(directory: Path) -> Path:
    """A directory with the programs that a reader has."""
    directory.mkdir()
    for name in PROGRAMS:
        (directory / name).symlink_to(run(binaries.find(name)))
    return directory


@contextmanager
def reader(directory: Path) -> Iterator[Shell]:
    """A shell of somebody who has such a cluster, and helm, kubectl and crane."""
    cluster, port = directory / "cluster", free_port()
    programs, home = linked(directory / "programs"), directory / "home"
    home.mkdir()
    with outside(directory) as reached:
        without = [word for part in ("operator", "registry", "hub") for word in ("--without", part)]
        images = ["--images", str(image_book(directory, reached))]
        place = ["--directory", str(cluster)]
        try:
            subprocess.run(
                [AIM, "up", "--detach", "--no-sample", "--port", str(port), *without, *images, *place], check=True
            )
            environment = {
                "PATH": f"{programs}:{AIM.parent}:/usr/bin:/bin",
                "HOME": str(home),
                "KUBECONFIG": str(cluster / "kubeconfig"),
                "TOKEN": "ghp_of_a_robot",
                "PASSWORD": "of the mirror",
                "HF_ENDPOINT": reached.hub,
                "AWS_ENDPOINT_URL": reached.store,
                "AWS_ACCESS_KEY_ID": stage.S3_KEY,
                "AWS_SECRET_ACCESS_KEY": stage.S3_SECRET,
            }
            subprocess.run(
                [programs / "kubectl", "apply", "-f", "-"], input=BELONGINGS, text=True, env=environment, check=True
            )
            places = {
                "https://inference.example": f"http://localhost:{port}",
                "copy ghcr.io/": f"copy {reached.registry}/",
                "digest ghcr.io/": f"digest {reached.registry}/",
                "mirror.example/ghcr/": f"{reached.registry}/ghcr/",
            }
            with shell(environment, places) as walking:
                yield walking
        finally:
            subprocess.run([AIM, "down", *place], check=False)
