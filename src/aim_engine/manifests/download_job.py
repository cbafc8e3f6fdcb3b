"""The Jobs of a download object: one that finds out the size of its source, one that fetches it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.api.artifact import DownloadObject
from aim_engine.api.environment import EnvVar
from aim_engine.core.derived_name import label_value
from aim_engine.core.download_kinds import ARTIFACT, DownloadKind
from aim_engine.objects import Manifest

MOUNT_PATH = "/cache"
USER = {"runAsUser": 1000, "runAsGroup": 1000}


def fetch(artifact: DownloadObject, kind: DownloadKind, name: str, claim: str, env: Sequence[EnvVar]) -> Manifest:
    """The Job that fetches the source onto the claimed volume; three pods at the most, kept for ten minutes."""
    container = {
        "name": "model-download",
        "image": image(artifact, kind),
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(artifact, kind),
        "env": msgspec.to_builtins(env),
        "securityContext": USER,
        "volumeMounts": [{"name": "cache", "mountPath": MOUNT_PATH}],
    }
    pod = {
        "securityContext": {**USER, "fsGroup": 1000, "runAsNonRoot": True},
        "volumes": [{"name": "cache", "persistentVolumeClaim": {"claimName": claim}}],
        "containers": [container],
    }
    return job(artifact, kind, name, pod, component=names.COMPONENT_DOWNLOAD, kept_for=600)


def check_size(artifact: DownloadObject, kind: DownloadKind, name: str, env: Sequence[EnvVar]) -> Manifest:
    """The Job whose last line of output says how many bytes the source has."""
    assert artifact.spec is not None
    container = {
        "name": "check-size",
        # KServe's storage initializer cannot tell sizes; ours can, for every kind of source.
        "image": ARTIFACT.default_image if by_kserve(artifact, kind) else image(artifact, kind),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/check-size.sh"],
        "args": [artifact.spec.source_uri],
        **({"env": msgspec.to_builtins(env)} if env else {}),
    }
    pod = {"securityContext": {**USER, "runAsNonRoot": True}, "containers": [container]}
    return job(artifact, kind, name, pod, component=names.COMPONENT_CHECK_SIZE, kept_for=300)


def job(
    artifact: DownloadObject, kind: DownloadKind, name: str, pod: Manifest, *, component: str, kept_for: int
) -> Manifest:
    """What both Jobs have in common: two retries, pods that never restart, and the labels they are found by."""
    assert artifact.spec is not None
    labels = {
        names.LABEL_CACHE_NAME: label_value(artifact.metadata.name),
        names.LABEL_ARTIFACT: label_value(artifact.metadata.name),
        names.LABEL_CACHE_TYPE: kind.cache_type,
        names.LABEL_COMPONENT: component,
    }
    secrets: Any = msgspec.to_builtins(artifact.spec.image_pull_secrets)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": artifact.metadata.namespace, "labels": labels},
        "spec": {
            "backoffLimit": 2,
            "ttlSecondsAfterFinished": kept_for,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"restartPolicy": "Never", **({"imagePullSecrets": secrets} if secrets else {}), **pod},
            },
        },
    }


def image(artifact: DownloadObject, kind: DownloadKind) -> str:
    """The image that downloads; an empty one means the default of the kind."""
    assert artifact.spec is not None
    return artifact.spec.model_download_image or kind.default_image


def by_kserve(artifact: DownloadObject, kind: DownloadKind) -> bool:
    """Whether KServe's storage initializer downloads, which has an interface of its own."""
    repository = image(artifact, kind).partition("@")[0].rpartition("/")[2].partition(":")[0]
    return repository == "storage-initializer"


def arguments(artifact: DownloadObject, kind: DownloadKind) -> list[str]:
    """What the program in the image is told: the source, and KServe's also where to put it."""
    assert artifact.spec is not None
    return [artifact.spec.source_uri, *([MOUNT_PATH] if by_kserve(artifact, kind) else [])]


def default_env(artifact: DownloadObject, kind: DownloadKind, size: int) -> tuple[EnvVar, ...]:
    """The variables that the operator sets, in order; runtime config and artifact may replace each of them."""
    who = {kind.name_variable: artifact.metadata.name, kind.namespace_variable: artifact.metadata.namespace}
    where = {"EXPECTED_SIZE_BYTES": str(size), "MOUNT_PATH": MOUNT_PATH, **who}
    until = {"STALL_TIMEOUT": "120", "TARGET_DIR": MOUNT_PATH}
    protocol, temporary, home = (
        {"AIM_DOWNLOADER_PROTOCOL": "XET,HF_TRANSFER"},
        {"TMPDIR": "/tmp/"},
        {"HF_HOME": "/tmp/.hf"},
    )
    if kind is ARTIFACT:
        variables = {**protocol, **temporary, **home, **where, **until}
    else:
        xet = {"HF_XET_CHUNK_CACHE_SIZE_BYTES": "0", "HF_XET_SHARD_CACHE_SIZE_BYTES": "0"}
        variables = {**xet, **home, "UMASK": "0022", **where, **until, **temporary, **protocol}
    return tuple(EnvVar(name=name, value=value) for name, value in variables.items())
