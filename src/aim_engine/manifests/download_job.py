"""The Jobs of a download object: one that finds out the size of its source, one that fetches it."""

from collections.abc import Sequence
from datetime import timedelta
from math import ceil
from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.api.environment import EnvVar
from aim_engine.core.derived_name import label_value
from aim_engine.core.download_kinds import ARTIFACT
from aim_engine.core.downloads import Download
from aim_engine.objects import Manifest

MOUNT_PATH = "/cache"
USER = {"runAsUser": 1000, "runAsGroup": 1000}


def fetch(download: Download, name: str, claim: str, env: Sequence[EnvVar], kept_for: timedelta) -> Manifest:
    """The Job that fetches the source onto the claimed volume; three pods at the most."""
    container = {
        "name": "model-download",
        "image": image(download),
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(download),
        "env": msgspec.to_builtins(env),
        "securityContext": USER,
        "volumeMounts": [{"name": "cache", "mountPath": MOUNT_PATH}],
    }
    pod = {
        "securityContext": {**USER, "fsGroup": 1000, "runAsNonRoot": True},
        "volumes": [{"name": "cache", "persistentVolumeClaim": {"claimName": claim}}],
        "containers": [container],
    }
    return job(download, name, pod, component=names.COMPONENT_DOWNLOAD, kept_for=kept_for)


def check_size(download: Download, name: str, env: Sequence[EnvVar], kept_for: timedelta) -> Manifest:
    """The Job whose last line of output says how many bytes the source has."""
    container = {
        "name": "check-size",
        # KServe's storage initializer cannot tell sizes; ours can, for every kind of source.
        "image": ARTIFACT.default_image if by_kserve(download) else image(download),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/check-size.sh"],
        "args": [download.spec.source_uri],
        **({"env": msgspec.to_builtins(env)} if env else {}),
    }
    pod = {"securityContext": {**USER, "runAsNonRoot": True}, "containers": [container]}
    return job(download, name, pod, component=names.COMPONENT_CHECK_SIZE, kept_for=kept_for)


def job(download: Download, name: str, pod: Manifest, *, component: str, kept_for: timedelta) -> Manifest:
    """What both Jobs have in common: two retries, pods that never restart, and the labels they are found by."""
    labels = {
        names.LABEL_CACHE_NAME: label_value(download.metadata.name),
        names.LABEL_ARTIFACT: label_value(download.metadata.name),
        names.LABEL_CACHE_TYPE: download.kind.cache_type,
        names.LABEL_COMPONENT: component,
    }
    secrets: Any = msgspec.to_builtins(download.spec.image_pull_secrets)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": download.metadata.namespace, "labels": labels},
        "spec": {
            "backoffLimit": 2,
            "ttlSecondsAfterFinished": ceil(kept_for.total_seconds()),
            "template": {
                "metadata": {"labels": labels},
                "spec": {"restartPolicy": "Never", **({"imagePullSecrets": secrets} if secrets else {}), **pod},
            },
        },
    }


def image(download: Download) -> str:
    """The image that downloads; an empty one means the default of the kind."""
    return download.spec.model_download_image or download.kind.default_image


def by_kserve(download: Download) -> bool:
    """Whether KServe's storage initializer downloads, which has an interface of its own."""
    repository = image(download).partition("@")[0].rpartition("/")[2].partition(":")[0]
    return repository == "storage-initializer"


def arguments(download: Download) -> list[str]:
    """What the program in the image is told: the source, and KServe's also where to put it."""
    return [download.spec.source_uri, *([MOUNT_PATH] if by_kserve(download) else [])]


def default_env(download: Download, size: int) -> tuple[EnvVar, ...]:
    """The variables that the operator sets, in order; runtime config and artifact may replace each of them."""
    kind, metadata = download.kind, download.metadata
    who = {kind.name_variable: metadata.name, kind.namespace_variable: metadata.namespace}
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
