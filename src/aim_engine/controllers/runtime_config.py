"""AIMRuntimeConfig and AIMClusterRuntimeConfig: nothing is made of them; they only say that they were seen."""

from datetime import datetime
from typing import NamedTuple

from aim_engine.api.runtime_config import (
    AIMClusterRuntimeConfig,
    AIMRuntimeConfig,
    RuntimeConfig,
    RuntimeConfigSpec,
    RuntimeConfigStatus,
)
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.core.conditions import Judgement
from aim_engine.core.health import Component
from aim_engine.core.plan import Plan
from aim_engine.core.transitions import Note


class View(NamedTuple):
    """A config depends on nothing."""

    components: tuple[Component, ...] = ()
    notes: tuple[Note, ...] = ()
    config: RuntimeConfigSpec = RuntimeConfigSpec()


async def fetch(_: RuntimeConfig, __: Cluster) -> None:
    """Nothing has to be read."""


def observe(_: RuntimeConfig, __: None, ___: datetime) -> View:
    return View()


def plan(_: RuntimeConfig, __: View) -> Plan:
    return Plan()


def status(_: RuntimeConfig, __: View, ___: Judgement) -> RuntimeConfigStatus:
    return RuntimeConfigStatus()


def concept(
    kind: type[AIMRuntimeConfig] | type[AIMClusterRuntimeConfig], controller: str
) -> Concept[RuntimeConfig, None, View]:
    return Concept(
        kind=kind, controller=controller, fetch=fetch, observe=observe, plan=plan, status=status, tells=False
    )


NAMESPACED = concept(AIMRuntimeConfig, "runtime-config")
CLUSTER = concept(AIMClusterRuntimeConfig, "cluster-runtime-config")
