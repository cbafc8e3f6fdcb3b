"""The parts that run beside the control plane: how each is started, and how it is known to be ready."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import NamedTuple

from aim_engine.local import binaries, installation
from aim_engine.local.control_plane import Cluster
from aim_engine.local.demo.publish import REGISTRY

HUB_PORT, REGISTRY_PORT, PROBE_PORT, METRICS_PORT = 8080, 5000, 8081, 8082


class Site(NamedTuple):
    """Where the parts of one start are, each at an address of its own in the cluster's network."""

    cluster: Cluster
    gpus: Sequence[str]
    images: Sequence[Path]
    port: int
    """Of the gateway, on 127.0.0.1."""
    without: frozenset[str]

    @property
    def directory(self) -> Path:
        return Path(self.cluster.directory)

    @property
    def hub(self) -> str | None:
        """The base of the hub's addresses."""
        return None if "hub" in self.without else f"http://{self.address(2)}:{HUB_PORT}"

    @property
    def registry(self) -> str | None:
        """Where the registry of the demo images is read."""
        return None if "registry" in self.without else f"http://{self.address(3)}:{REGISTRY_PORT}"

    @property
    def gateway(self) -> str | None:
        """Where services are reached."""
        return None if "gateway" in self.without else f"http://localhost:{self.port}"

    @property
    def operator_kubeconfig(self) -> Path:
        return self.directory / "operator.kubeconfig"

    def address(self, number: int) -> str:
        """One of the first 256 addresses of the cluster's network; the control plane has the first."""
        return str(IPv4Network(self.cluster.network)[number])


class Part(NamedTuple):
    """One program beside the control plane."""

    name: str
    title: str
    arguments: Callable[[Site], Sequence[str]]
    ready: str | Callable[[Site], str]
    """What its log says when it is ready, or the address that answers then."""
    environment: Callable[[Site], Mapping[str, str]] | None = None
    prepare: Callable[[Site], Awaitable[None]] | None = None
    """What has to be there before it starts."""
    log: str = ""
    """The name of its log, if that is not its own."""


def _aim(command: str, *words: str) -> Callable[[Site], Sequence[str]]:
    def arguments(site: Site) -> Sequence[str]:
        kubeconfig = ("--kubeconfig", str(site.cluster.kubeconfig))
        return (sys.executable, "-P", "-m", "aim_engine", command, *kubeconfig, *words)

    return arguments


def _stand_in(name: str, number: int, port: int, *words: str) -> Callable[[Site], Sequence[str]]:
    def arguments(site: Site) -> Sequence[str]:
        place = (str(site.directory / name), "--host", site.address(number), "--port", str(port))
        return (sys.executable, "-P", "-m", f"aim_engine.local.stand_ins.{name}", *place, *words)

    return arguments


def _node(site: Site) -> Sequence[str]:
    gpus = [word for kind in site.gpus for word in ("--gpus", kind)]
    return (*_aim("node", *gpus)(site), *(word for book in site.images for word in ("--images", str(book))))


def _gateway(site: Site) -> Sequence[str]:
    return _aim("gateway", "--port", str(site.port))(site)


async def _kserve(site: Site) -> None:  # noqa: ARG001
    """Build it, where that can be told; it takes some minutes, once."""
    await binaries.find("kserve")


async def _installation(site: Site) -> None:
    """Give the operator its account, so that it has the same rights here as on a real cluster."""
    await installation.prepare(site.cluster, site.operator_kubeconfig)


def _operator(site: Site) -> Sequence[str]:
    flags = (
        f"--kubeconfig={site.operator_kubeconfig}",
        f"--health-probe-bind-address={site.address(4)}:{PROBE_PORT}",
        f"--metrics-bind-address={site.address(4)}:{METRICS_PORT}",
        "--metrics-secure=false",
        "--zap-encoder=console",
    )
    return (sys.executable, "-P", "-m", "aim_engine", "operator", *flags)


def _probe(site: Site) -> str:
    return f"http://{site.address(4)}:{PROBE_PORT}/readyz"


def _mirrors(site: Site) -> Mapping[str, str]:
    """The registry of the demo images beside whatever mirrors the user has."""
    own = os.environ.get("AIM_REGISTRY_MIRRORS", "")
    demo = f"{REGISTRY}={site.registry}" if site.registry else ""
    return {"AIM_REGISTRY_MIRRORS": ",".join(filter(None, (own, demo)))}


PARTS = (
    Part("hub", "Hugging Face hub, stand-in", _stand_in("hub", 2, HUB_PORT, "--faultless"), ready='"hub"'),
    Part("registry", "registry, stand-in", _stand_in("registry", 3, REGISTRY_PORT), ready='"registry"'),
    Part("node", "nodes", _node, ready="Nodes are ready"),
    Part("kserve", "KServe", _aim("kserve"), ready="is ready", prepare=_kserve, log="kserve-start"),
    Part("gateway", "gateway, stand-in", _gateway, ready="is ready"),
    Part("autoscaler", "autoscaler, stand-in", _aim("autoscaler"), ready="is ready"),
    Part(
        "operator",
        "AIM Engine operator",
        _operator,
        ready=_probe,
        environment=_mirrors,
        prepare=_installation,
    ),
)
"""In the order in which they start."""
