"""The cache of a service, as a decision on values: modes, names, mounts."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.artifact import CacheMode
from aim_engine.api.service import AIMService, AIMServiceSpec, CachingMode
from aim_engine.api.template import AIMClusterServiceTemplate, AIMServiceTemplate
from aim_engine.api.template_cache import AIMTemplateCache, TemplateScope
from aim_engine.core import service, service_cache

SERVICE = service.of(
    msgspec.convert(
        {
            "metadata": {"name": "qwen-chat", "namespace": "ml-team", "uid": "3f0c8f1e-5a70-4a0b-9a57-0d6c1f8f2b11"},
            "spec": {"model": {"name": "m"}},
        },
        AIMService,
    )
)


def template(name: str, kind: Any = AIMServiceTemplate) -> Any:
    return msgspec.convert({"metadata": {"name": name}, "spec": {"modelName": "m"}}, kind)


def cache(name: str, of: str, scope: str = "Namespace", artifacts: Any = None, **status: Any) -> AIMTemplateCache:
    content = {
        "metadata": {"name": name, "namespace": "ml-team"},
        "spec": {"templateName": of, "templateScope": scope, "mode": "Shared"},
        "status": {"artifacts": artifacts or {}, **status},
    }
    return msgspec.convert(content, AIMTemplateCache)


@pytest.mark.parametrize(
    ("spec", "mode", "made"),
    [
        pytest.param({}, CachingMode.AUTO, CacheMode.DEDICATED, id="nothing said"),
        pytest.param({"caching": {}}, CachingMode.AUTO, CacheMode.DEDICATED, id="caching without a mode"),
        pytest.param({"cacheModel": True}, CachingMode.ALWAYS, CacheMode.SHARED, id="cacheModel true"),
        pytest.param({"cacheModel": False}, CachingMode.NEVER, CacheMode.DEDICATED, id="cacheModel false"),
        pytest.param({"cacheModel": True, "caching": {}}, CachingMode.AUTO, CacheMode.DEDICATED, id="caching decides"),
    ],
)
def test_which_mode_counts(spec: Any, mode: CachingMode, made: CacheMode) -> None:
    found = service_cache.mode(msgspec.convert({"model": {"name": "m"}, **spec}, AIMServiceSpec))
    assert (found, service_cache.made_mode(found)) == (mode, made)


PLAIN = "qwen3-32b-mi300x-lat-a04542d9"


@pytest.mark.parametrize(
    ("mode", "caches", "name"),
    [
        pytest.param(CachingMode.SHARED, [], PLAIN, id="shared"),
        pytest.param(CachingMode.AUTO, [], "qwen3-32b-mi300x-lat-qwen-chat-19697bb0", id="for itself"),
        pytest.param(
            CachingMode.SHARED, [cache(PLAIN, "qwen3-32b-mi300x-lat")], PLAIN, id="its own name is not in the way"
        ),
    ],
)
def test_names_of_caches(mode: CachingMode, caches: list[AIMTemplateCache], name: str) -> None:
    assert service_cache.made_name(SERVICE, template("qwen3-32b-mi300x-lat"), mode, caches) == name


def test_shared_caches_of_like_names_and_of_two_scopes_stay_apart() -> None:
    first = service_cache.made_name(SERVICE, template("a-b"), CachingMode.SHARED, [])
    caches = [cache(first, "a-b")]
    others = [template("a.b"), template("a-b", AIMClusterServiceTemplate)]
    names = [service_cache.made_name(SERVICE, one, CachingMode.SHARED, caches) for one in others]
    assert len({first, *names}) == 3
    assert all(name.startswith("a-b-") for name in names)


@pytest.mark.parametrize(
    ("written", "kind", "scope", "is_found"),
    [
        pytest.param("Namespace", None, TemplateScope.NAMESPACE, True, id="the scope it says"),
        pytest.param("Namespace", None, TemplateScope.CLUSTER, False, id="not the other"),
        pytest.param("Unknown", None, TemplateScope.CLUSTER, True, id="unknown, and nobody found out"),
        pytest.param("Unknown", "AIMServiceTemplate", TemplateScope.CLUSTER, False, id="unknown, but found out"),
        pytest.param(
            "Unknown", "AIMClusterServiceTemplate", TemplateScope.CLUSTER, True, id="unknown, and found to be it"
        ),
    ],
)
def test_the_scope_of_a_cache(written: str, kind: str | None, scope: TemplateScope, is_found: bool) -> None:
    one = cache("c", "t", written, resolvedTemplateKind=kind)
    assert (service_cache.find(SERVICE, CachingMode.SHARED, "t", scope, [one]) is one) == is_found


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        pytest.param({"model": "Qwen/Qwen2-0.5B"}, "/workspace/model-cache/Qwen/Qwen2-0.5B", id="by its model"),
        pytest.param({"model": "m", "mountPoint": "/mnt/own"}, "/mnt/own", id="where it says"),
        pytest.param({"model": "../../etc"}, "/workspace/model-cache///etc", id="never out of the folder"),
        pytest.param({"model": "."}, "/workspace/model-cache/down-load", id="its own name if the model has none"),
        pytest.param({"model": ""}, "/workspace/model-cache/down-load", id="and if there is no model"),
    ],
)
def test_where_weights_are_mounted(entry: Any, path: str) -> None:
    whole = {"uid": "u", "name": "down.load", "status": "Ready", "persistentVolumeClaim": "c", **entry}
    volumes, mounts = service_cache.mounts(cache("c", "t", artifacts={"x": whole}))
    assert volumes == ({"name": "down-load", "persistentVolumeClaim": {"claimName": "c"}},)
    assert mounts == ({"name": "down-load", "mountPath": path},)


ENTRIES = st.fixed_dictionaries(
    {
        "uid": st.just("u"),
        "name": st.sampled_from(["a.b", "a-b", "a_b", "c"]),
        "model": st.sampled_from(["one", "two", "../one", ""]),
        "status": st.sampled_from(["Ready", "Ready", "Failed"]),
        "persistentVolumeClaim": st.sampled_from(["p", "q", ""]),
    }
)


@given(st.dictionaries(st.sampled_from("pqrs"), ENTRIES))
def test_no_volume_and_no_path_stands_twice_and_each_mount_has_its_volume(entries: Any) -> None:
    volumes, mounts = service_cache.mounts(cache("c", "t", artifacts=entries))
    names, paths = [one["name"] for one in volumes], [one["mountPath"] for one in mounts]
    assert len(set(names)) == len(names)
    assert len(set(paths)) == len(paths)
    assert [one["name"] for one in mounts] == names
    assert all(one["persistentVolumeClaim"]["claimName"] for one in volumes)
