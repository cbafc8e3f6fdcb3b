"""What counts as a difference, on objects as the real API server gives them back."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from tests.api_server import ApiServer
from tests.kube import manifests

from aim_engine.kube.client import Client
from aim_engine.kube.differs import differences
from aim_engine.kube.resource import Resource
from aim_engine.kube.snapshot import Ownership, Snapshot, take

ME = "me"
Manifest = dict[str, Any]
Change = Callable[[Manifest], object]

KINDS: dict[str, tuple[Resource, Callable[[str], Manifest]]] = {
    "a job": (manifests.JOBS, manifests.job),
    "a volume claim": (manifests.CLAIMS, manifests.claim),
    "a role binding": (manifests.BINDINGS, manifests.binding),
    "a route": (manifests.ROUTES, manifests.route),
    "an inference service": (manifests.INFERENCE_SERVICES, manifests.inference_service),
}


def paths(planned: Manifest, snapshot: Snapshot) -> list[str]:
    return [difference.path for difference in differences(planned, snapshot, ME)]


async def applied(client: Client, resource: Resource, planned: Manifest) -> Snapshot:
    return take(await client.apply(resource, planned, msgspec.Raw, manager=ME), {ME})


@pytest.mark.parametrize("kind", KINDS)
async def test_an_object_just_applied_has_no_differences(client: Client, namespace: str, kind: str):
    resource, build = KINDS[kind]
    planned = build(namespace)
    snapshot = await applied(client, resource, planned)
    assert differences(planned, snapshot, ME) == []


def spec(planned: Manifest) -> Manifest:
    return planned["spec"]["template"]["spec"]


def main(planned: Manifest) -> Manifest:
    return spec(planned)["containers"][0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda j: main(j).update(image="other"), "spec.template.spec.containers.main.image", id="another value"
        ),
        pytest.param(
            lambda j: main(j)["env"].append({"name": "NEW", "value": "x"}),
            "spec.template.spec.containers.main.env.NEW",
            id="a new element",
        ),
        pytest.param(
            lambda j: main(j)["env"].pop(0),
            'spec.template.spec.containers.{"name":"main"}.env.{"name":"ONE"}',
            id="an element that is no longer planned",
        ),
        pytest.param(
            lambda j: main(j)["env"][1].update(value="full"),
            "spec.template.spec.containers.main.env.EMPTY.value",
            id="a value that was empty",
        ),
        pytest.param(
            lambda j: main(j)["resources"]["limits"].update(memory="1025Mi"),
            "spec.template.spec.containers.main.resources.limits.memory",
            id="another amount",
        ),
        pytest.param(
            lambda j: j["metadata"]["labels"].pop("app"), "metadata.labels.app", id="a label no longer planned"
        ),
        pytest.param(lambda j: j["metadata"].pop("labels"), "metadata.labels", id="no labels planned any more"),
        pytest.param(lambda j: j["metadata"]["labels"].update(new="x"), "metadata.labels.new", id="a new label"),
        pytest.param(
            lambda j: spec(j)["nodeSelector"].update(gpu="no"), "spec.template.spec.nodeSelector.gpu", id="a selector"
        ),
        pytest.param(
            lambda j: spec(j)["tolerations"].append({"key": "b"}),
            "spec.template.spec.tolerations",
            id="a longer whole list",
        ),
        pytest.param(
            lambda j: spec(j)["tolerations"][0].update(effect="NoSchedule"),
            "spec.template.spec.tolerations[0].effect",
            id="an element of a whole list",
        ),
        pytest.param(
            lambda j: spec(j).update(hostNetwork=True), "spec.template.spec.hostNetwork", id="false turned true"
        ),
        pytest.param(lambda j: j["spec"].pop("suspend"), "spec.suspend", id="a field no longer planned"),
        pytest.param(
            lambda j: j["spec"].update(backoffLimit=None), "spec.backoffLimit", id="a field planned as nothing"
        ),
        pytest.param(
            lambda j: j["metadata"]["ownerReferences"].clear(),
            'metadata.ownerReferences.{"uid":"00000000-0000-0000-0000-000000000001"}',
            id="an owner that is no longer planned",
        ),
        pytest.param(lambda j: j.update(apiVersion="batch/v2"), "apiVersion", id="a new version of the kind"),
    ],
)
async def test_a_changed_plan_differs_where_it_changed(client: Client, namespace: str, change: Change, expected: str):
    planned = manifests.job(namespace)
    snapshot = await applied(client, manifests.JOBS, planned)
    later = deepcopy(planned)
    change(later)
    assert expected in paths(later, snapshot)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda j: main(j)["resources"]["limits"].update(cpu=1, memory="1Gi"), id="amounts in other units"),
        pytest.param(lambda j: main(j)["env"].reverse(), id="elements with keys in another order"),
        pytest.param(lambda j: main(j)["ports"][0].update(protocol="TCP"), id="a default written out"),
        pytest.param(lambda j: j.update(status={"active": 1}), id="a status, which is not ours to apply"),
        pytest.param(lambda j: j["metadata"].update(resourceVersion="1"), id="metadata of the server"),
    ],
)
async def test_the_same_plan_in_other_words_does_not_differ(client: Client, namespace: str, change: Change):
    planned = manifests.job(namespace)
    snapshot = await applied(client, manifests.JOBS, planned)
    change(planned)
    assert paths(planned, snapshot) == []


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"metadata": {"labels": {"theirs": "x"}}}, [], id="a label they added is theirs"),
        pytest.param({"spec": {"activeDeadlineSeconds": 9}}, [], id="a field they added is theirs"),
        pytest.param(
            {"metadata": {"labels": {"app": "x"}}}, ["metadata.labels.app"], id="a label of ours is put right"
        ),
        pytest.param(
            {"metadata": {"labels": {"app": None}}}, ["metadata.labels.app"], id="a removed label is put back"
        ),
        pytest.param({"spec": {"parallelism": 3}}, ["spec.parallelism"], id="a field of ours is put right"),
        pytest.param({"metadata": {"ownerReferences": []}}, True, id="a removed owner is put back"),
    ],
)
async def test_what_others_change_differs_only_where_it_is_ours(
    client: Client, api_server: ApiServer, namespace: str, patch: Manifest, expected: list[str] | bool
):
    owner = await client.create(manifests.CONFIG_MAPS, manifests.config_map(namespace, "owner"))
    planned = manifests.job(namespace, owner["metadata"]["uid"])
    await applied(client, manifests.JOBS, planned)
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs/job"
    status, answer = api_server.request("PATCH", path, patch, content_type="application/merge-patch+json")
    assert status == 200
    found = paths(planned, take(msgspec.Raw(msgspec.json.encode(answer)), {ME}))
    assert found == expected or (expected is True and found), found


def plain(content: Manifest, **owned: Manifest) -> Snapshot:
    ownership = {ME: Ownership("v1", msgspec.json.encode(owned))} if owned else {}
    return Snapshot(msgspec.json.encode({"metadata": {}, **content}), ownership)


@pytest.mark.parametrize(
    ("planned", "found", "same"),
    [
        pytest.param("1", "1000m", True, id="thousandths"),
        pytest.param(4, "4", True, id="a number as text"),
        pytest.param("2e3", "2k", True, id="an exponent"),
        pytest.param("1.5Gi", "1536Mi", True, id="a fraction"),
        pytest.param("1G", "1Gi", False, id="thousands are not 1024s"),
        pytest.param("1E", "1000P", True, id="exa is no exponent"),
        pytest.param("much", "1", False, id="not an amount"),
        pytest.param("100n", "0.1u", True, id="billionths"),
    ],
)
def test_amounts_are_compared_as_numbers_where_amounts_are_expected(planned: object, found: object, same: bool):
    plan = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}}
    limits = plan | {"spec": {"limits": {"memory": planned}}}
    assert (paths(limits, plain({"spec": {"limits": {"memory": found}}})) == []) is same
    text = plan | {"spec": {"value": str(planned)}}
    expected = [] if str(planned) == str(found) else ["spec.value"]
    assert paths(text, plain({"spec": {"value": str(found)}})) == expected, "elsewhere text is text"


def test_true_is_not_one():
    plan = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": True}}
    assert paths(plan, plain({"spec": {"a": 1}})) == ["spec.a"]


def test_an_object_we_never_applied_is_judged_by_its_values():
    plan = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": [1, 2], "b": {}, "c": False}}
    assert paths(plan, plain({"spec": {"a": [1, 2], "b": {}, "c": False, "d": 1}})) == []
    assert paths(plan, plain({"spec": {"a": [2, 1]}})) == ["spec.a[0]", "spec.a[1]", "spec.b", "spec.c"]
