"""AIMArtifact and AIMModelCache: one source on one volume, fetched by a Job. One engine reconciles both kinds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from aim_engine.api import names
from aim_engine.api.artifact import AIMArtifact, AIMModelCache, DownloadObject, DownloadStatus
from aim_engine.api.foreign import Event, Job, Pod
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.status import AIMStatus
from aim_engine.controllers import configs, kinds
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.job_reading import see_job
from aim_engine.core import downloads, jobs, merge, naming, sizes
from aim_engine.core.conditions import Judgement
from aim_engine.core.derived_name import label_value
from aim_engine.core.download_kinds import ARTIFACT, MODEL_CACHE, DownloadKind
from aim_engine.core.downloads import CHECK_KEPT_FOR, FETCH_KEPT_FOR, JobSeen, Surroundings
from aim_engine.core.health import Component
from aim_engine.core.plan import Plan, Target
from aim_engine.core.runtime_config import Resolution
from aim_engine.core.transitions import Note
from aim_engine.kube.controller import Wake, owners
from aim_engine.kube.informer import Informer
from aim_engine.kube.store import Change
from aim_engine.manifests import download_job, status_updater, volume
from aim_engine.objects import Key

AGAIN = timedelta(seconds=10)
"""How often a download that is under way is looked at, beside all that wakes it."""


@dataclass(frozen=True)
class Seen:
    """What a pass reads."""

    config: Resolution
    surroundings: Surroundings


@dataclass(frozen=True)
class View:
    """What a pass makes of it."""

    config: RuntimeConfigSpec
    components: tuple[Component, ...]
    notes: tuple[Note, ...]
    surroundings: Surroundings
    size: downloads.Size
    headroom: int
    now: datetime


async def fetch(artifact: DownloadObject, cluster: Cluster, kind: DownloadKind) -> Seen:
    """Everything around a download object; of its Jobs only what can still change its state."""
    metadata = artifact.metadata
    assert artifact.spec is not None
    claim = cluster.claims.store.get(Key(metadata.namespace, naming.volume(metadata.name, metadata.uid)))
    stored = artifact.status.discovered_size_bytes if artifact.status else None
    unknown = not sizes.in_bytes(artifact.spec.size) and not stored
    check = await see_check(artifact, cluster) if unknown else JobSeen()
    fetching = await see_job(cluster, Key(metadata.namespace, naming.download_job(metadata.name, metadata.uid)))
    surroundings = Surroundings(
        claim=claim,
        may_report=Key(metadata.namespace, kind.status_updater) in cluster.role_bindings.store,
        check=check,
        fetch=fetching,
        events=cluster.said_of(claim, *check.pods, *fetching.pods),
    )
    return Seen(configs.resolve(metadata, artifact.spec.runtime_config_name, cluster), surroundings)


async def see_check(artifact: DownloadObject, cluster: Cluster) -> JobSeen:
    """The check-size Job, with its last line of output once it is complete."""
    metadata = artifact.metadata
    seen = await see_job(cluster, Key(metadata.namespace, naming.check_size_job(metadata.name, metadata.uid)))
    if seen.job is None or not jobs.is_complete(seen.job):
        return seen
    readable = (pod for pod in seen.pods if pod.status.phase in ("Succeeded", "Running"))
    pod = next(readable, None)
    output = await cluster.log(pod.metadata.key, "check-size", tail=1) if pod else None
    return JobSeen(seen.job, seen.pods, seen.failure_log, output)


def observe(artifact: DownloadObject, seen: Seen, now: datetime) -> View:
    """How far the download is."""
    size = downloads.size(artifact, seen.surroundings.check)
    complete = downloads.completion(artifact, seen.surroundings)
    storage = seen.config.spec.storage
    return View(
        config=seen.config.spec,
        components=(seen.config.component, *downloads.components(artifact, seen.surroundings, size)),
        notes=(complete,) if complete else (),
        surroundings=seen.surroundings,
        size=size,
        headroom=downloads.headroom(artifact, storage.pvc_headroom_percent if storage else None),
        now=now,
    )


def plan(artifact: DownloadObject, view: View, kind: DownloadKind) -> Plan:
    """At most one step forward: find out the size, claim the volume, fetch the source."""
    seen = view.surroundings
    binding = () if seen.may_report else (status_updater.build(kind, artifact.metadata.namespace),)
    late = (
        (seen.check.job, CHECK_KEPT_FOR),
        (seen.fetch.job, FETCH_KEPT_FOR),
    )
    left_over = [job for job, kept_for in late if job and downloads.overdue(job, kept_for, view.now)]
    if seen.fetch.job and downloads.is_stale(seen):
        left_over.append(seen.fetch.job)
    step = () if left_over else next_step(artifact, view, kind)
    return Plan(
        apply=step,
        apply_unowned=binding,
        delete=tuple(target(job) for job in left_over),
        requeue_after=look_again(artifact, view),
    )


def next_step(artifact: DownloadObject, view: View, kind: DownloadKind) -> tuple[dict[str, Any], ...]:
    """What is to be made next, if anything; nothing that is there is ever changed."""
    assert artifact.spec is not None
    metadata, seen, size = artifact.metadata, view.surroundings, view.size.effective
    env = merge.variables(view.config.env, artifact.spec.env)
    if size is None:
        name = naming.check_size_job(metadata.name, metadata.uid)
        return () if seen.check.job else (download_job.check_size(artifact, kind, name, env),)
    claim = naming.volume(metadata.name, metadata.uid)
    if seen.claim is None:
        storage = view.config.storage
        storage_class = artifact.spec.storage_class_name or (storage and storage.default_storage_class_name) or ""
        return (volume.build(artifact, claim, sizes.claim(size, view.headroom), storage_class),)
    if seen.fetch.job or not seen.may_report or downloads.is_downloaded(artifact, seen.claim):
        return ()
    everything = merge.variables(download_job.default_env(artifact, kind, size), env)
    name = naming.download_job(metadata.name, metadata.uid)
    return (download_job.fetch(artifact, kind, name, claim, everything),)


def look_again(artifact: DownloadObject, view: View) -> timedelta | None:
    """When a download that is under way, or a failed Job that is to make room, has to be looked at."""
    seen = view.surroundings
    under_way = artifact.status is not None and artifact.status.status is AIMStatus.PROGRESSING
    waits = (
        AGAIN if under_way else None,
        downloads.time_left(seen.check.job, CHECK_KEPT_FOR, view.now),
        downloads.time_left(seen.fetch.job, FETCH_KEPT_FOR, view.now),
    )
    return min((wait for wait in waits if wait is not None and wait > timedelta(0)), default=None)


def target(job: Job) -> Target:
    return Target(
        api_version=kinds.JOBS.api_version,
        kind=kinds.JOBS.kind,
        name=job.metadata.name,
        namespace=job.metadata.namespace,
        uid=job.metadata.uid,
    )


def status(artifact: DownloadObject, view: View, judgement: Judgement) -> DownloadStatus:
    return downloads.status(artifact, view.surroundings, view.size, view.headroom, judgement.status)


def wakes(cluster: Cluster, informer: Informer[Any], kind: DownloadKind) -> Sequence[Wake[Any]]:
    """Claims and Jobs it owns, pods and what is said of them, the right to report, runtime configs."""
    by_label = informer.store.index(lambda one: [(one.metadata.namespace, label_value(one.metadata.name))])

    def of_pod(pod: Pod | None) -> Iterable[Key]:
        if pod is None or pod.metadata.labels.get(names.LABEL_CACHE_TYPE) != kind.cache_type:
            return ()
        found = by_label[pod.metadata.namespace, pod.metadata.labels.get(names.LABEL_CACHE_NAME)]
        return (one.metadata.key for one in found)

    def of_pods(change: Change[Pod]) -> Iterable[Key]:
        return of_pod(change.new or change.old)

    def of_event(change: Change[Event]) -> Iterable[Key]:
        about = change.new.involved_object if change.new else None
        return of_pod(cluster.pods.store.get(Key(about.namespace, about.name))) if about else ()

    def of_claim_event(change: Change[Event]) -> Iterable[Key]:
        about = change.new.involved_object if change.new else None
        claim = cluster.claims.store.get(Key(about.namespace, about.name)) if about else None
        return owners(informer.resource)(Change(claim.metadata.key, None, claim)) if claim else ()

    def of_binding(change: Change[Any]) -> Iterable[Key]:
        if change.key.name != kind.status_updater:
            return ()
        return (one.metadata.key for one in informer.store.in_namespace(change.key.namespace))

    return (
        Wake(cluster.claims, owners(informer.resource)),
        Wake(cluster.jobs, owners(informer.resource)),
        Wake(cluster.pods, of_pods),
        Wake(cluster.pod_events, of_event),
        Wake(cluster.claim_events, of_claim_event),
        Wake(cluster.role_bindings, of_binding),
        *configs.wakes(informer, cluster, lambda one: one.spec.runtime_config_name if one.spec else None),
    )


def concept(
    kind: type[AIMArtifact] | type[AIMModelCache], names_of: DownloadKind, informer: Callable[[Cluster], Informer[Any]]
) -> Concept[DownloadObject, Seen, View]:
    return Concept(
        kind=kind,
        controller=names_of.controller,
        fetch=lambda artifact, cluster: fetch(artifact, cluster, names_of),
        observe=observe,
        plan=lambda artifact, view: plan(artifact, view, names_of),
        status=status,
        blank=DownloadStatus,
        wakes=lambda cluster: wakes(cluster, informer(cluster), names_of),
    )


ARTIFACTS = concept(AIMArtifact, ARTIFACT, lambda cluster: cluster.artifacts)
MODEL_CACHES = concept(AIMModelCache, MODEL_CACHE, lambda cluster: cluster.model_caches)
