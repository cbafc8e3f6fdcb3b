"""What services become, as YAML: InferenceServices, HTTPRoutes and all else that a pass over a service applies.

Pods are started anew when an InferenceService changes, so a new version of the operator must hand over exactly what the
last one did. `python -m tests.manifests.service_cases` writes the files that the tests compare with; do so only for a
change that is meant, and say in the changelog that services will restart.
"""

import asyncio
from pathlib import Path

import yaml
from tests.controllers.services.cast import (
    OWN,
    OWNER,
    ROUTED,
    SOURCE,
    WHOLE,
    cache,
    config,
    model,
    running,
    served,
    service,
    stage,
    template,
)
from tests.manifests.cases import GOLDEN, Unshared

from aim_engine.controllers.service.concept import SERVICES
from aim_engine.objects import Manifest

FOLDER = GOLDEN / "services"
LONG = "team-alpha-production-llama-3-3-70b-instruct-service.with-more.to-come"
AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "amd.com/gpu.device-id", "operator": "In", "values": ["74a1", "74a9"]}]}
        ]
    }
}


def on_gpus(count: int, resource: str = "amd.com/gpu", **spec: object) -> Manifest:
    """A template for so many MI300X, as discovery leaves it."""
    found = {"gpu": {"requests": count, "model": "MI300X", "resourceName": resource}}
    status = {"resolvedHardware": found, "resolvedNodeAffinity": AFFINITY}
    return template(status=status, hardware={"gpu": {"requests": count, "resourceName": resource}}, **spec)


def two_weights() -> Manifest:
    """A cache of two sources, one of which says where it wants to be mounted."""
    held = cache()
    first = held["status"]["artifacts"]["weights"]
    second = {
        **first,
        "name": "hf---acme-adapter.v1",
        "model": "acme/adapter",
        "persistentVolumeClaim": "adapter-claim",
    }
    third = {**second, "name": "hf---late", "model": "acme/late", "status": "Progressing"}
    fourth = {**second, "name": "hf---own", "persistentVolumeClaim": "own-claim", "mountPoint": "/mnt/own"}
    listed = {one["name"]: one for one in (first, second, third, fourth)}
    return {**held, "status": {"status": "Ready", "artifacts": listed}}


def variables(**values: str) -> list[Manifest]:
    return [{"name": name, "value": value} for name, value in values.items()]


TOKEN = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}
METRIC = {
    "type": "PodMetric",
    "podmetric": {
        "metric": {
            "backend": "opentelemetry",
            "serverAddress": "",
            "metricNames": ["vllm:num_requests_running"],
            "query": "vllm:num_requests_running",
            "operationOverTime": "avg",
        },
        "target": {"type": "AverageValue", "averageValue": "5"},
    },
}
PROFILE = {
    "metadata": {"metric": "latency", "precision": "fp8", "type": "optimized", "gpu": "MI300X", "gpuCount": 1},
    "engine_args": {"max-model-len": 8192, "deep": {"kept": 1, "changed": 1}},
    "env_vars": {"VLLM_USE_V1": "1", "OVERRULED": "profile"},
}
PROPAGATION = {"enabled": True, "match": ["org.example/*"]}
DERIVED = "fast-ovr-mi300x-4gpu-fp8-throughput-b295"

CASES: dict[str, tuple[Manifest, ...]] = {
    "by-name": (service(), *WHOLE),
    "by-name-of-cluster-objects": (
        service(imagePullSecrets=[{"name": "mine"}]),
        model(everywhere=True, imagePullSecrets=[{"name": "shared"}, {"name": "operator-only"}]),
        template(everywhere=True, serviceAccountName="robot"),
        cache(templateScope="Cluster"),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shared"}},
    ),
    "one-gpu": (service(), model(), on_gpus(1), cache()),
    "eight-gpus": (service(resources={"limits": {"memory": "2Ti"}}), model(), on_gpus(8), cache()),
    "partitions-of-gpus": (
        service(resources={"requests": {"cpu": "2", "memory": "100Gi"}}),
        model(),
        on_gpus(2, "amd.com/cpx_nps4"),
        cache(),
    ),
    "with-overrides": (
        service(
            template={"name": "fast"},
            overrides={
                "metric": "throughput",
                "precision": "fp8",
                "hardware": {"gpu": {"model": "MI300X", "requests": 4}},
            },
        ),
        model(),
        template(),
        template(name=DERIVED, labels={"aim.eai.amd.com/origin": "derived"}, metric="throughput", precision="fp8"),
        cache(templateName=DERIVED),
    ),
    "overrides-before-their-template": (
        service(template={"name": "fast"}, overrides={"hardware": {"cpu": {"requests": "4"}}}),
        model(),
        on_gpus(1, env=variables(KEPT="1")),
    ),
    "scaled-automatically": (
        service(minReplicas=1, maxReplicas=3, autoScaling={"metrics": [METRIC]}),
        *WHOLE,
    ),
    "several-replicas": (service(replicas=3), *WHOLE),
    "several-volumes": (service(), model(), template(), two_weights()),
    "dedicated-weights": (
        service(caching={"mode": "Dedicated"}),
        model(),
        template(),
        cache("Ready", OWN, mode="Dedicated", owner=OWNER),
    ),
    "before-its-weights": (
        service(
            caching={"mode": "Shared"},
            env=[TOKEN],
            storage={"defaultStorageClassName": "ssd", "pvcHeadroomPercent": 20},
        ),
        model(),
        template(env=variables(HF_HOME="/tmp/hf")),
    ),
    "routed": (
        service(
            labels={"team": "R_D"},
            routing={
                **ROUTED,
                "pathTemplate": "/ml/{.metadata.labels['team']}/{.metadata.name}",
                "requestTimeout": "90.5s",
                "annotations": {"b": "service"},
            },
        ),
        *WHOLE,
        config(routing={"annotations": {"a": "config", "b": "config"}}),
    ),
    "variables-and-engine-arguments": (
        service(env=[TOKEN, *variables(AIM_ENGINE_ARGS='{"deep": {"changed": 2}, "seed": 7}', OVERRULED="service")]),
        model(),
        template(
            env=variables(OVERRULED="template", AIM_ENGINE_ARGS='{"gpu-memory-utilization": 0.9}'),
            metric="latency",
            precision="fp8",
            profileId="vllm-mi300x-fp8-tp1-latency",
            status={"profile": PROFILE},
        ),
        config(env=variables(HTTPS_PROXY="http://proxy", OVERRULED="config")),
        cache(),
    ),
    "own-weights-on-cpus": (
        service(template={"allowUnoptimized": True}),
        model(resources={"requests": {"memory": "8Gi"}}),
        template(
            profile={"type": "unoptimized"},
            modelSources=[SOURCE],
            resources={"requests": {"cpu": "4"}, "limits": {"cpu": "8"}},
        ),
        cache(),
    ),
    "by-image-that-is-new": (
        service(model={"image": "registry.example.com/org/aim-dummy:0.1.10"}, imagePullSecrets=[{"name": "mine"}]),
    ),
    "labelled": (
        service(labels={"org.example/team": "red", "aim.eai.amd.com/mine": "1", "other": "no"}, routing=ROUTED),
        *WHOLE,
        config(labelPropagation=PROPAGATION),
    ),
    "long-name": (service(name=LONG, routing=ROUTED), *WHOLE),
    "running-with-old-volumes": (
        service(status=running()),
        *WHOLE,
        served(claims=("weights-of-an-earlier-cache",)),
    ),
}


async def rendered(*objects: Manifest) -> str:
    """All that a pass over the service of a case applies, in the order in which it is sent."""
    name = next(one["metadata"]["name"] for one in objects if one["kind"] == "AIMService")
    look = await stage(*objects).look(SERVICES, name)
    sent = [look.as_sent(step) for step in look.steps]
    return yaml.dump_all(sent, Dumper=Unshared, sort_keys=False)


def path(name: str) -> Path:
    return FOLDER / f"{name}.yaml"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, objects in CASES.items():
        path(name).write_text(asyncio.run(rendered(*objects)))
