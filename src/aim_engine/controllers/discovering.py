"""Discovery as far as it looks around: whom to ask and with what rights, the Job that asks, and whose turn it is."""

from collections import Counter
from collections.abc import Sequence

from aim_engine.api import names
from aim_engine.api.environment import EnvVars, LocalObjectReference
from aim_engine.api.model import AIMClusterModel, Model
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import AIMServiceTemplate, Template, TemplateSpec
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.job_reading import see_job
from aim_engine.core import discovery, discovery_course, gpu_check, jobs
from aim_engine.core.discovery import Access, Moment, Question, Waiting
from aim_engine.core.downloads import JobSeen
from aim_engine.core.node_gpus import Inventory
from aim_engine.objects import Key

ALL_DISCOVERY = (names.LABEL_APP_COMPONENT, names.COMPONENT_DISCOVERY)
"""A label that all discovery Jobs have, and no others of ours."""

OUTPUT_LINES, OUTPUT_BYTES = 10_000, 8 * 1024 * 1024
"""How much of a dry run's output is read."""


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


def take_place(template: Template, question: Question | None, job: JobSeen, at: Moment, cluster: Cluster) -> bool:
    """Stand in line if the template wants a discovery Job; whether it is its turn."""
    assert template.spec is not None
    who, line = Waiting(type(template).__name__, template.metadata.key), cluster.waiting_for_discovery
    none_yet = question is not None and job.job is None
    wants = none_yet and discovery_course.of(template, question, job, (), at).wants_job
    if not wants or not gpu_available(template.spec, cluster.gpus):
        line.leave(who)
        return False
    line.join(who)
    return who in next_in_line(cluster)


def next_in_line(cluster: Cluster) -> list[Waiting]:
    """The templates whose discovery Jobs may be made now."""
    running = Counter[str]()
    for job in discovery.active(cluster.jobs.store.labelled(*ALL_DISCOVERY)):
        for owner in job.metadata.owner_references:
            running[job.metadata.namespace if owner.kind == AIMServiceTemplate.__name__ else ""] += 1
    return cluster.waiting_for_discovery.next(discovery.MOST_AT_ONCE - running.total(), running)


def gpu_available(spec: TemplateSpec, offered: Inventory) -> bool:
    part = gpu_check.inspect(gpu_check.wanted(spec), offered)
    return part is None or part.effective_state is AIMStatus.READY
