"""Which changes of the world have a model or a template looked at again, and which do not."""

from typing import Any

import pytest
from tests.controllers.world import NAMESPACE, World

from aim_engine.controllers import template
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.model import CLUSTER_MODELS, MODELS
from aim_engine.core import discovery
from aim_engine.objects import Manifest

TEMPLATES, _ = template.concepts(discovery.USUAL)
AIM = "aim.eai.amd.com/v1alpha1"


def made(kind: str, name: str, spec: Manifest | None = None, status: Manifest | None = None) -> Manifest:
    return {"apiVersion": AIM, "kind": kind, "metadata": {"name": name}, "spec": spec or {}, "status": status or {}}


def secret(name: str, namespace: str = NAMESPACE) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}}


def account(name: str, *secrets: str, namespace: str = NAMESPACE, **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "imagePullSecrets": [{"name": secret} for secret in secrets],
    }


def listening(world: World, concept: Concept[Any, Any, Any]) -> list[str]:
    """The names of the objects that are woken from now on."""
    woken: list[str] = []
    for wake in concept.wakes(world.cluster):
        wake.informer.listen(lambda change, keys=wake.keys: woken.extend(key.name for key in keys(change)))
    return woken


IMAGE = {"image": "registry.example/aim:1"}
PRIVATE = {**IMAGE, "imagePullSecrets": [{"name": "regcred"}]}
ROBOT = {**IMAGE, "serviceAccountName": "robot"}


@pytest.mark.parametrize(
    ("before", "change", "woken"),
    [
        pytest.param((), secret("regcred"), ["private"], id="a pull secret that it names"),
        pytest.param((), secret("other"), [], id="a secret of no concern"),
        pytest.param((), secret("regcred", "elsewhere"), [], id="a secret of the same name elsewhere"),
        pytest.param((), account("robot"), ["robot"], id="its service account"),
        pytest.param((), account("default", "regcred"), ["plain", "private"], id="the account of those who name none"),
        pytest.param(
            (account("robot", "late"),), secret("late"), ["robot"], id="a pull secret that its service account names"
        ),
        pytest.param(
            (account("robot", "late"),),
            account("robot", "late", labels={"a": "b"}),
            [],
            id="an account that is only labelled anew",
        ),
    ],
)
def test_what_a_model_reads_its_image_with_wakes_it(
    before: tuple[Manifest, ...], change: Manifest, woken: list[str]
) -> None:
    world = World(
        made("AIMModel", "plain", IMAGE), made("AIMModel", "private", PRIVATE), made("AIMModel", "robot", ROBOT)
    )
    for manifest in before:
        world.put(manifest)
    heard = listening(world, MODELS)
    world.put(change)
    assert sorted(heard) == woken


def test_secrets_of_a_cluster_model_live_in_the_operators_namespace() -> None:
    world = World(made("AIMClusterModel", "private", PRIVATE))
    heard = listening(world, CLUSTER_MODELS)
    world.put(secret("regcred"))
    assert heard == []
    world.put(secret("regcred", "aim-system"))
    assert heard == ["private"]


def degraded(reason: str) -> Manifest:
    broken = {"type": reason, "status": "False", "reason": "Broken", "message": "", "lastTransitionTime": None}
    return {"status": "Degraded", "conditions": [broken]}


@pytest.mark.parametrize(
    ("before", "after", "woken"),
    [
        pytest.param({}, {"status": "Progressing"}, [], id="it gets on"),
        pytest.param({"status": "Progressing"}, {"status": "Ready"}, [], id="it is ready"),
        pytest.param({}, degraded("ServiceTemplatesReady"), [], id="its templates fail, which they know"),
        pytest.param({}, degraded("ImageMetadataReady"), ["t"], id="its image cannot be read"),
        pytest.param(degraded("ImageMetadataReady"), {"status": "Ready"}, ["t"], id="its image can be read again"),
    ],
)
def test_a_template_is_woken_only_by_what_it_sees_of_its_model(
    before: Manifest, after: Manifest, woken: list[str]
) -> None:
    world = World(made("AIMModel", "m", IMAGE, before), made("AIMServiceTemplate", "t", {"modelName": "m"}))
    heard = listening(world, TEMPLATES)
    world.put(made("AIMModel", "m", IMAGE, after))
    assert heard == woken


def test_another_image_of_its_model_wakes_a_template() -> None:
    world = World(made("AIMModel", "m", IMAGE), made("AIMServiceTemplate", "t", {"modelName": "m"}))
    heard = listening(world, TEMPLATES)
    world.put(made("AIMModel", "m", {"image": "registry.example/aim:2"}))
    assert heard == ["t"]


def pod(phase: str, **labels: str) -> Manifest:
    """A pod with the label that those of discovery and, by way of KServe, those of services have."""
    metadata = {"name": "p", "labels": {"aim.eai.amd.com/template": "t", **labels}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("labels", "phases", "woken"),
    [
        pytest.param({"job-name": "discover-t"}, ("Pending", "Succeeded"), ["t"], id="its dry run ends"),
        pytest.param({"job-name": "discover-t"}, ("Running", "Running"), [], id="its dry run goes on"),
        pytest.param({}, ("Pending", "Running"), [], id="a pod that serves with it"),
    ],
)
def test_a_template_is_woken_by_pods_of_its_dry_run_that_tell_more(
    labels: dict[str, str], phases: tuple[str, str], woken: list[str]
) -> None:
    world = World(made("AIMServiceTemplate", "t", {"modelName": "m"}), pod(phases[0], **labels))
    heard = listening(world, TEMPLATES)
    world.put(pod(phases[1], **labels))
    assert heard == woken


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(secret("regcred"), ["t"], id="a pull secret of its cluster model comes to its namespace"),
        pytest.param(account("robot"), ["t"], id="and a service account"),
        pytest.param(secret("regcred", "elsewhere"), [], id="to another namespace"),
        pytest.param(secret("other"), [], id="a secret that the model does not name"),
    ],
)
def test_what_a_cluster_model_names_wakes_templates_where_it_comes(change: Manifest, woken: list[str]) -> None:
    world = World(
        made("AIMClusterModel", "m", {**PRIVATE, **ROBOT}), made("AIMServiceTemplate", "t", {"modelName": "m"})
    )
    heard = listening(world, TEMPLATES)
    world.put(change)
    assert heard == woken
