"""What a discovery Job is asked, how long failures make it wait, and whose turn it is."""

from datetime import UTC, datetime, timedelta

import pytest

from aim_engine.api.environment import EnvVar, EnvVarSource, KeySelector
from aim_engine.api.foreign import ContainerState, ContainerStatus, ForeignCondition, Job, JobStatus, Pod, PodStatus
from aim_engine.api.foreign import Waiting as WaitingState
from aim_engine.api.hardware import GpuRequirements, HardwareRequirements, Metric, Precision
from aim_engine.api.model import AIMModel, AIMModelSpec
from aim_engine.api.template import AIMServiceTemplate, AIMServiceTemplateSpec
from aim_engine.core import discovery
from aim_engine.core.discovery import Access, Moment, Question, Waiting
from aim_engine.manifests import discovery_job
from aim_engine.objects import Key, ObjectMeta, OwnerReference

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
IMAGE = "ghcr.io/acme/aim-llama-3-8b:1.2.0"
SPEC = AIMServiceTemplateSpec(
    model_name="llama-3-8b",
    metric=Metric.LATENCY,
    precision=Precision.FP8,
    hardware=HardwareRequirements(gpu=GpuRequirements(requests=1, model="MI300X")),
)
NOBODY = Access()
QUIET = ["AIM_LOG_LEVEL_ROOT=CRITICAL", "AIM_LOG_LEVEL=CRITICAL"]


def variables(**values: str) -> tuple[EnvVar, ...]:
    return tuple(EnvVar(name=name, value=value) for name, value in values.items())


def asked(
    spec: AIMServiceTemplateSpec = SPEC,
    config: tuple[EnvVar, ...] = (),
    model: tuple[EnvVar, ...] = (),
    access: Access = NOBODY,
) -> Question:
    return discovery.question(spec, AIMModel(spec=AIMModelSpec(image=IMAGE, env=model)), config, access)


def test_the_job_of_the_worked_example_has_the_promised_name_and_hash() -> None:
    assert asked().job_name("llama-lat") == "discover-llama-lat-5544bf64"
    assert asked().hash == "5544bf64af2e7cd1"


@pytest.mark.parametrize(
    ("own", "config", "model", "expected"),
    [
        pytest.param(
            {},
            {},
            {},
            ["AIM_METRIC=latency", "AIM_PRECISION=fp8", "AIM_GPU_MODEL=MI300X", "AIM_GPU_COUNT=1"],
            id="what the spec asks for follows the log levels",
        ),
        pytest.param(
            {"A": "template"},
            {"A": "config", "B": "config"},
            {"B": "model", "C": "model"},
            [
                *("A=template", "B=model", "C=model"),
                *("AIM_METRIC=latency", "AIM_PRECISION=fp8", "AIM_GPU_MODEL=MI300X", "AIM_GPU_COUNT=1"),
            ],
            id="template over model over config, at the place of the lowest",
        ),
        pytest.param(
            {"AIM_GPU_MODEL": "MI325X"},
            {},
            {},
            ["AIM_GPU_MODEL=MI325X", "AIM_METRIC=latency", "AIM_PRECISION=fp8", "AIM_GPU_COUNT=1"],
            id="a template may borrow the profile of another GPU",
        ),
        pytest.param(
            {},
            {"AIM_METRIC": "throughput"},
            {"AIM_PRECISION": "fp16"},
            ["AIM_METRIC=latency", "AIM_PRECISION=fp8", "AIM_GPU_MODEL=MI300X", "AIM_GPU_COUNT=1"],
            id="the spec wins over config and model",
        ),
        pytest.param(
            {"AIM_LOG_LEVEL": "DEBUG"},
            {},
            {},
            ["AIM_METRIC=latency", "AIM_PRECISION=fp8", "AIM_GPU_MODEL=MI300X", "AIM_GPU_COUNT=1"],
            id="the log stays quiet whatever a template says",
        ),
    ],
)
def test_variables_of_the_dry_run(
    own: dict[str, str], config: dict[str, str], model: dict[str, str], expected: list[str]
) -> None:
    spec = AIMServiceTemplateSpec(
        model_name="m", metric=SPEC.metric, precision=SPEC.precision, hardware=SPEC.hardware, env=variables(**own)
    )
    env = asked(spec, variables(**config), variables(**model)).env
    assert [f"{entry.name}={entry.value}" for entry in env] == [*QUIET, *expected]
    assert len({entry.name for entry in env}) == len(env)


def test_secrets_of_a_runtime_config_do_not_hold_the_dry_run_up() -> None:
    token = EnvVar(name="T", value_from=EnvVarSource(secret_key_ref=KeySelector(name="s", key="k")))
    (entry,) = [entry for entry in asked(config=(token,)).env if entry.name == "T"]
    assert entry.value_from and entry.value_from.secret_key_ref
    assert entry.value_from.secret_key_ref == KeySelector(name="s", key="k", optional=True)


def test_a_template_may_ask_for_a_gpu_in_the_earlier_naming() -> None:
    spec = AIMServiceTemplateSpec(model_name="m", gpu=GpuRequirements(requests=0, model="mi300x"), profile_id="p-1")
    assert [f"{entry.name}={entry.value}" for entry in asked(spec).env] == [
        *QUIET,
        "AIM_GPU_MODEL=mi300x",
        "AIM_PROFILE_ID=p-1",
    ]


def test_the_manifest_of_the_job() -> None:
    access = Access("robot", ("first", "second"))
    job = discovery_job.build(ObjectMeta(name="llama-lat"), asked(access=access), "team", timedelta(minutes=1))
    assert job["metadata"] == {
        "name": asked(access=access).job_name("llama-lat"),
        "namespace": "team",
        "labels": {
            "app.kubernetes.io/name": "aim-discovery",
            "app.kubernetes.io/component": "discovery",
            "app.kubernetes.io/managed-by": "aim-controller",
            "aim.eai.amd.com/template": "llama-lat",
        },
    }
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["ttlSecondsAfterFinished"] == 60
    assert job["spec"]["template"]["metadata"]["labels"] == {"aim.eai.amd.com/template": "llama-lat"}
    pod = job["spec"]["template"]["spec"]
    (container,) = pod.pop("containers")
    assert pod == {
        "restartPolicy": "Never",
        "serviceAccountName": "robot",
        "imagePullSecrets": [{"name": "first"}, {"name": "second"}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    assert container["name"] == "discovery"
    assert container["image"] == IMAGE
    assert container["args"] == ["dry-run", "--format=json"]
    assert "command" not in container
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_long_template_name_fits_label_and_job_name() -> None:
    name = "a" * 80 + ".b" * 20
    job = discovery_job.build(ObjectMeta(name=name), asked(), "team", timedelta(minutes=1))
    assert len(job["metadata"]["name"]) <= 63
    assert len(job["metadata"]["labels"]["aim.eai.amd.com/template"]) <= 63


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 60), (2, 120), (3, 240), (6, 1920), (7, 3600), (400, 3600)])
def test_the_pause_doubles_up_to_an_hour(attempts: int, seconds: int) -> None:
    assert discovery.USUAL.pause(attempts) == timedelta(seconds=seconds)


def job(name: str, owner: str, age: int, *, labels: dict[str, str] | None = None, ended: str = "") -> Job:
    return Job(
        metadata=ObjectMeta(
            name=name,
            labels=discovery.labels("t") if labels is None else labels,
            owner_references=(OwnerReference(api_version="v1", kind="AIMServiceTemplate", name="t", uid=owner),),
            creation_timestamp=NOW - timedelta(seconds=age),
        ),
        status=JobStatus(conditions=(ForeignCondition(type=ended, status="True"),) if ended else ()),
    )


def test_the_newest_job_of_this_very_template_counts() -> None:
    template = AIMServiceTemplate(metadata=ObjectMeta(name="t", uid="mine"))
    candidates = [
        job("old", "mine", 60),
        job("new", "mine", 10),
        job("namesake", "other", 1),
        job("download", "mine", 0, labels={"aim.eai.amd.com/template": "t"}),
    ]
    newest = discovery.newest_job(template, candidates)
    assert newest and newest.metadata.name == "new"
    assert discovery.newest_job(template, []) is None


def test_only_jobs_that_run_hold_a_place() -> None:
    all_jobs = [
        job("running", "a", 1),
        job("done", "a", 1, ended="Complete"),
        job("failed", "a", 1, ended="Failed"),
        job("download", "a", 1, labels={}),
    ]
    assert [one.metadata.name for one in discovery.active(all_jobs)] == ["running"]


def pod(reason: str, age: timedelta) -> Pod:
    waiting = ContainerState(waiting=WaitingState(reason=reason, message="why"))
    return Pod(
        metadata=ObjectMeta(name="p", creation_timestamp=NOW - age),
        status=PodStatus(phase="Pending", container_statuses=(ContainerStatus(name="discovery", state=waiting),)),
    )


@pytest.mark.parametrize(
    ("reason", "minutes", "expected"),
    [
        pytest.param("ImagePullBackOff", 5, "ImagePullBackOff: why", id="an image that cannot be had for 5 minutes"),
        pytest.param("ImagePullBackOff", 4, None, id="an image that may yet be had"),
        pytest.param("CreateContainerConfigError", 6, "CreateContainerConfigError: why", id="a missing secret"),
        pytest.param("ContainerCreating", 60, None, id="a large image that is on its way"),
    ],
)
def test_pods_that_never_start(reason: str, minutes: int, expected: str | None) -> None:
    assert discovery.cannot_start([pod(reason, timedelta(minutes=minutes))], Moment(NOW)) == expected


def test_all_durations_can_be_made_faster_at_once() -> None:
    assert discovery.Timings() * 0.1 == discovery.Timings(
        first_pause=timedelta(seconds=6),
        longest_pause=timedelta(minutes=6),
        patience=timedelta(seconds=30),
        kept_for=timedelta(seconds=6),
        no_place=timedelta(seconds=0.5),
        read_again=timedelta(seconds=0.2),
    )


def waiting(*places: str) -> list[Waiting]:
    return [Waiting("AIMServiceTemplate", Key(*place.split("/"))) for place in places]


@pytest.mark.parametrize(
    ("line", "running", "expected"),
    [
        pytest.param(["a/1", "a/2"], {}, ["a/1", "a/2"], id="first come, first served"),
        pytest.param(["a/1", "a/2", "b/1"], {}, ["a/1", "b/1", "a/2"], id="a small team does not wait for a large one"),
        pytest.param(["a/1", "b/1"], {"a": 3}, ["b/1", "a/1"], id="whose Jobs run already waits"),
    ],
)
def test_whose_turn_it_is(line: list[str], running: dict[str, int], expected: list[str]) -> None:
    assert [str(one.key) for one in discovery.order(waiting(*line), running)] == expected
