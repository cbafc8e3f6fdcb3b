"""AIMServiceTemplate and AIMClusterServiceTemplate: the profile, weights and hardware of a model, found out once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aim_engine.api.foreign import Event
from aim_engine.api.model import Model
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.status import AIMStatus, ResolvedReference
from aim_engine.api.template import (
    AIMClusterServiceTemplate,
    AIMServiceTemplate,
    Profile,
    Template,
    TemplateStatus,
)
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers import configs, discovering, kinds, template_wakes
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.core import discovery_course, gpu_check, hardware, references, sizes, templates
from aim_engine.core.conditions import Judgement
from aim_engine.core.discovery import Moment, Question, Timings
from aim_engine.core.discovery_course import Course
from aim_engine.core.downloads import JobSeen
from aim_engine.core.health import Component
from aim_engine.core.node_gpus import Inventory
from aim_engine.core.plan import Plan, Target
from aim_engine.core.runtime_config import Resolution
from aim_engine.core.transitions import Note
from aim_engine.manifests import discovery_job, template_cache
from aim_engine.objects import Key, Manifest


@dataclass(frozen=True)
class Seen:
    """What a pass reads."""

    config: Resolution
    model: Model | None
    gpus: Inventory
    question: Question | None
    """None where nothing is to be asked, or nobody can be."""
    job: JobSeen
    said: Sequence[Event]
    caches: Sequence[AIMTemplateCache]
    place: bool
    """Whether a discovery Job may be made now, if one is wanted."""
    work_namespace: str


@dataclass(frozen=True)
class View:
    """What a pass makes of it."""

    config: RuntimeConfigSpec
    components: tuple[Component, ...]
    notes: tuple[Note, ...]
    seen: Seen
    course: Course
    has_gpu: bool


async def fetch(template: Template, cluster: Cluster, timings: Timings) -> Seen:
    assert template.spec is not None
    spec, metadata = template.spec, template.metadata
    config = configs.resolve(metadata, spec.runtime_config_name, cluster)
    model = find_model(template, cluster)
    work_namespace = metadata.namespace or cluster.operator_namespace
    question = discovering.ask(spec, model, config.spec.env, work_namespace, cluster)
    job = await discovering.see(template, question, work_namespace, cluster)
    at = Moment(datetime.now(UTC), timings)
    may_run = question if not config.component.problems else None
    return Seen(
        config=config,
        model=model,
        gpus=cluster.gpus,
        question=question,
        job=job,
        said=cluster.said_of(*job.pods),
        caches=cluster.template_caches.store.in_namespace(metadata.namespace) if metadata.namespace else (),
        place=discovering.take_place(template, may_run, job, at, cluster),
        work_namespace=work_namespace,
    )


def find_model(template: Template, cluster: Cluster) -> Model | None:
    """The model of the namespace, else the one of the cluster; for a cluster template only the latter."""
    assert template.spec is not None
    name = template.spec.model_name
    namespaced = (
        cluster.models.store.get(Key(template.metadata.namespace, name)) if template.metadata.namespace else None
    )
    return namespaced or cluster.cluster_models.store.get(Key("", name))


def observe(template: Template, seen: Seen, at: Moment) -> View:
    assert template.spec is not None
    gpu = gpu_check.inspect(gpu_check.wanted(template.spec), seen.gpus)
    has_gpu = gpu is None or gpu.effective_state is AIMStatus.READY
    course = discovery_course.of(template, seen.question, seen.job, seen.said, at)
    caching = template.spec.caching if isinstance(template, AIMServiceTemplate) and template.spec else None
    cache = templates.cache_note(
        templates.serving_cache(template, seen.caches), wanted=bool(caching and caching.enabled)
    )
    return View(
        config=seen.config.spec,
        components=(
            seen.config.component,
            templates.model_component(seen.model, in_namespace=bool(template.metadata.namespace)),
            *((gpu,) if gpu else ()),
            *(course.components if has_gpu else ()),
        ),
        notes=(course.note, *((cache,) if cache else ())),
        seen=seen,
        course=course,
        has_gpu=has_gpu,
    )


def plan(template: Template, view: View, timings: Timings) -> Plan:
    """At most one discovery Job, and the cache that is asked for."""
    course, seen = view.course, view.seen
    wanted = course.wants_job and view.has_gpu and seen.question is not None
    job: tuple[Manifest, ...] = ()
    if wanted and seen.place and seen.question:
        job = (discovery_job.build(template.metadata, seen.question, seen.work_namespace, timings.kept_for),)
    given_up = seen.job.job if course.gives_up else None
    waits = (course.look_again, timings.no_place if wanted and not seen.place else None)
    return Plan(
        create=job,
        apply=cache_to_make(template, view),
        delete=(job_target(given_up.metadata.key, given_up.metadata.uid),) if given_up else (),
        requeue_after=min((wait for wait in waits if wait is not None), default=None),
    )


def cache_to_make(template: Template, view: View) -> tuple[Manifest, ...]:
    """The cache of a template that asks for one and knows what to fetch, unless it has made it already."""
    if not isinstance(template, AIMServiceTemplate) or template.spec is None or not view.has_gpu:
        return ()
    caching, status = template.spec.caching, template.status
    ready = status is not None and status.status is AIMStatus.READY and bool(status.model_sources)
    usable = bool(template.spec.model_sources) or ready
    if not (caching and caching.enabled and usable) or templates.owned_cache(template, view.seen.caches):
        return ()
    return (template_cache.of_template(template),)


def job_target(key: Key, uid: str) -> Target:
    return Target(
        api_version=kinds.JOBS.api_version, kind=kinds.JOBS.kind, name=key.name, namespace=key.namespace, uid=uid
    )


def status(template: Template, view: View, judgement: Judgement) -> TemplateStatus:
    assert template.spec is not None
    before, spec, seen = template.status or TemplateStatus(), template.spec, view.seen
    profile = profile_of(template, view)
    asked = templates.resolved_hardware(spec, profile)
    found, cache = view.course.result, templates.serving_cache(template, seen.caches)
    return TemplateStatus(
        resolved_runtime_config=seen.config.reference,
        resolved_model=references.resolved(seen.model) if seen.model else None,
        resolved_cache=references.resolved(cache) if cache else None,
        resolved_hardware=asked,
        resolved_node_affinity=gpu_check.affinity(gpu_check.wanted(spec), seen.gpus),
        hardware_summary=hardware.summary(asked) or None,
        status=judgement.status,
        model_sources=sizes.canonical(spec.model_sources) or (found.sources if found else before.model_sources),
        profile=profile,
        discovery_job=None if spec.model_sources else job_reference(seen.job) or before.discovery_job,
        discovery=view.course.state,
    )


def profile_of(template: Template, view: View) -> Profile | None:
    """What discovery has just found, what it found before, or what the spec implies."""
    assert template.spec is not None
    if template.spec.model_sources:
        return templates.inline_profile(template.spec)
    found = view.course.result
    known = found.profile if found else template.status.profile if template.status else None
    return templates.typed(known, template.spec) if known else None


def job_reference(seen: JobSeen) -> ResolvedReference | None:
    if seen.job is None:
        return None
    metadata = seen.job.metadata
    return ResolvedReference(name=metadata.name, namespace=metadata.namespace, kind=kinds.JOBS.kind, uid=metadata.uid)


def concept(
    kind: type[AIMServiceTemplate] | type[AIMClusterServiceTemplate], controller: str, timings: Timings
) -> Concept[Template, Seen, View]:
    return Concept(
        kind=kind,
        controller=controller,
        fetch=lambda template, cluster: fetch(template, cluster, timings),
        observe=lambda template, seen, now: observe(template, seen, Moment(now, timings)),
        plan=lambda template, view: plan(template, view, timings),
        status=status,
        blank=TemplateStatus,
        wakes=lambda cluster: template_wakes.wakes(cluster, kind, lambda: discovering.next_in_line(cluster)),
        exclusive=lambda planned: bool(planned.create),
    )


def concepts(timings: Timings) -> tuple[Concept[Template, Seen, View], ...]:
    """Templates of both scopes."""
    return (
        concept(AIMServiceTemplate, "service-template", timings),
        concept(AIMClusterServiceTemplate, "cluster-service-template", timings),
    )
