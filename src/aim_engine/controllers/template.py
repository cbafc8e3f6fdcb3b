"""AIMServiceTemplate and AIMClusterServiceTemplate: the profile, weights and hardware of a model, found out once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aim_engine.api.environment import EnvVars, LocalObjectReference
from aim_engine.api.foreign import Event
from aim_engine.api.hardware import GpuRequirements
from aim_engine.api.model import AIMClusterModel, Model
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.status import AIMStatus, ResolvedReference
from aim_engine.api.template import (
    AIMClusterServiceTemplate,
    AIMServiceTemplate,
    Profile,
    Template,
    TemplateSpec,
    TemplateStatus,
)
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers import configs, kinds, template_wakes
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.job_reading import see_job
from aim_engine.core import discovery, discovery_course, gpu_check, hardware, jobs, sizes, templates
from aim_engine.core.conditions import Judgement
from aim_engine.core.discovery import Access, Question, Waiting
from aim_engine.core.discovery_course import Course
from aim_engine.core.downloads import JobSeen
from aim_engine.core.health import Component
from aim_engine.core.node_gpus import Inventory
from aim_engine.core.plan import Plan, Target
from aim_engine.core.runtime_config import Resolution
from aim_engine.core.transitions import Note
from aim_engine.manifests import discovery_job, template_cache
from aim_engine.objects import Key, Manifest

NO_PLACE_YET = timedelta(seconds=5)
"""When to look again whether a discovery Job may be made, beside being called when one ends."""

OUTPUT_LINES, OUTPUT_BYTES = 10_000, 8 * 1024 * 1024
"""How much of a dry run's output is read."""


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


async def fetch(template: Template, cluster: Cluster) -> Seen:
    assert template.spec is not None
    spec, metadata = template.spec, template.metadata
    config = configs.resolve(metadata, spec.runtime_config_name, cluster)
    model = find_model(template, cluster)
    work_namespace = metadata.namespace or cluster.operator_namespace
    question = ask(spec, model, config.spec.env, work_namespace, cluster)
    job = await see(template, question, work_namespace, cluster)
    return Seen(
        config=config,
        model=model,
        gpus=cluster.gpus,
        question=question,
        job=job,
        said=cluster.said_of(*job.pods),
        caches=cluster.template_caches.store.in_namespace(metadata.namespace) if metadata.namespace else (),
        place=take_place(template, question, job, cluster),
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


def ask(
    spec: TemplateSpec, model: Model | None, config_env: EnvVars, namespace: str, cluster: Cluster
) -> Question | None:
    """What discovery would ask, unless the sources are given or there is no image to ask."""
    if spec.model_sources or model is None or model.spec is None or not model.spec.image:
        return None
    return discovery.question(spec, model, config_env, access(spec, model, namespace, cluster))


def access(spec: TemplateSpec, model: Model, namespace: str, cluster: Cluster) -> Access:
    """The template's service account before the model's, and the pull secrets of both.

    Those of a cluster model live in the operator's namespace; elsewhere only what exists there too is of any use.
    """
    assert model.spec is not None
    account, secrets = model.spec.service_account_name or "", named(model.spec.image_pull_secrets)
    if isinstance(model, AIMClusterModel) and namespace != cluster.operator_namespace:
        secrets = [name for name in secrets if Key(namespace, name) in cluster.secrets.store]
        account = account if Key(namespace, account) in cluster.service_accounts.store else ""
    together = dict.fromkeys((*secrets, *named(spec.image_pull_secrets)))
    return Access(spec.service_account_name or account, tuple(together))


def named(references: Sequence[LocalObjectReference]) -> list[str]:
    return [reference.name for reference in references if reference.name]


async def see(template: Template, question: Question | None, namespace: str, cluster: Cluster) -> JobSeen:
    """The discovery Job of the template, with its output if that is still of interest."""
    if question is None or discovery_course.is_settled(template.status, question.hash):
        return JobSeen()
    found = discovery.newest_job(template, cluster.jobs.store.owned_by(template.metadata.uid))
    if found is None:
        return JobSeen()
    seen = await see_job(cluster, Key(namespace, found.metadata.name))
    if seen.job is None or not jobs.is_complete(seen.job):
        return seen
    pod = next((pod for pod in seen.pods if pod.status.phase == "Succeeded"), None)
    if pod is None:
        return seen
    output = await cluster.log(pod.metadata.key, discovery.CONTAINER, tail=OUTPUT_LINES, limit=OUTPUT_BYTES)
    return JobSeen(seen.job, seen.pods, seen.failure_log, output)


def take_place(template: Template, question: Question | None, job: JobSeen, cluster: Cluster) -> bool:
    """Stand in line if the template wants a discovery Job; whether it is its turn."""
    assert template.spec is not None
    who, line = Waiting(type(template).__name__, template.metadata.key), cluster.waiting_for_discovery
    wants = question is not None and course_of(template, question, job, (), datetime.now(UTC)).wants_job
    if not wants or not gpu_available(template.spec, cluster.gpus):
        line.leave(who)
        return False
    line.join(who)
    return who in next_in_line(cluster)


def next_in_line(cluster: Cluster) -> list[Waiting]:
    """The templates whose discovery Jobs may be made now."""
    running = Counter[str]()
    for job in discovery.active(cluster.jobs.store.labelled(*template_wakes.ALL_DISCOVERY)):
        for owner in job.metadata.owner_references:
            running[job.metadata.namespace if owner.kind == AIMServiceTemplate.__name__ else ""] += 1
    return cluster.waiting_for_discovery.next(discovery.MOST_AT_ONCE - running.total(), running)


def gpu_available(spec: TemplateSpec, offered: Inventory) -> bool:
    part = gpu_check.inspect(wanted_gpu(spec), offered)
    return part is None or part.effective_state is AIMStatus.READY


def wanted_gpu(spec: TemplateSpec) -> GpuRequirements | None:
    asked = hardware.effective(spec)
    return asked.gpu if asked else None


def observe(template: Template, seen: Seen, now: datetime) -> View:
    assert template.spec is not None
    gpu = gpu_check.inspect(wanted_gpu(template.spec), seen.gpus)
    has_gpu = gpu is None or gpu.effective_state is AIMStatus.READY
    course = course_of(template, seen.question, seen.job, seen.said, now)
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


def course_of(
    template: Template, question: Question | None, job: JobSeen, said: Sequence[Event], now: datetime
) -> Course:
    """How the discovery of a template stands."""
    assert template.spec is not None
    if template.spec.model_sources:
        return discovery_course.inline()
    if question is None:
        return discovery_course.unknown(template.status)
    if discovery_course.is_settled(template.status, question.hash):
        return discovery_course.settled(template.status, question.hash)
    if job.job and job.job.metadata.name != question.job_name(template.metadata.name):
        return discovery_course.outdated(template.status, question.hash)
    return discovery_course.under_way(template.status, question.hash, job, said, now)


def plan(template: Template, view: View) -> Plan:
    """At most one discovery Job, and the cache that is asked for."""
    course, seen = view.course, view.seen
    wanted = course.wants_job and view.has_gpu and seen.question is not None
    job: tuple[Manifest, ...] = ()
    if wanted and seen.place and seen.question:
        job = (discovery_job.build(template.metadata, seen.question, seen.work_namespace),)
    given_up = seen.job.job if course.gives_up else None
    waits = (course.look_again, NO_PLACE_YET if wanted and not seen.place else None)
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
    found = view.course.result
    return TemplateStatus(
        resolved_runtime_config=seen.config.reference,
        resolved_model=templates.model_reference(seen.model),
        resolved_cache=templates.cache_reference(templates.serving_cache(template, seen.caches)),
        resolved_hardware=asked,
        resolved_node_affinity=gpu_check.affinity(wanted_gpu(spec), seen.gpus),
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
    kind: type[AIMServiceTemplate] | type[AIMClusterServiceTemplate], controller: str
) -> Concept[Template, Seen, View]:
    return Concept(
        kind=kind,
        controller=controller,
        fetch=fetch,
        observe=observe,
        plan=plan,
        status=status,
        blank=TemplateStatus,
        wakes=lambda cluster: template_wakes.wakes(cluster, kind, lambda: next_in_line(cluster)),
        exclusive=lambda planned: bool(planned.create),
    )


TEMPLATES = concept(AIMServiceTemplate, "service-template")
CLUSTER_TEMPLATES = concept(AIMClusterServiceTemplate, "cluster-service-template")
