"""By which template a service runs: named, with overrides, or the best there is."""

from typing import Any

import msgspec
import pytest
from tests.controllers.services.cast import (
    OWNER,
    SHARED,
    STRANGER,
    TEMPLATE_REF,
    cache,
    look,
    model,
    node,
    running,
    served,
    service,
    template,
)

from aim_engine.api.template import AIMServiceTemplate
from aim_engine.manifests import template_cache
from aim_engine.objects import Manifest

NAMED = {"name": "fast"}


@pytest.mark.parametrize(
    ("word", "told", "message", "overall"),
    [
        pytest.param("Ready", "True/Resolved", "AIMServiceTemplate fast is ready", "Starting", id="ready"),
        pytest.param(
            "Progressing", "False/TemplateNotReady", "AIMServiceTemplate fast is not ready yet", "Pending", id="coming"
        ),
        pytest.param(
            "Pending", "False/TemplateNotReady", "AIMServiceTemplate fast is not ready yet", "Pending", id="pending"
        ),
        pytest.param(
            None, "False/TemplateNotReady", "AIMServiceTemplate fast is not ready yet", "Pending", id="no status yet"
        ),
        pytest.param(
            "NotAvailable",
            "False/TemplateNotReady",
            "AIMServiceTemplate fast is not available (no matching GPUs)",
            "Pending",
            id="its GPUs are not there",
        ),
        pytest.param(
            "Failed", "False/TemplateNotReady", "AIMServiceTemplate fast is in failed state", "Failed", id="failed"
        ),
        pytest.param(
            "Degraded", "False/TemplateNotReady", "AIMServiceTemplate fast is in failed state", "Failed", id="degraded"
        ),
    ],
)
async def test_the_state_of_a_named_template_is_told(word: str | None, told: str, message: str, overall: str) -> None:
    seen = await look(service(template=NAMED), model(), template(word))
    assert (seen.condition("TemplateReady"), seen.message("TemplateReady"), seen.word) == (told, message, overall)
    assert ("resolvedTemplate" in seen.status) == (word == "Ready")
    assert bool(seen.made) == (word == "Ready"), "nothing is made before the template is ready"


async def test_a_named_template_that_is_missing_fails_the_service() -> None:
    seen = await look(service(template={"name": "gone"}), model(), template())
    assert seen.condition("TemplateReady") == "False/TemplateNotFound"
    assert seen.message("TemplateReady") == 'template "gone" not found'
    assert (seen.word, seen.condition("ConfigValid"), seen.made) == ("Failed", "False/ReferenceNotFound", [])


@pytest.mark.parametrize(
    ("templates", "scope"),
    [
        pytest.param([template(), template(everywhere=True)], "Namespace", id="the namespace's first"),
        pytest.param([template(everywhere=True)], "Cluster", id="the cluster's if there is no other"),
        pytest.param(
            [template(modelName="another", profile={"type": "unoptimized"}, hardware={"gpu": {"model": "MI999"}})],
            "Namespace",
            id="whatever it is for",
        ),
    ],
)
async def test_a_named_template_is_taken_as_it_is(templates: list[Manifest], scope: str) -> None:
    seen = await look(service(template={"name": " fast "}), model(), *templates)
    found = seen.status["resolvedTemplate"]
    assert (found["name"], found["scope"]) == ("fast", scope)
    assert found.get("namespace", "") == ("team" if scope == "Namespace" else "")


UNOPTIMIZED = {"type": "unoptimized"}


@pytest.mark.parametrize(
    ("templates", "spec", "told", "message", "overall"),
    [
        pytest.param(
            [], {}, "False/TemplateNotFound", 'No templates found for model "tiny"', "Pending", id="no template"
        ),
        pytest.param(
            [template("Failed"), template("NotAvailable", "slow")],
            {},
            "False/TemplateNotReady",
            "Templates exist but are not ready yet: 1 TemplateFailed, 1 TemplateNotAvailable;"
            " nearest fast: TemplateFailed (availability), score 0/1000/0/2",
            "Pending",
            id="none is ready",
        ),
        pytest.param(
            [
                template(profile=UNOPTIMIZED),
                template(name="slow", profile={"type": "preview"}),
                template("Failed", "x"),
            ],
            {},
            "False/TemplateNotFound",
            'No available templates match requirements for model "tiny": 2 unoptimized template(s) filtered out.'
            " Set allowUnoptimized to use them.",
            "Pending",
            id="only unoptimized ones",
        ),
        pytest.param(
            [template(profile=UNOPTIMIZED)],
            {"template": {"allowUnoptimized": True}},
            "True/Resolved",
            "AIMServiceTemplate fast is ready",
            "Starting",
            id="unoptimized ones are allowed",
        ),
        pytest.param(
            [template()],
            {"overrides": {"metric": "throughput"}},
            "False/TemplateNotFound",
            'No available templates match requirements for model "tiny": 1 ServiceOverridesNotMatched;'
            " nearest fast: ServiceOverridesNotMatched (overrides), score 0/1000/0/2",
            "Pending",
            id="none is for the overrides",
        ),
        pytest.param(
            [template(hardware={"gpu": {"model": "MI325X", "requests": 1}})],
            {},
            "False/TemplateNotFound",
            'No available templates match requirements for model "tiny": 1 RequiredGPUNotInCluster;'
            " nearest fast: RequiredGPUNotInCluster (GPU), score 0/2/0/2",
            "Pending",
            id="its GPU is not in the cluster",
        ),
        pytest.param(
            [template(), template(name="slow")],
            {},
            "False/TemplateSelectionAmbiguous",
            'Multiple templates (2) satisfy model "tiny": fast, slow',
            "Failed",
            id="two of equal rank",
        ),
        pytest.param(
            [template(), template(name="slow", profile={"metric": "throughput"})],
            {},
            "True/Resolved",
            "AIMServiceTemplate fast is ready",
            "Starting",
            id="the better of two",
        ),
        pytest.param(
            [template(everywhere=True)],
            {},
            "True/Resolved",
            "AIMClusterServiceTemplate fast is ready",
            "Starting",
            id="a cluster template for a model of the namespace",
        ),
    ],
)
async def test_the_automatic_choice_is_explained(
    templates: list[Manifest], spec: Any, told: str, message: str, overall: str
) -> None:
    seen = await look(service(**spec), model(), node(), *templates)
    assert (seen.condition("TemplateReady"), seen.message("TemplateReady"), seen.word) == (told, message, overall)
    assert bool(seen.made) == told.startswith("True")


async def test_the_whole_choice_is_told_as_an_event() -> None:
    seen = await look(
        service(), model(), template(), template(name="slow", profile={"metric": "throughput"}), template("Failed", "x")
    )
    (told,) = [one for one in seen.told if one.reason == "TemplateSelection"]
    assert told.type == "Normal"
    assert told.message == (
        "fast: best, score 0/1000/0/2; slow: LowerPreferenceRank (preference), score 0/1000/1/2;"
        " x: TemplateFailed (availability), score 0/1000/0/2"
    )


async def test_a_gpu_that_nobody_knows_is_told() -> None:
    odd = template(hardware={"gpu": {"model": "AMD-ABCD", "requests": 1}})
    seen = await look(service(), model(), node(device="abcd"), odd)
    assert seen.condition("TemplateReady") == "True/Resolved"
    assert [one.message for one in seen.told if one.reason == "UnknownGPUModel"] == [
        "ranked last, its GPU model is not known: fast: AMD-ABCD"
    ]


async def test_a_template_found_before_is_kept_while_it_is_ready() -> None:
    better = template(name="better", profile={"precision": "fp4"})
    kept = await look(service(status=running()), model(), template(), better)
    assert kept.status["resolvedTemplate"]["name"] == "fast"
    assert not [one for one in kept.told if one.reason == "TemplateSelection"]
    replaced = await look(service(status=running()), model(), template("NotAvailable"), better)
    assert replaced.status["resolvedTemplate"]["name"] == "better"
    lost = await look(service(status=running()), model(), template("NotAvailable"))
    assert lost.condition("TemplateReady") == "False/TemplateNotReady"
    assert lost.status["resolvedTemplate"] == TEMPLATE_REF, "never cleared, only replaced"
    assert lost.made == []


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        pytest.param([model()], "True/Resolved", id="its template is gone and there is no other"),
        pytest.param([], "True/Resolved", id="model and template are gone"),
        pytest.param(
            [model(), template("Failed", "x")], "False/TemplateNotReady", id="others exist but are not ready yet"
        ),
        pytest.param(
            [model(), template(name="x"), template(name="y")], "False/TemplateSelectionAmbiguous", id="others tie"
        ),
    ],
)
async def test_a_service_that_runs_goes_on_without_its_template(objects: list[Manifest], told: str) -> None:
    seen = await look(service(status=running()), served(), *objects)
    assert seen.condition("TemplateReady") == told
    if told.startswith("True"):
        assert seen.message("TemplateReady") == "Namespace fast is ready"
    assert "InferenceService" not in " ".join(seen.made), "it is left alone"


async def test_without_a_model_there_is_no_template() -> None:
    seen = await look(service(), template())
    assert seen.condition("TemplateReady") == "False/TemplateNotFound"
    assert seen.message("TemplateReady") == "No template found for service"


def secret(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


DERIVED = "fast-ovr-mi300x-4gpu-fp8-throughput-"
OVERRIDES = {
    "metric": "throughput",
    "precision": "fp8",
    "hardware": {"gpu": {"model": "MI300X", "requests": 4, "resourceName": "amd.com/gpu"}},
}
BASE: Manifest = {
    "hardware": {"gpu": {"minVram": "64Gi", "requests": 1, "resourceName": "amd.com/gpu"}, "cpu": {"requests": "8"}},
    "metric": "latency",
    "env": [{"name": "A", "value": "1"}],
    "imagePullSecrets": [{"name": "of-base"}],
    "runtimeConfigName": "of-base",
    "profileId": "p",
}


@pytest.mark.parametrize("everywhere", [False, True], ids=["of a template of the namespace", "of a cluster template"])
async def test_overrides_of_a_named_template_make_a_derived_one(everywhere: bool) -> None:
    base = template(everywhere=everywhere, **BASE)
    seen = await look(service(template=NAMED, overrides=OVERRIDES), model(), base, secret("of-base"))
    made = seen.manifest("AIMServiceTemplate")
    assert made["metadata"]["name"].startswith(DERIVED)
    assert seen.condition("TemplateReady") == "False/TemplateNotReady"
    assert seen.message("TemplateReady") == f"Derived template {made['metadata']['name']} is being created"
    assert (seen.word, len(seen.made)) == ("Pending", 1), "no cache and no pods are planned from the base meanwhile"
    assert made["spec"] == {
        **BASE,
        "modelName": "tiny",
        "metric": "throughput",
        "precision": "fp8",
        "hardware": {**OVERRIDES["hardware"], "cpu": {"requests": "8"}},
        "gpu": OVERRIDES["hardware"]["gpu"],
    }
    labels = made["metadata"]["labels"]
    assert labels["aim.eai.amd.com/origin"] == "derived"
    assert labels["app.kubernetes.io/managed-by"] == "aim-engine"
    assert made["metadata"]["ownerReferences"] == [OWNER]


@pytest.mark.parametrize(
    ("everywhere", "secrets", "account"),
    [
        pytest.param(True, [{"name": "here"}], None, id="of a cluster template only what the namespace has"),
        pytest.param(False, [{"name": "here"}, {"name": "elsewhere"}], "robot", id="of the namespace's own everything"),
    ],
)
async def test_a_derived_template_names_no_secret_or_account_of_another_namespace(
    everywhere: bool, secrets: list[Manifest], account: str | None
) -> None:
    pulled = {"imagePullSecrets": [{"name": "here"}, {"name": "elsewhere"}], "serviceAccountName": "robot"}
    base = template(everywhere=everywhere, **pulled)
    wanted = service(template=NAMED, overrides={"metric": "throughput"})
    made = (await look(wanted, model(), base, secret("here"))).manifest("AIMServiceTemplate")
    assert (made["spec"]["imagePullSecrets"], made["spec"].get("serviceAccountName")) == (secrets, account)
    robot = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    made = (await look(wanted, model(), base, robot)).manifest("AIMServiceTemplate")
    assert made["spec"]["serviceAccountName"] == "robot"


async def test_cores_of_overrides_reach_the_pods_whatever_the_template_says() -> None:
    cores = {"hardware": {"cpu": {"requests": "2", "limits": "3"}}, "gpu": None}
    base = template(
        **{**BASE, **cores, "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "3"}}}
    )
    wanted = service(template=NAMED, overrides={"hardware": {"cpu": {"requests": "8"}}})
    made = (await look(wanted, model(), base)).manifest("AIMServiceTemplate")
    assert made["spec"]["hardware"]["cpu"] == {"requests": "8"}, "the limit was for fewer cores"
    assert made["spec"]["resources"] == {"requests": {"cpu": "8", "memory": "1Gi"}}


async def test_a_derived_template_takes_from_the_service_what_the_service_says() -> None:
    wanted = service(
        template=NAMED,
        overrides={"metric": "throughput"},
        caching={"mode": "Shared"},
        imagePullSecrets=[{"name": "mine"}],
        resources={"limits": {"memory": "9Gi"}},
    )
    made = (await look(wanted, model(), template(**{**BASE, "runtimeConfigName": None}))).manifest("AIMServiceTemplate")
    assert made["spec"]["imagePullSecrets"] == [{"name": "mine"}]
    assert made["spec"]["resources"] == {"limits": {"memory": "9Gi"}}
    assert made["spec"]["runtimeConfigName"] == "default"
    assert made["spec"]["caching"] == {"enabled": True}
    token = {"name": "HF_TOKEN", "value": "t"}
    wanted["spec"]["env"] = [token]
    made = (await look(wanted, model(), template(**BASE))).manifest("AIMServiceTemplate")
    assert made["spec"]["caching"] == {"enabled": True, "env": [*BASE["env"], token]}, "its downloads need it as well"
    assert made["spec"]["env"] == BASE["env"], "its pods have it from the service"


async def test_the_cache_of_a_derived_template_is_on_the_storage_that_the_service_asks_for() -> None:
    storage = {"defaultStorageClassName": "ssd", "pvcHeadroomPercent": 0}
    wanted = service(template=NAMED, overrides={"metric": "throughput"}, caching={"mode": "Shared"}, storage=storage)
    derived = (await look(wanted, model(), template())).manifest("AIMServiceTemplate")
    made = template_cache.of_template(msgspec.convert(derived, AIMServiceTemplate))
    assert made["spec"]["storageClassName"] == "ssd"
    assert made["metadata"]["annotations"] == {"aim.eai.amd.com/pvc-headroom-percent": "0"}


async def test_a_derived_template_says_nothing_of_storage_without_being_asked() -> None:
    derived = {"template": NAMED, "overrides": {"metric": "throughput"}}
    shared = await look(service(**derived, caching={"mode": "Shared"}), model(), template())
    assert "annotations" not in shared.manifest("AIMServiceTemplate")["metadata"], "the runtime config decides"
    own = await look(service(**derived, storage={"pvcHeadroomPercent": 5}), model(), template())
    assert "annotations" not in own.manifest("AIMServiceTemplate")["metadata"], "the service makes its cache itself"


@pytest.mark.parametrize(
    ("templates", "told", "message"),
    [
        pytest.param([], "False/TemplateNotFound", 'template "fast" not found', id="the base is missing"),
        pytest.param(
            [template("Progressing")],
            "False/TemplateNotReady",
            "AIMServiceTemplate fast is not ready yet",
            id="the base is not ready",
        ),
    ],
)
async def test_overrides_wait_for_the_base(templates: list[Manifest], told: str, message: str) -> None:
    seen = await look(service(template=NAMED, overrides={"metric": "throughput"}), model(), *templates)
    assert (seen.condition("TemplateReady"), seen.message("TemplateReady")) == (told, message)
    assert seen.made == []


@pytest.mark.parametrize("owner", [OWNER, STRANGER], ids=["our own", "another service's"])
async def test_a_derived_template_that_exists_is_used_and_left_as_it_is(owner: Manifest) -> None:
    wanted = service(template=NAMED, overrides={"metric": "throughput"})
    name = (await look(wanted, model(), template())).manifest("AIMServiceTemplate")["metadata"]["name"]
    derived = template(name=name, labels={"aim.eai.amd.com/origin": "derived"})
    derived["metadata"]["ownerReferences"] = [owner]
    seen = await look(wanted, model(), template(), derived)
    assert seen.status["resolvedTemplate"]["name"] == name
    assert [made.split()[0] for made in seen.made] == ["AIMTemplateCache"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param(None, "Derived template {name} is being created", id="no state yet"),
        pytest.param("Pending", "Derived template {name} is being created", id="Pending"),
        pytest.param("Progressing", "Derived template {name} is being created", id="Progressing"),
        pytest.param("Failed", "AIMServiceTemplate {name} is in failed state", id="Failed"),
    ],
)
async def test_a_derived_template_is_being_created_until_it_is_ready(word: str | None, message: str) -> None:
    wanted = service(template=NAMED, overrides={"metric": "throughput"})
    name = (await look(wanted, model(), template())).manifest("AIMServiceTemplate")["metadata"]["name"]
    seen = await look(wanted, model(), template(), template(word, name, labels={"aim.eai.amd.com/origin": "derived"}))
    assert seen.condition("TemplateReady") == "False/TemplateNotReady"
    assert seen.message("TemplateReady") == message.format(name=name)


async def test_nothing_is_derived_from_a_derived_template_and_that_is_told() -> None:
    base = template(labels={"aim.eai.amd.com/origin": "derived"})
    seen = await look(service(template=NAMED, overrides={"metric": "throughput"}), model(), base)
    assert (seen.condition("TemplateReady"), seen.word, seen.made) == ("False/TemplateNotReady", "Failed", [])
    assert seen.message("TemplateReady") == (
        "AIMServiceTemplate fast was itself derived from another for the overrides of a service; "
        "make the service anew with that other template, or without overrides"
    )


async def test_derived_templates_are_nobody_elses_choice() -> None:
    derived = template(name="x", labels={"aim.eai.amd.com/origin": "derived"}, profile={"precision": "fp4"})
    assert (await look(service(), model(), template(), derived)).status["resolvedTemplate"]["name"] == "fast"


@pytest.mark.parametrize(
    ("overrides", "base", "is_derived"),
    [
        pytest.param({"metric": "latency"}, {}, False, id="a metric narrows"),
        pytest.param({"hardware": {"gpu": {"requests": 2}}}, {}, True, id="a count the template does not name"),
        pytest.param(
            {"hardware": {"gpu": {"requests": 2}}},
            {"hardware": {"gpu": {"requests": 2}}},
            False,
            id="the count the template names",
        ),
        pytest.param({"hardware": {"gpu": {"model": "MI300X"}}}, {}, True, id="a model the template does not name"),
        pytest.param({"hardware": {"gpu": {"minVram": "128Gi"}}}, {}, True, id="memory without a model"),
        pytest.param(
            {"hardware": {"gpu": {"minVram": "128Gi"}}},
            {"hardware": {"gpu": {"model": "MI300X", "requests": 1}}},
            False,
            id="memory that the template's model has",
        ),
        pytest.param({"hardware": {"gpu": {"resourceName": "amd.com/cpx"}}}, {}, True, id="a resource of another name"),
        pytest.param(
            {"hardware": {"gpu": {"resourceName": "amd.com/cpx"}}},
            {"hardware": {"gpu": {"resourceName": "amd.com/cpx"}}},
            False,
            id="the resource the template names",
        ),
        pytest.param({"hardware": {"cpu": {"requests": "4"}}}, {}, True, id="cores the template does not name"),
        pytest.param(
            {"hardware": {"cpu": {"requests": "4"}}},
            {"hardware": {"cpu": {"requests": "4000m"}}},
            False,
            id="the cores the template names",
        ),
        pytest.param({"gpu": {"requests": 2}}, {}, True, id="in the earlier naming too"),
    ],
)
async def test_the_chosen_template_is_derived_from_if_it_leaves_a_wish_open(
    overrides: Any, base: Any, is_derived: bool
) -> None:
    seen = await look(service(overrides=overrides), model(), node(), template(**base))
    kinds = [made.split()[0] for made in seen.made]
    assert kinds == (["AIMServiceTemplate"] if is_derived else ["AIMTemplateCache"])


async def test_no_gpu_at_all_is_an_override_too() -> None:
    seen = await look(
        service(overrides={"hardware": {"gpu": {"requests": 0}}}),
        model(),
        node(),
        template(hardware={"gpu": {"requests": 1}}),
    )
    assert seen.condition("TemplateReady") == "False/TemplateNotFound"


async def test_what_was_derived_is_kept_whatever_becomes_of_its_base() -> None:
    derived = template(name="derived", labels={"aim.eai.amd.com/origin": "derived"})
    status = running(resolvedTemplate={**TEMPLATE_REF, "name": "derived"})
    seen = await look(
        service(template=NAMED, overrides={"metric": "throughput"}, status=status), model(), derived, cache(name=SHARED)
    )
    assert seen.condition("TemplateReady") == "True/Resolved"
    assert seen.status["resolvedTemplate"]["name"] == "derived"
