"""By which template services run: the best one, a named one, one derived for overrides, or none and why."""

import pytest
from tests.cluster.services.stage import Stage, condition, env_of, owners, word

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve")


def test_unoptimized_templates_are_left_out_with_a_hint_unless_they_are_allowed(stage: Stage) -> None:
    stage.model()
    stage.ready_template("plain", type="unoptimized")
    stage.service("careful")
    seen = stage.until(
        "aimservices", "careful", lambda one: "allowUnoptimized" in condition(one, "TemplateReady").get("message", "")
    )
    assert condition(seen, "TemplateReady")["reason"] == "TemplateNotFound"
    assert word(seen) == "Pending"
    stage.service("brave", template={"allowUnoptimized": True})
    assert stage.supplied("brave")["status"]["resolvedTemplate"]["name"] == "plain"


def test_two_equal_templates_are_ambiguous_until_a_better_one_comes(stage: Stage) -> None:
    stage.model()
    stage.ready_template("one")
    stage.ready_template("two")
    stage.service()
    seen = stage.told("TemplateReady", "TemplateSelectionAmbiguous")
    assert word(seen) == "Failed"
    assert condition(seen, "TemplateReady")["message"] == 'Multiple templates (2) satisfy model "tiny": one, two'
    _, _, explained = stage.until_event("TemplateSelection")
    assert [part.split(",")[0] for part in explained.split("; ")] == ["one: best", "two: best"]
    stage.template("better", metric="latency")
    assert stage.supplied()["status"]["resolvedTemplate"]["name"] == "better"
    stage.ready_template("best", metric="latency", precision="fp4")
    stage.change("aimservices", "chat", {"spec": {"env": [{"name": "A", "value": "1"}]}})
    changed = stage.until("inferenceservices", stage.served()["metadata"]["name"], lambda one: "A" in env_of(one))
    assert changed["metadata"]["labels"]["aim.eai.amd.com/template"] == "better", "who has a template keeps it"


def test_a_named_template_is_waited_for_and_missed(stage: Stage) -> None:
    stage.model()
    stage.service(template={"name": "later"})
    failed = stage.told("TemplateReady", "TemplateNotFound")
    assert word(failed) == "Failed"
    assert condition(failed, "TemplateReady")["message"] == 'template "later" not found'
    stage.template("later", type="unoptimized")
    stage.supplied()
    before = stage.served()
    stage.delete("aimservicetemplates", "later")
    missed = stage.told("TemplateReady", "TemplateNotFound")
    assert word(missed) == "Failed"
    assert stage.served()["metadata"]["uid"] == before["metadata"]["uid"], "its pods run on"
    stage.template("later", type="unoptimized")
    stage.told("TemplateReady", "Resolved")


def test_overrides_have_a_template_derived_that_goes_with_the_service(stage: Stage) -> None:
    stage.model()
    stage.ready_template(env=[{"name": "KEPT", "value": "1"}])
    wanted = {"template": {"name": "fast"}, "overrides": {"metric": "throughput"}, "caching": {"mode": "Shared"}}
    stage.service("one", **wanted)
    stage.service("two", **wanted)
    name = stage.supplied("one")["status"]["resolvedTemplate"]["name"]
    assert name.startswith("fast-ovr-throughput-")
    assert stage.supplied("two")["status"]["resolvedTemplate"]["name"] == name
    derived = stage.get("aimservicetemplates", name)
    assert derived["metadata"]["labels"]["aim.eai.amd.com/origin"] == "derived"
    (owner,) = owners(derived)
    variables = env_of(stage.served("one"))
    assert (variables["AIM_METRIC"], variables["KEPT"]) == ("throughput", "1")

    other = {"one": "two", "two": "one"}[owner]
    stage.delete("aimservices", owner)
    stage.server.wait_until(
        stage.path("aimservicetemplates", name),
        lambda one: owners(one) == [other] and word(one) == "Ready",
    )
    stage.told("TemplateReady", "Resolved", other)
    stage.delete("aimservices", other)
    stage.gone("aimservicetemplates", name)


def test_an_override_that_the_chosen_template_leaves_open_is_derived_from_it(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service(overrides={"hardware": {"cpu": {"requests": "150m"}}})
    name = stage.supplied()["status"]["resolvedTemplate"]["name"]
    assert name.startswith("fast-ovr-")
    stage.service("plain")
    assert stage.supplied("plain")["status"]["resolvedTemplate"]["name"] == "fast", "nobody else is given it"
