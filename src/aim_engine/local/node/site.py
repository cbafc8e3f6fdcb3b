"""What the parts of the agent lend each other: shared by all pods, by those of a node, by the containers of a pod."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import aiohttp
import msgspec

from aim_engine.kube.events import Level, Recorder
from aim_engine.local.container.sandbox import Sandbox
from aim_engine.local.node.addresses import PodAddresses
from aim_engine.local.node.api_server import PodApi
from aim_engine.local.node.board import Board
from aim_engine.local.node.capacity import Machine
from aim_engine.local.node.downward import Placement
from aim_engine.local.node.images import Images
from aim_engine.local.node.layout import NodeLayout, PodLayout
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.timings import Timings
from aim_engine.local.node.volumes import FindClaim, Volumes

if TYPE_CHECKING:
    from aim_engine.local.node.container_spec import Container


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What all pods of the agent share."""

    api: PodApi
    sandbox: Sandbox
    recorder: Recorder
    session: aiohttp.ClientSession
    find_claim: FindClaim
    timings: Timings
    environment: Mapping[str, str]
    """Variables every container gets."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """One node, as its pods see it."""

    machine: Machine
    address: str
    addresses: PodAddresses
    images: Images
    layout: NodeLayout
    allocatable: Mapping[str, str]


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """What the containers of one pod share once its volumes and its address are there."""

    pod: Pod
    host: Host
    tools: Tools
    placement: Placement
    layout: PodLayout
    volumes: Volumes
    board: Board
    evict: Callable[[str], None]
    tell: Callable[["Container | None", Level, str, str], None]
    """Has an event told of a container, or of the pod as a whole."""
