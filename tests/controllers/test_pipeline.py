"""One pass over one object: finalizers, writes that fail, a status that somebody else changed, what users hear."""

import asyncio
import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.controllers.stage import FINALIZER, KEY, View, claim, concept, staged, target

from aim_engine.api import quantity
from aim_engine.api.artifact import DownloadStatus
from aim_engine.api.status import AIMStatus
from aim_engine.controllers.failures import PassFailed, told
from aim_engine.core.health import Component
from aim_engine.core.plan import Patch, Plan, Target
from aim_engine.core.problems import Category, Problem, infrastructure, missing_upstream
from aim_engine.kube.controller import Controller
from aim_engine.kube.errors import ServerError, Unreachable

OBJECT = "aimartifacts/weights"
PAUSED = {"aim.eai.amd.com/reconciliation-paused": "true"}
GONE = "2026-01-01T00:00:00Z"
READY = Component(name="Weights", state=AIMStatus.READY)


async def test_a_finalizer_is_put_on_first_even_if_the_object_is_paused() -> None:
    async with staged(concept(READY, finalizers=(FINALIZER,))) as stage:
        stage.put(annotations=PAUSED, finalizers=["other.io/keep"])
        assert await stage.reconcile() == 0.0
        assert stage.peer.told == [f"PATCH {OBJECT}"]
        written = stage.peer.writes[0].body["metadata"]
        assert written == {"resourceVersion": "1", "finalizers": ["other.io/keep", FINALIZER]}


@pytest.mark.parametrize(
    ("annotations", "worked_on"),
    [
        pytest.param(PAUSED, False, id="true pauses"),
        pytest.param({"aim.eai.amd.com/reconciliation-paused": "True"}, True, id="another spelling does not"),
        pytest.param({"aim.eai.amd.com/reconciliation-paused": ""}, True, id="an empty value does not"),
        pytest.param({}, True, id="nothing said"),
    ],
)
async def test_a_paused_object_is_left_alone(annotations: dict[str, str], worked_on: bool) -> None:
    async with staged(concept(READY, plan=Plan(apply=(claim("one"),)))) as stage:
        stage.put(annotations=annotations)
        assert await stage.reconcile() is None
        assert bool(stage.peer.writes) == worked_on


async def test_a_deleted_object_is_cleaned_up_after_and_let_go_even_if_paused() -> None:
    cleanup = Plan(delete=(target("one"), target("two")))
    about = concept(READY, finalizers=(FINALIZER, "v1.example.com/cleanup"), cleanup=lambda *_: cleanup)
    async with staged(about) as stage:
        finalizers = [FINALIZER, "other.io/keep", "v1.example.com/cleanup"]
        stage.put(annotations=PAUSED, finalizers=finalizers, deletionTimestamp=GONE)
        stage.peer.refuse("DELETE", "/one", 404)
        assert await stage.reconcile() is None
        assert stage.peer.told == ["DELETE persistentvolumeclaims/two", f"PATCH {OBJECT}"]
        assert stage.peer.writes[-1].body["metadata"]["finalizers"] == ["other.io/keep"]
        assert await stage.reconcile() is None, "what others keep is not ours to wait for"
        assert len(stage.peer.told) == 2


async def test_what_may_not_be_deleted_keeps_nothing_from_going() -> None:
    about = concept(READY, finalizers=(FINALIZER,), cleanup=lambda *_: Plan(delete=(target("one"),)))
    async with staged(about) as stage:
        stage.put(finalizers=[FINALIZER], deletionTimestamp=GONE)
        stage.peer.refuse("DELETE", "/one", 403)
        assert await stage.reconcile() is None
        assert stage.peer.told == [f"PATCH {OBJECT}"]


async def test_a_clean_up_that_fails_keeps_the_finalizer() -> None:
    about = concept(READY, finalizers=(FINALIZER,), cleanup=lambda *_: Plan(delete=(target("one"),)))
    async with staged(about) as stage:
        stage.put(finalizers=[FINALIZER], deletionTimestamp=GONE)
        stage.peer.refuse("DELETE", "/one", 500)
        with pytest.raises(ServerError):
            await stage.reconcile()
        assert stage.peer.told == []


@pytest.mark.parametrize(
    ("code", "after"), [pytest.param(409, 0.05, id="somebody was faster"), pytest.param(404, 0.0, id="it is gone")]
)
async def test_a_finalizer_that_cannot_be_written_is_looked_at_again(code: int, after: float) -> None:
    async with staged(concept(READY, finalizers=(FINALIZER,))) as stage:
        stage.put()
        stage.peer.refuse("PATCH", OBJECT, code)
        assert await stage.reconcile() == after


async def test_one_child_that_is_refused_does_not_keep_the_others_from_being_made() -> None:
    plan = Plan(apply=(claim("a"), claim("b"), claim("c")), apply_unowned=(claim("d"),))
    async with staged(concept(READY, plan=plan)) as stage:
        stage.put()
        stage.peer.refuse("PATCH", "/b", 403, "Forbidden", "exceeded quota: small")
        stage.peer.refuse("PATCH", "/d", 409, "Conflict", 'conflict with "kubectl": .spec.accessModes')
        with pytest.raises(PassFailed) as failed:
            await stage.reconcile()
        applied = [f"PATCH persistentvolumeclaims/{name}" for name in "ac"]
        assert stage.peer.told == [*applied, f"PUT {OBJECT.rpartition('/')[2]}/status"]
        sentence = (
            "Failed to apply resources: can't apply persistentvolumeclaims team/b: exceeded quota: small; "
            'can\'t apply persistentvolumeclaims team/d: conflict with "kubectl": .spec.accessModes'
        )
        assert str(failed.value) == sentence
        conditions = {one.type: one for one in stage.status().conditions}
        reachable = conditions["DependenciesReachable"]
        assert (reachable.status, reachable.reason) == ("False", "InfrastructureError")
        assert reachable.message == sentence
        assert conditions["Ready"].status == "True", "what was found before the writes stays as it was"
        assert ("Warning", "InfrastructureError", sentence) in await stage.events()

        stage.peer.refusals.clear()
        assert await stage.reconcile() is None
        conditions = {one.type: one for one in stage.status().conditions}
        assert (conditions["DependenciesReachable"].status, conditions["DependenciesReachable"].reason) == (
            "True",
            "Reachable",
        )


async def test_nothing_is_made_while_something_cannot_be_deleted() -> None:
    plan = Plan(apply=(claim("a"),), delete=(target("x"), target("y"), target("z")))
    async with staged(concept(READY, plan=plan)) as stage:
        stage.put()
        stage.peer.refuse("DELETE", "/x", 500, "InternalError", "etcd is slow")
        stage.peer.refuse("DELETE", "/y", 404)
        with pytest.raises(PassFailed):
            await stage.reconcile()
        assert stage.peer.told == ["DELETE persistentvolumeclaims/z", "PUT weights/status"]
        reachable = next(one for one in stage.status().conditions if one.type == "DependenciesReachable")
        assert (
            reachable.message == "Failed to delete resources: can't delete persistentvolumeclaims team/x: etcd is slow"
        )


@pytest.mark.parametrize(
    ("method", "code", "plan", "written"),
    [
        pytest.param("DELETE", 409, Plan(apply=(claim("a"),), delete=(target("x"),)), [], id="a name has a new owner"),
        pytest.param(
            "PATCH",
            404,
            Plan(patch=(Patch(target=target("x"), body={"metadata": {"labels": {"a": "b"}}}),)),
            [],
            id="what was to be changed is gone",
        ),
    ],
)
async def test_who_was_outrun_blames_nobody_and_decides_anew(
    method: str, code: int, plan: Plan, written: list[str]
) -> None:
    async with staged(concept(READY, plan=plan, counts=claims_that_went)) as stage:
        stage.put()
        stage.peer.refuse(method, "/x", code)
        assert await stage.reconcile() == stage.pipeline.timings.conflict
        assert stage.peer.told == [*written, "PUT weights/status"]
        assert stage.status().persistent_volume_claim == "", "nothing went"
        assert "DependenciesReachable" not in {one.type for one in stage.status().conditions}


def claims_that_went(status: DownloadStatus, deleted: Sequence[Target]) -> DownloadStatus:
    return msgspec.structs.replace(status, persistent_volume_claim=" and ".join(one.name for one in deleted))


async def test_a_status_counts_only_deletions_that_were_done() -> None:
    plan = Plan(delete=(target("x"), target("y")))
    async with staged(concept(READY, plan=plan, counts=claims_that_went)) as stage:
        stage.put()
        stage.peer.refuse("DELETE", "/x", 500, "InternalError", "etcd is slow")
        with pytest.raises(PassFailed):
            await stage.reconcile()
        assert stage.status().persistent_volume_claim == ""
        stage.peer.refuse("DELETE", "/x", 404)
        await stage.reconcile()
        assert stage.status().persistent_volume_claim == "x and y"


async def test_a_status_counts_no_deletions_that_were_only_planned() -> None:
    wrong = Component(name="Config", problems=(Problem(Category.INVALID_SPEC, "InvalidSpec", "no"),))
    async with staged(concept(wrong, plan=Plan(delete=(target("x"),)), counts=claims_that_went)) as stage:
        stage.put()
        await stage.reconcile()
        assert stage.status().persistent_volume_claim == ""


async def test_in_a_crowd_a_status_that_counts_deletions_does_not_wait() -> None:
    async with staged(concept(READY, plan=Plan(delete=(target("x"),)), counts=claims_that_went), crowded=True) as stage:
        stage.put()
        assert await stage.reconcile() is None
        assert stage.status().persistent_volume_claim == "x"


async def test_a_status_that_somebody_changed_meanwhile_is_looked_at_again_and_nothing_is_told() -> None:
    async with staged(concept(READY)) as stage:
        stage.put()
        stage.peer.refuse("PUT", "/status", 409, "Conflict")
        assert await stage.reconcile() == 0.05
        assert await stage.events() == []
        stage.peer.refusals.clear()
        assert await stage.reconcile() is None
        assert ("Normal", "AllComponentsReady", "All components are ready") in await stage.events()


async def test_the_second_pass_over_the_same_world_writes_and_tells_nothing() -> None:
    async with staged(concept(READY, plan=Plan(apply=(claim("a"),)))) as stage:
        stage.put()
        await stage.reconcile()
        events, writes = await stage.events(), len(stage.peer.told)
        assert await stage.reconcile() is None
        assert (await stage.events(), len(stage.peer.told)) == (events, writes)


async def test_in_a_crowd_a_new_object_is_given_what_it_needs_first_and_told_of_it_next() -> None:
    async with staged(concept(READY, plan=Plan(apply=(claim("a"),))), crowded=True) as stage:
        stage.put()
        assert await stage.reconcile() == 0.0, "the next pass comes as soon as those who wait had theirs"
        assert (stage.peer.told, await stage.events()) == (["PATCH persistentvolumeclaims/a"], [])
        assert await stage.reconcile() is None
        assert stage.peer.told[1:] == ["PUT weights/status"]
        assert ("Normal", "AllComponentsReady", "All components are ready") in await stage.events()


async def test_in_a_crowd_a_status_waits_for_one_pass_and_no_more() -> None:
    plans = iter([Plan(apply=(claim("a"),)), Plan(apply=(claim("b"),))])
    about = dataclasses.replace(concept(READY), plan=lambda *_: next(plans))
    async with staged(about, crowded=True) as stage:
        stage.put()
        assert await stage.reconcile() == 0.0
        assert await stage.reconcile() is None
        assert stage.peer.told[1:] == ["PATCH persistentvolumeclaims/b", "PUT weights/status"]


async def test_in_a_crowd_what_is_refused_is_told_at_once() -> None:
    async with staged(concept(READY, plan=Plan(apply=(claim("a"), claim("b")))), crowded=True) as stage:
        stage.put()
        stage.peer.refuse("PATCH", "/b", 403, "Forbidden", "exceeded quota: small")
        with pytest.raises(PassFailed):
            await stage.reconcile()
        assert stage.peer.told == ["PATCH persistentvolumeclaims/a", "PUT weights/status"]


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(hours=-1), timedelta(days=400)], ids=str)
async def test_a_clock_that_jumps_writes_and_tells_nothing(jump: timedelta) -> None:
    missing = missing_upstream("ConfigNotFound", "RuntimeConfig x not found")
    async with staged(concept(READY, Component(name="Config", problems=(missing,)))) as stage:
        stage.put()
        await stage.reconcile()
        events, writes = await stage.events(), len(stage.peer.told)
        stage.clock.now += jump
        assert await stage.reconcile() == 60.0
        assert (await stage.events(), len(stage.peer.told)) == (events, writes)


@pytest.mark.parametrize(
    ("problem", "after"),
    [
        pytest.param(missing_upstream("ConfigNotFound", "RuntimeConfig x not found"), 60.0, id="a reference"),
        pytest.param(Problem(Category.AUTH, "Forbidden", "no"), 60.0, id="a right"),
        pytest.param(Problem(Category.INVALID_SPEC, "InvalidSpec", "no"), None, id="a wrong spec waits for its user"),
    ],
)
async def test_what_somebody_has_to_mend_blocks_and_is_looked_at_slowly(problem: Problem, after: float | None) -> None:
    async with staged(concept(Component(name="Config", problems=(problem,)), plan=Plan(apply=(claim("a"),)))) as stage:
        stage.put()
        assert await stage.reconcile() == after
        assert stage.peer.told == ["PUT weights/status"]
        assert stage.status().status is AIMStatus.FAILED


async def test_what_cannot_be_reached_is_tried_again_with_growing_pauses() -> None:
    away = Component(name="Registry", problems=(infrastructure("Timeout", "Request timed out"),))
    async with staged(concept(away, plan=Plan(apply=(claim("a"),)))) as stage:
        stage.put()
        with pytest.raises(PassFailed, match="Registry: Request timed out"):
            await stage.reconcile()
        assert stage.peer.told == ["PUT weights/status"]


async def test_an_object_without_a_spec_is_told_so() -> None:
    async with staged(concept(READY, plan=Plan(apply=(claim("a"),)))) as stage:
        stage.put(spec=False)
        assert await stage.reconcile() is None
        assert stage.peer.told == ["PUT weights/status"]
        spec = next(one for one in stage.status().conditions if one.type == "SpecReady")
        assert spec.message == "spec is missing; write what you want"


async def test_a_quantity_that_only_looks_like_one_is_told() -> None:
    def observe(*_: Any) -> Any:
        quantity.parse("1e1.5")

    async with staged(dataclasses.replace(concept(READY), observe=observe)) as stage:
        stage.put()
        assert await stage.reconcile() is None
        spec = next(one for one in stage.status().conditions if one.type == "SpecReady")
        assert (spec.reason, "'1e1.5' is no quantity" in spec.message) == ("InvalidSpec", True)


async def test_an_object_that_is_gone_is_no_work() -> None:
    async with staged(concept(READY)) as stage:
        assert await stage.reconcile() is None
        assert stage.peer.told == []


async def test_one_object_whose_pass_breaks_does_not_stop_the_others() -> None:
    def observe(item: Any, *_: Any) -> View:
        if item.metadata.name == KEY.name:
            raise ZeroDivisionError("a mistake of ours")
        return View((READY,))

    async with staged(concept(observe=observe)) as stage:
        controller = Controller("artifact", stage.pipeline.informer, stage.pipeline.reconcile, workers=1)
        stage.put(1)
        stage.put(2, name="other", uid="o")
        async with asyncio.timeout(120), asyncio.TaskGroup() as group:
            running = group.create_task(controller.run())
            while not any("other" in write for write in stage.peer.told):
                await asyncio.sleep(0.01)
            controller.stop()
            await asyncio.wait([running])
        assert set(stage.peer.told) == {"PUT other/status"}


def test_an_error_reads_the_same_in_every_try() -> None:
    first = Unreachable("can't apply jobs a/b: read tcp 10.0.0.1:40312->10.0.0.2:443: connection reset")
    second = Unreachable("can't apply jobs a/b: read tcp 10.0.0.1:51000->10.0.0.2:443: connection reset")
    assert told(first) == told(second) == "can't apply jobs a/b: read tcp 10.0.0.1:*->10.0.0.2:443: connection reset"
