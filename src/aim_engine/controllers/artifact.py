"""AIMArtifact and AIMModelCache: one source on one volume, fetched by a Job. One engine reconciles both kinds."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from aim_engine.api.artifact import AIMArtifact, AIMModelCache, DownloadObject, DownloadStatus
from aim_engine.api.foreign import Job
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.status import AIMStatus
from aim_engine.controllers import artifact_wakes, configs, kinds
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.job_reading import see_job
from aim_engine.core import download_status, downloads, merge, naming, sizes
from aim_engine.core.conditions import Judgement
from aim_engine.core.download_kinds import ARTIFACT, MODEL_CACHE, DownloadKind
from aim_engine.core.downloads import Download, JobSeen, Surroundings, Timings
from aim_engine.core.health import Component
from aim_engine.core.plan import Plan, Target
from aim_engine.core.runtime_config import Resolution
from aim_engine.core.transitions import Note
from aim_engine.kube.informer import Informer
from aim_engine.manifests import download_job, status_updater, volume
from aim_engine.objects import Key, Manifest


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
    timings: Timings
    look_again: timedelta | None


async def fetch(download: Download, cluster: Cluster) -> Seen:
    """Everything around a download object; of its Jobs only what can still change its state."""
    metadata = download.metadata
    claim = cluster.claims.store.get(Key(metadata.namespace, naming.volume(metadata.name, metadata.uid)))
    check = await see_check(download, cluster) if downloads.needs_check(download) else JobSeen()
    fetching = await see_job(cluster, Key(metadata.namespace, naming.download_job(metadata.name, metadata.uid)))
    surroundings = Surroundings(
        claim=claim,
        may_report=Key(metadata.namespace, download.kind.status_updater) in cluster.role_bindings.store,
        check=check,
        fetch=fetching,
        events=cluster.said_of(claim, *check.pods, *fetching.pods),
    )
    return Seen(configs.resolve(metadata, download.spec.runtime_config_name, cluster), surroundings)


async def see_check(download: Download, cluster: Cluster) -> JobSeen:
    """The check-size Job, with its last line of output once it is complete."""
    metadata = download.metadata
    seen = await see_job(cluster, Key(metadata.namespace, naming.check_size_job(metadata.name, metadata.uid)))
    if not seen.is_complete:
        return seen
    readable = (pod for pod in seen.pods if pod.status.phase in ("Succeeded", "Running"))
    pod = next(readable, None)
    output = await cluster.log(pod.metadata.key, "check-size", tail=1) if pod else None
    return JobSeen(seen.job, seen.pods, seen.failure_log, output)


def observe(download: Download, seen: Seen, now: datetime, timings: Timings) -> View:
    """How far the download is."""
    surroundings = downloads.cleared(seen.surroundings, timings, now)
    size = downloads.size(download, surroundings.check)
    complete = download_status.completion(download, surroundings)
    storage = seen.config.spec.storage
    return View(
        config=seen.config.spec,
        components=(seen.config.component, *downloads.components(download, surroundings, size)),
        notes=(complete,) if complete else (),
        surroundings=surroundings,
        size=size,
        headroom=downloads.headroom(download, storage.pvc_headroom_percent if storage else None),
        timings=timings,
        look_again=look_again(download, surroundings, timings, now),
    )


def look_again(download: Download, seen: Surroundings, timings: Timings, now: datetime) -> timedelta | None:
    """When a download that is under way, or a failed Job that is to make room, has to be looked at."""
    waits = (
        timings.again if download.status.status is AIMStatus.PROGRESSING else None,
        downloads.time_left_of_check(seen, timings, now),
        downloads.time_left_of_fetch(seen, timings, now),
    )
    return min((wait for wait in waits if wait is not None), default=None)


def plan(download: Download, view: View) -> Plan:
    """At most one step forward: find out the size, claim the volume, fetch the source."""
    seen = view.surroundings
    return Plan(
        apply=() if seen.spent else next_step(download, view),
        apply_unowned=() if seen.may_report else (status_updater.build(download.kind, download.metadata.namespace),),
        delete=tuple(target(job) for job in seen.spent),
        requeue_after=view.look_again,
    )


def next_step(download: Download, view: View) -> tuple[Manifest, ...]:
    """What is to be made next, if anything; nothing that is there is ever changed."""
    metadata, spec, seen, size = download.metadata, download.spec, view.surroundings, view.size.effective
    env = merge.variables(view.config.env, spec.env)
    if size is None:
        name = naming.check_size_job(metadata.name, metadata.uid)
        return () if seen.check.job else (download_job.check_size(download, name, env, view.timings.check_kept_for),)
    claim = naming.volume(metadata.name, metadata.uid)
    if seen.claim is None:
        storage = view.config.storage
        storage_class = spec.storage_class_name or (storage and storage.default_storage_class_name) or ""
        return (volume.build(download, claim, sizes.claim(size, view.headroom), storage_class),)
    must_wait = not seen.may_report or downloads.is_going(seen.claim)
    if seen.fetch.job or must_wait or downloads.is_downloaded(download, seen.claim):
        return ()
    everything = merge.variables(download_job.default_env(download, size), env)
    name = naming.download_job(metadata.name, metadata.uid)
    return (download_job.fetch(download, name, claim, everything, view.timings.fetch_kept_for),)


def target(job: Job) -> Target:
    return Target(
        api_version=kinds.JOBS.api_version,
        kind=kinds.JOBS.kind,
        name=job.metadata.name,
        namespace=job.metadata.namespace,
        uid=job.metadata.uid,
    )


def status(download: Download, view: View, judgement: Judgement) -> DownloadStatus:
    return download_status.status(download, view.surroundings, view.size, view.headroom, judgement.status)


def concept(
    kind: type[AIMArtifact] | type[AIMModelCache],
    names_of: DownloadKind,
    informer: Callable[[Cluster], Informer[Any]],
    timings: Timings,
) -> Concept[DownloadObject, Seen, View]:
    return Concept(
        kind=kind,
        controller=names_of.controller,
        fetch=lambda item, cluster: fetch(downloads.of(item, names_of), cluster),
        observe=lambda item, seen, now: observe(downloads.of(item, names_of), seen, now, timings),
        plan=lambda item, view: plan(downloads.of(item, names_of), view),
        status=lambda item, view, judgement: status(downloads.of(item, names_of), view, judgement),
        blank=DownloadStatus,
        wakes=lambda cluster: artifact_wakes.wakes(cluster, informer(cluster), names_of),
    )


def concepts(timings: Timings) -> tuple[Concept[DownloadObject, Seen, View], ...]:
    """Both kinds of download objects."""
    return (
        concept(AIMArtifact, ARTIFACT, lambda cluster: cluster.artifacts, timings),
        concept(AIMModelCache, MODEL_CACHE, lambda cluster: cluster.model_caches, timings),
    )
