"""The status of a pod as a node reports it."""

from datetime import datetime
from typing import Literal

import msgspec

from aim_engine.objects import Wire

Phase = Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"]


class Waiting(Wire):
    """A container that does not run yet or not at the moment."""

    reason: str = ""
    message: str = ""


class Running(Wire):
    """A container that runs."""

    started_at: datetime | None = None


class Terminated(Wire):
    """How a container ended."""

    exit_code: int
    reason: str = ""
    message: str = ""
    signal: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    container_id: str = msgspec.field(default="", name="containerID")


class ContainerState(Wire):
    """Exactly one is set; none means the container never ended."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Wire):
    """What a node knows of one container."""

    name: str
    ready: bool
    restart_count: int
    image: str
    image_id: str = msgspec.field(name="imageID")
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    started: bool | None = None
    container_id: str = msgspec.field(default="", name="containerID")


class PodCondition(Wire):
    """One observed aspect of a pod."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str | None = None
    message: str | None = None
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


class Address(Wire):
    """An address of a pod or its host."""

    ip: str


class PodStatus(Wire):
    """What a node reports of a pod."""

    phase: Phase = "Pending"
    observed_generation: int | None = None
    conditions: tuple[PodCondition, ...] = ()
    reason: str = ""
    message: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")
    host_ips: tuple[Address, ...] = msgspec.field(default=(), name="hostIPs")
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: tuple[Address, ...] = msgspec.field(default=(), name="podIPs")
    start_time: datetime | None = None
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""
