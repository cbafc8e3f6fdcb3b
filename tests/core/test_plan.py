"""A plan as data: its order, its owners and what it says."""

from datetime import timedelta

import pytest

from aim_engine.core import plan
from aim_engine.core.parent import Parent
from aim_engine.core.plan import Plan, Target
from aim_engine.objects import Manifest, ObjectMeta

SERVICE = Parent("AIMService", "service", ObjectMeta(name="chat", namespace="ml-team", uid="u1"))
SOURCE = Parent("AIMClusterModelSource", "cluster-model-source", ObjectMeta(name="amd", uid="u2"))


def thing(kind: str, name: str = "x", namespace: str = "ml-team", version: str = "v1", **metadata: object) -> Manifest:
    placed = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **placed, **metadata}}


def test_owned_objects_come_first_and_each_group_is_sorted_by_kind_then_name() -> None:
    wanted = Plan(
        apply_unowned=(thing("AIMTemplateCache", version="aim.eai.amd.com/v1alpha1"),),
        create_unowned=(thing("AIMModel", version="aim.eai.amd.com/v1alpha1"),),
        apply=(
            thing("InferenceService", version="serving.kserve.io/v1beta1"),
            thing("Job", "b", version="batch/v1"),
            thing("Job", "a", version="batch/v1"),
            thing("PersistentVolumeClaim"),
        ),
    )
    assert [str(step) for step in plan.steps(wanted, SERVICE, None)] == [
        "apply PersistentVolumeClaim ml-team/x",
        "apply Job ml-team/a",
        "apply Job ml-team/b",
        "apply InferenceService ml-team/x",
        "create AIMModel ml-team/x",
        "apply AIMTemplateCache ml-team/x",
    ]


def test_only_owned_objects_refer_to_their_parent() -> None:
    wanted = Plan(apply=(thing("A"),), create=(thing("B"),), apply_unowned=(thing("C"),), create_unowned=(thing("D"),))
    owners = {
        s.manifest["kind"]: s.manifest["metadata"].get("ownerReferences") for s in plan.steps(wanted, SERVICE, None)
    }
    reference = {
        "apiVersion": "aim.eai.amd.com/v1alpha1",
        "kind": "AIMService",
        "name": "chat",
        "uid": "u1",
        "controller": True,
    }
    assert owners == {"A": [reference], "B": [reference], "C": None, "D": None}


@pytest.mark.parametrize(
    ("parent", "namespace", "owned"),
    [
        pytest.param(SERVICE, "ml-team", True, id="same namespace"),
        pytest.param(SERVICE, "", False, id="cluster-scoped child of a namespaced parent"),
        pytest.param(SERVICE, "aim-system", False, id="child in another namespace"),
        pytest.param(SOURCE, "", True, id="both cluster-scoped"),
        pytest.param(SOURCE, "aim-system", True, id="namespaced child of a cluster-scoped parent"),
    ],
)
def test_who_may_own_whom(parent: Parent, namespace: str, owned: bool) -> None:
    assert ("ownerReferences" in plan.with_owner(thing("A", namespace=namespace), parent)["metadata"]) is owned


def test_a_reference_of_the_same_uid_is_replaced_and_others_are_kept() -> None:
    other = {"uid": "other"}
    child = thing("A", ownerReferences=[{"uid": "u1", "name": "old"}, other])
    assert plan.with_owner(child, SERVICE)["metadata"]["ownerReferences"] == [other, SERVICE.owner_reference]


def test_children_carry_the_labels_of_their_parent() -> None:
    step = plan.steps(Plan(apply=(thing("A"),)), SERVICE, None)[0]
    assert step.manifest["metadata"]["labels"]["aim.eai.amd.com/service.name"] == "chat"


def test_plans_add_up_and_the_earlier_look_counts() -> None:
    one = Plan(apply=(thing("A"),), requeue_after=timedelta(seconds=10))
    other = Plan(delete=(Target(api_version="v1", kind="Job", name="x"),), requeue_after=timedelta(seconds=2))
    assert one + other == Plan(apply=one.apply, delete=other.delete, requeue_after=timedelta(seconds=2))
    assert (Plan() + Plan()).requeue_after is None


def test_finalizers_are_added_once_and_removed_in_both_spellings() -> None:
    metadata = ObjectMeta(finalizers=("foreign", "a"))
    assert plan.with_finalizer(metadata, "a") == plan.Finalizers(("foreign", "a"), False)
    assert plan.with_finalizer(metadata, "b") == plan.Finalizers(("foreign", "a", "b"), True)
    assert plan.without_finalizers(metadata, "a", "b") == plan.Finalizers(("foreign",), True)
    assert plan.without_finalizers(metadata, "c") == plan.Finalizers(("foreign", "a"), False)


@pytest.mark.parametrize(
    ("value", "paused"),
    [
        pytest.param("true", True, id="the word"),
        pytest.param("True", False, id="another case"),
        pytest.param("", False, id="empty"),
    ],
)
def test_pause(value: str, paused: bool) -> None:
    assert plan.is_paused(ObjectMeta(annotations={"aim.eai.amd.com/reconciliation-paused": value})) is paused
    assert not plan.is_paused(ObjectMeta())


def test_a_target_names_the_object_it_means() -> None:
    assert str(plan.target(thing("A", "n"))) == "A ml-team/n"
    seen = plan.aim_target("AIMClusterModel", ObjectMeta(name="m", uid="u"))
    assert (str(seen), seen.uid, seen.api_version) == ("AIMClusterModel m", "u", "aim.eai.amd.com/v1alpha1")
