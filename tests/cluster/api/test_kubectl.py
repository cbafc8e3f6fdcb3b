"""The API as people meet it: through kubectl."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.api.manifests import CRDS, NAMINGS, SAMPLES, full, samples
from tests.cluster.api.conftest import kubectl_of
from tests.cluster.api.objects import Objects

from aim_engine.api.kinds import BY_NAME, KINDS
from aim_engine.local import control_plane

Kubectl = Callable[..., str]

MODEL = ("STATUS SOURCE IMAGE MODEL AGE", "Degraded Image ghcr.io/acme/aim-qwen3-32b:1.0.0 Qwen/Qwen3-32B")
TEMPLATE = (
    "MODEL STATUS HARDWARE METRIC PRECISION GPUS",
    "qwen3-32b Ready 2 x MI325X throughput int4 2",
)


@pytest.mark.parametrize(
    ("kind", "header", "row"),
    [
        ("AIMModel", *MODEL),
        ("AIMClusterModel", *MODEL),
        ("AIMClusterModelSource", "STATUS MODELS LASTSYNC AGE", "Progressing 0"),
        ("AIMServiceTemplate", *TEMPLATE),
        ("AIMClusterServiceTemplate", *TEMPLATE),
        ("AIMService", "STATUS MODEL TEMPLATE REPLICAS AGE", "Starting team team 2/3 (1-4)"),
        ("AIMTemplateCache", "TEMPLATE MODE STATUS KIND AGE", "fast Shared Ready AIMServiceTemplate"),
        ("AIMArtifact", "STATUS MODE MODEL SIZE PROGRESS PROTOCOL ATTEMPT AGE", "Ready Dedicated 61 GiB 100 % XET 1"),
        ("AIMModelCache", "STATUS MODE MODEL SIZE PROGRESS AGE", "Progressing Shared 16 GiB 45 %"),
        ("AIMRuntimeConfig", "AGE", ""),
        ("AIMClusterRuntimeConfig", "AGE", ""),
    ],
    ids=lambda value: value if value in BY_NAME else "",
)
def test_get_shows_the_columns(kind: str, header: str, row: str, objects: Objects, kubectl: Kubectl) -> None:
    latest = next(m for naming in reversed(NAMINGS) for m in full(naming) if m["kind"] == kind)
    manifest = objects.new(kind, latest["spec"])
    objects.created(manifest)
    objects.report(manifest, latest["status"])

    name = manifest["metadata"]["name"]
    shown = kubectl("get", BY_NAME[kind].short, name, "-n", objects.namespace, "-o", "wide").splitlines()
    assert " ".join(shown[0].split()) == f"NAME {header}"
    assert " ".join(shown[1].split()).startswith(f"{name} {row}".strip())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_explain_knows_every_field(kind: object, kubectl: Kubectl) -> None:
    assert isinstance(kind, type(KINDS[0]))
    assert "observedGeneration" in kubectl("explain", "--recursive", kind.plural)
    assert f"KIND:       {kind.name}" in kubectl("explain", kind.short)


def test_explain_tells_what_a_field_is_for(kubectl: Kubectl) -> None:
    told = " ".join(kubectl("explain", "aimservice.spec.caching.mode").split())
    assert "ENUM: Auto Always Never Dedicated Shared" in told
    assert "Auto: use a shared cache if there is one, otherwise download for this service alone." in told


async def test_crds_and_samples_apply_without_a_warning_on_a_fresh_cluster(tmp_path: Path) -> None:
    async with control_plane.running(tmp_path / "cluster", ephemeral=True) as cluster:
        kubectl = kubectl_of(cluster, tmp_path / "cache")

        def apply() -> None:
            kubectl("apply", "--warnings-as-errors", "-f", str(CRDS))
            kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", str(CRDS))
            kubectl("apply", "--warnings-as-errors", "--validate=strict", "-f", str(CRDS), "-f", str(SAMPLES))

        await asyncio.to_thread(apply)
        shown = await asyncio.to_thread(kubectl, "get", "aim", "-A", "-o", "name")
        assert sorted(shown.split()) == sorted(
            f"{BY_NAME[m['kind']].singular}.aim.eai.amd.com/{m['metadata']['name']}"
            for naming in NAMINGS
            for m in samples(naming)
        )
        assert "aimservice.aim.eai.amd.com/v2-assistant" in await asyncio.to_thread(kubectl, "get", "all", "-o", "name")


def test_an_unknown_field_is_called_by_its_name(kubectl: Kubectl, objects: Objects, tmp_path: Path) -> None:
    manifest = tmp_path / "service.yaml"
    manifest.write_text(
        "apiVersion: aim.eai.amd.com/v1alpha1\nkind: AIMService\nmetadata: {name: typo}\n"
        "spec: {model: {name: llama}, replica: 2}\n"
    )
    with pytest.raises(AssertionError, match=r'unknown field "spec\.replica"'):
        kubectl("create", "-n", objects.namespace, "-f", str(manifest))
