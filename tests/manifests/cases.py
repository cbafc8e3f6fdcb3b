"""What is made for weights, as YAML: `python -m tests.manifests.cases` writes the files that the tests compare with."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from aim_engine.api import names
from aim_engine.api.artifact import AIMArtifactSpec, DownloadStatus
from aim_engine.api.environment import EnvVar, LocalObjectReference
from aim_engine.api.sources import ModelSource
from aim_engine.api.template_cache import AIMTemplateCacheSpec, AIMTemplateCacheStatus, TemplateScope
from aim_engine.core import merge, naming
from aim_engine.core.download_kinds import ARTIFACT, MODEL_CACHE, DownloadKind
from aim_engine.core.downloads import Download, Timings
from aim_engine.core.template_caches import Cache
from aim_engine.manifests import artifact, download_job, status_updater, volume
from aim_engine.objects import Manifest, ObjectMeta

GOLDEN = Path(__file__).parent / "golden"
UID = "3f8a1c52-7d44-4b0e-9a6f-0c2d5e718b90"
SIZE = 9_094_593_249
KEPT = Timings()


def download(kind: DownloadKind, image: str = "", *, made_by_cache: bool = False) -> Download:
    labels = {names.LABEL_TEMPLATE_CREATED: "true"} if made_by_cache else {}
    spec = AIMArtifactSpec(
        source_uri="hf://Qwen/Qwen2-0.5B",
        model_download_image=image,
        image_pull_secrets=(LocalObjectReference(name="registry"),),
    )
    metadata = ObjectMeta(name="my-model", namespace="ml-team", uid=UID, labels=labels)
    return Download(kind, metadata, spec, DownloadStatus())


def fetch(kind: DownloadKind, image: str = "") -> Manifest:
    """The download Job, with a variable of ours replaced and one added."""
    item = download(kind, image)
    own = (EnvVar(name="STALL_TIMEOUT", value="30"), EnvVar(name="HF_ENDPOINT", value="http://hub"))
    env = merge.variables(download_job.default_env(item, SIZE), own)
    name, claim = naming.download_job("my-model", UID), naming.volume("my-model", UID)
    return download_job.fetch(item, name, claim, env, KEPT.fetch_kept_for)


def check(kind: DownloadKind, image: str = "") -> Manifest:
    name = naming.check_size_job("my-model", UID)
    return download_job.check_size(download(kind, image), name, (), KEPT.check_kept_for)


def made_by_cache() -> Manifest:
    spec = AIMTemplateCacheSpec(
        template_name="template",
        storage_class_name="nfs",
        download_image="registry.example/downloader:1",
        env=(EnvVar(name="HF_TOKEN", value="of-the-cache"), EnvVar(name="HF_ENDPOINT", value="http://hub")),
        image_pull_secrets=(LocalObjectReference(name="registry"),),
        runtime_config_name="team",
    )
    metadata = ObjectMeta(name="my-cache", namespace="ml-team", annotations={names.ANNOTATION_HEADROOM: "0"})
    source = ModelSource(
        model_id="Qwen/Qwen2-0.5B",
        source_uri="hf://Qwen/Qwen2-0.5B",
        size="1Gi",
        env=(EnvVar(name="HF_TOKEN", value="of-the-source"),),
    )
    return artifact.build(Cache(metadata, spec, AIMTemplateCacheStatus()), source, 2, TemplateScope.NAMESPACE)


KSERVE = "kserve/storage-initializer:v0.16.0"
CLAIM = naming.volume("my-model", UID)

CASES: dict[str, Manifest] = {
    "artifact-claim": volume.build(download(ARTIFACT), CLAIM, "10Gi", "nfs"),
    "artifact-claim-of-a-template-cache": volume.build(download(ARTIFACT, made_by_cache=True), CLAIM, "10Gi", ""),
    "artifact-check-size": check(ARTIFACT),
    "artifact-download": fetch(ARTIFACT),
    "artifact-download-by-kserve": fetch(ARTIFACT, f"mirror.example:5000/{KSERVE}@sha256:{'0' * 64}"),
    "artifact-status-updater": status_updater.build(ARTIFACT, "ml-team"),
    "model-cache-check-size-by-kserve": check(MODEL_CACHE, KSERVE),
    "model-cache-download": fetch(MODEL_CACHE, names.ARTIFACT_DOWNLOADER_IMAGE),
    "model-cache-download-by-kserve": fetch(MODEL_CACHE, KSERVE),
    "model-cache-status-updater": status_updater.build(MODEL_CACHE, "ml-team"),
    "template-cache-artifact": made_by_cache(),
}


class Unshared(yaml.SafeDumper):
    """Writes values that occur twice twice, as people would."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def as_yaml(manifest: Manifest) -> str:
    return yaml.dump(msgspec.to_builtins(manifest), Dumper=Unshared, sort_keys=False)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, manifest in CASES.items():
        (GOLDEN / f"{name}.yaml").write_text(as_yaml(manifest))
