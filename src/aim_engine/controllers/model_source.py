"""AIMClusterModelSource: registries that are looked through for images; each that fits becomes a model.

    due ──► Syncing is told ──► registries are queried ──► models are made ──► due again after the interval

A sync only ever adds: no model is changed or deleted, whatever became of its image or of the filters.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from aim_engine.api import names
from aim_engine.api.model import AIMClusterModel
from aim_engine.api.model_source import AIMClusterModelSource, AIMClusterModelSourceStatus
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.controllers import configs, source_scan
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.core import model_sources, source_conditions
from aim_engine.core.conditions import Judgement
from aim_engine.core.health import Component
from aim_engine.core.model_sources import Harvest, Scan
from aim_engine.core.parent import Parent
from aim_engine.core.plan import Plan
from aim_engine.core.transitions import Note
from aim_engine.kube.controller import Wake
from aim_engine.kube.store import Change
from aim_engine.manifests import cluster_model
from aim_engine.objects import Key

CONTROLLER = "cluster-model-source"
AT_ONCE = timedelta(0)


@dataclass(frozen=True)
class Seen:
    """What a pass reads."""

    config: RuntimeConfigSpec
    scan: Scan | None
    """The last one; None before the first of this process."""
    begins: bool
    """Whether the next pass queries the registries."""
    next_scan: timedelta
    existing: Sequence[AIMClusterModel]
    harvest: Harvest


@dataclass(frozen=True)
class View:
    """What a pass makes of it."""

    config: RuntimeConfigSpec
    components: tuple[Component, ...]
    notes: tuple[Note, ...]
    seen: Seen
    discovered: int
    available: int | None
    limited: bool


async def fetch(source: AIMClusterModelSource, cluster: Cluster) -> Seen:
    assert source.spec is not None
    begins = await look(source, cluster)
    scan = cluster.scans.last(source)
    own = model_sources.label(source.metadata.name)
    existing = cluster.cluster_models.store.labelled(names.LABEL_MODEL_SOURCE, own)
    harvest = model_sources.harvest(
        source,
        scan.found if scan else (),
        existing,
        lambda name: cluster.cluster_models.store.get(Key("", name)),
        lambda label: any(lives(one) for one in cluster.sources_labelled(label)),
    )
    return Seen(
        config=configs.resolve(source.metadata, None, cluster).spec,
        scan=scan,
        begins=begins,
        next_scan=cluster.scans.time_left(source, datetime.now(UTC)),
        existing=existing,
        harvest=harvest,
    )


async def look(source: AIMClusterModelSource, cluster: Cluster) -> bool:
    """Query the registries if it is time and has been told; whether it is time and still has to be told."""
    scans, now = cluster.scans, datetime.now(UTC)
    if not scans.is_due(source, now):
        return False
    if not source_conditions.is_syncing(source.status.conditions if source.status else ()):
        return True
    scans.begin(source)
    scans.keep(source, await source_scan.scan(source, cluster, now))
    return False


def lives(source: AIMClusterModelSource) -> bool:
    return source.metadata.deletion_timestamp is None


def observe(source: AIMClusterModelSource, seen: Seen, _: datetime) -> View:
    assert source.spec is not None
    stored = source.status.conditions if source.status else ()
    discovered = len(seen.existing) + seen.harvest.new
    before = source.status.available_models if source.status else None
    available = len(seen.scan.found) if seen.scan else before
    limited = discovered >= model_sources.limit(source.spec)
    return View(
        config=seen.config,
        components=(source_conditions.existing(len(seen.existing)), source_conditions.filters(seen.scan, stored)),
        notes=(
            source_conditions.syncing(seen.begins),
            *((source_conditions.reachable(seen.scan),) if seen.scan else ()),
            source_conditions.limit(limited, discovered, available or 0),
        ),
        seen=seen,
        discovered=discovered,
        available=available,
        limited=limited,
    )


def plan(source: AIMClusterModelSource, view: View) -> Plan:
    """Models of new images; those whose source is gone are taken over."""
    parent = Parent(AIMClusterModelSource.__name__, CONTROLLER, source.metadata)
    return Plan(
        create=tuple(cluster_model.build(source, image) for image in view.seen.harvest.create),
        patch=tuple(cluster_model.take_over(model, parent) for model in view.seen.harvest.take_over),
        requeue_after=AT_ONCE if view.seen.begins else max(view.seen.next_scan, AT_ONCE),
    )


def status(source: AIMClusterModelSource, view: View, judgement: Judgement) -> AIMClusterModelSourceStatus:
    before, scan = source.status or AIMClusterModelSourceStatus(), view.seen.scan
    succeeded = scan is not None and len(scan.failed) < len(scan.outcomes)
    return AIMClusterModelSourceStatus(
        status=judgement.status,
        last_sync_time=scan.at.replace(microsecond=0) if scan and succeeded else before.last_sync_time,
        discovered_models=view.discovered,
        available_models=view.available,
        models_limit_reached=view.limited,
    )


def wakes(cluster: Cluster) -> Sequence[Wake[Any]]:
    """Models of its own; the end of any model whose image it would take."""

    def of_model(change: Change[AIMClusterModel]) -> Iterable[Key]:
        for model in (change.old, change.new):
            label = model.metadata.labels.get(names.LABEL_MODEL_SOURCE) if model else None
            if model and label and (change.old is None or change.new is None or changed_hands(change)):
                yield from (source.metadata.key for source in cluster.sources_labelled(label))
        if change.new is None and change.old and change.old.spec:
            yield from missed(change.old.spec.image)

    def missed(image: str) -> Iterable[Key]:
        for source in cluster.model_sources.store:
            if source.spec and model_sources.matches(source.spec, image):
                cluster.scans.demand(source)
                yield source.metadata.key

    def forget(change: Change[AIMClusterModelSource]) -> None:
        if change.old and (change.new is None or change.new.metadata.uid != change.old.metadata.uid):
            cluster.scans.forget(change.old.metadata.uid)

    cluster.model_sources.listen(forget)
    return (Wake(cluster.cluster_models, of_model),)


def changed_hands(change: Change[AIMClusterModel]) -> bool:
    old, new = change.old, change.new
    return old is None or new is None or old.metadata.labels != new.metadata.labels


MODEL_SOURCES = Concept(
    kind=AIMClusterModelSource,
    controller=CONTROLLER,
    fetch=fetch,
    observe=observe,
    plan=plan,
    status=status,
    blank=AIMClusterModelSourceStatus,
    wakes=wakes,
)
