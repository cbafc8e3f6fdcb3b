"""Discovery: what the dry run of an image is asked, and when its Job may run; `discovery_course` tells how it goes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from aim_engine.api import names
from aim_engine.api.environment import EnvVar, EnvVarSource, KeySelector
from aim_engine.api.foreign import Job, Pod
from aim_engine.api.hardware import RuntimeParameters
from aim_engine.api.model import Model
from aim_engine.api.template import DiscoveryState, Template, TemplateSpec
from aim_engine.core import hardware, jobs, merge, naming
from aim_engine.core.derived_name import label_value
from aim_engine.objects import Key

MOST_AT_ONCE: Final = 10
"""Discovery Jobs that run at the same time in the whole cluster."""

CONTAINER: Final = "discovery"
APP_NAME: Final = "aim-discovery"
MANAGED_BY: Final = "aim-controller"

_QUIET: Final = (
    EnvVar(name="AIM_LOG_LEVEL_ROOT", value="CRITICAL"),
    EnvVar(name="AIM_LOG_LEVEL", value="CRITICAL"),
)
"""So that the output is the result and little else."""

_CANNOT_START: Final = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
    }
)


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """How long things around a discovery take."""

    first_pause: timedelta = timedelta(minutes=1)
    """After a failure, before the next attempt; it doubles with every further one."""
    longest_pause: timedelta = timedelta(hours=1)
    patience: timedelta = timedelta(minutes=5)
    """How long a pod may fail to start before its Job gives its place to others."""
    kept_for: timedelta = timedelta(minutes=1)
    """How long a Job that has ended stays."""
    no_place: timedelta = timedelta(seconds=5)
    """When to look again whether a Job may be made, beside being called when another ends."""
    read_again: timedelta = timedelta(seconds=2)
    """Between two tries to read the output of a Job that is complete."""

    def __mul__(self, factor: float) -> "Timings":
        """The same proportions, faster or slower."""
        return Timings(**{name: getattr(self, name) * factor for name in self.__struct_fields__})

    def pause(self, attempts: int) -> timedelta:
        """How long to wait after so many failures."""
        doublings = min(max(attempts - 1, 0), 32)
        return min(self.first_pause * 2**doublings, self.longest_pause)


USUAL: Final = Timings()


class Moment(msgspec.Struct, frozen=True):
    """A time, and how long things take from it on."""

    now: datetime
    timings: Timings = USUAL

    def rest_of_pause(self, state: DiscoveryState) -> timedelta | None:
        """What is left of the pause after the last failure; None if it is over."""
        if not state.attempts or state.last_attempt_time is None:
            return None
        return _positive(state.last_attempt_time + self.timings.pause(state.attempts) - self.now)

    def rest_of_patience(self, pod: Pod) -> timedelta | None:
        """How much longer a pod may fail to start; None if it is too long already."""
        created = pod.metadata.creation_timestamp
        return _positive(created + self.timings.patience - self.now) if created else self.timings.patience


def _positive(left: timedelta) -> timedelta | None:
    return left if left > timedelta(0) else None


class Access(msgspec.Struct, frozen=True):
    """As whom a discovery pod runs, and with which secrets its image is pulled."""

    service_account: str = ""
    pull_secrets: tuple[str, ...] = ()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """All that a discovery Job is made from."""

    subject: naming.Discovery
    access: Access
    given_env: tuple[EnvVar, ...]
    """What users set, merged."""
    env: tuple[EnvVar, ...]
    """What the container gets."""

    @property
    def hash(self) -> str:
        """What the result depends on; a change of it makes the result void and starts the count of failures anew."""
        return naming.discovery_hash(self.subject)

    def job_name(self, template: str) -> str:
        return naming.discovery_job(
            template, self.subject, self.access.service_account, self.given_env, self.access.pull_secrets
        )


def question(spec: TemplateSpec, model: Model, config_env: Sequence[EnvVar], access: Access) -> Question:
    """What to ask the image of a model for one template."""
    assert model.spec is not None
    subject = naming.Discovery(
        model_name=spec.model_name,
        image=model.spec.image,
        parameters=RuntimeParameters(metric=spec.metric, precision=spec.precision, hardware=hardware.effective(spec)),
        profile_id=spec.profile_id or "",
    )
    given = merge.variables([optional(entry) for entry in config_env], model.spec.env, spec.env)
    return Question(subject=subject, access=access, given_env=given, env=environment(subject, given, spec.env))


def environment(
    subject: naming.Discovery, given: Sequence[EnvVar], of_template: Sequence[EnvVar]
) -> tuple[EnvVar, ...]:
    """The variables of the dry run, each name once.

    What a template sets itself wins over what follows from its spec, which wins over config and model.
    """
    own = {entry.name for entry in of_template}
    computed = [entry for entry in _computed(subject) if entry.name not in own]
    replaced = {entry.name for entry in (*_QUIET, *computed)}
    return (*_QUIET, *(entry for entry in given if entry.name not in replaced), *computed)


def _computed(subject: naming.Discovery) -> list[EnvVar]:
    wish = subject.parameters
    gpu = wish.hardware.gpu if wish.hardware else None
    values = {
        "AIM_METRIC": wish.metric,
        "AIM_PRECISION": wish.precision,
        "AIM_GPU_MODEL": gpu.model if gpu else None,
        "AIM_GPU_COUNT": str(gpu.requests) if gpu and gpu.requests else None,
        "AIM_PROFILE_ID": subject.profile_id,
    }
    return [EnvVar(name=name, value=str(value)) for name, value in values.items() if value]


def optional(entry: EnvVar) -> EnvVar:
    """The variable, left out instead of holding the pod up where the namespace has no such Secret or ConfigMap."""
    source = entry.value_from
    if source is None:
        return entry
    relaxed: EnvVarSource = msgspec.structs.replace(
        source, secret_key_ref=_relaxed(source.secret_key_ref), config_map_key_ref=_relaxed(source.config_map_key_ref)
    )
    return msgspec.structs.replace(entry, value_from=relaxed)


def _relaxed(selector: KeySelector | None) -> KeySelector | None:
    return msgspec.structs.replace(selector, optional=True) if selector else None


def labels(template: str) -> dict[str, str]:
    """By what the discovery Job of a template is found."""
    return {
        names.LABEL_APP_NAME: APP_NAME,
        names.LABEL_APP_COMPONENT: names.COMPONENT_DISCOVERY,
        names.LABEL_MANAGED_BY: MANAGED_BY,
        names.LABEL_TEMPLATE: template_label(template),
    }


def template_label(template: str) -> str:
    return label_value(template) or "unnamed"


def is_discovery(job: Job) -> bool:
    """Whether a Job is one of those that are counted."""
    wanted = labels("")
    return all(job.metadata.labels.get(key) == wanted[key] for key in wanted if key != names.LABEL_TEMPLATE)


def newest_job(template: Template, candidates: Iterable[Job]) -> Job | None:
    """The latest discovery Job that belongs to this very template."""
    own = [job for job in candidates if is_discovery(job) and job.metadata.is_owned_by(template.metadata.uid)]
    return max(own, key=lambda job: (_created(job), job.metadata.name), default=None)


def active(all_jobs: Iterable[Job]) -> list[Job]:
    """The discovery Jobs that hold a place."""
    return [job for job in all_jobs if is_discovery(job) and jobs.is_active(job)]


def _created(job: Job) -> float:
    return job.metadata.creation_timestamp.timestamp() if job.metadata.creation_timestamp else 0.0


def cannot_start(pods: Iterable[Pod], at: Moment) -> str | None:
    """Why a pod that should have started long ago has not, if it never will by itself."""
    for pod in pods:
        for container in pod.status.container_statuses:
            waiting = container.state.waiting
            if waiting and waiting.reason in _CANNOT_START and at.rest_of_patience(pod) is None:
                return f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason
    return None


class Waiting(msgspec.Struct, frozen=True):
    """A template that wants a place for its discovery Job."""

    kind: str
    key: Key


def order(waiting: Iterable[Waiting], running: Mapping[str, int]) -> list[Waiting]:
    """Who is next: first come, first served, but a namespace with less under way goes before one with more."""
    used = dict(running)
    turns: list[tuple[int, Waiting]] = []
    for one in waiting:
        place = used.get(one.key.namespace, 0)
        used[one.key.namespace] = place + 1
        turns.append((place, one))
    return [one for _, one in sorted(turns, key=lambda turn: turn[0])]
