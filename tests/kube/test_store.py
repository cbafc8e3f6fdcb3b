"""The store and its indexes."""

from hypothesis import given
from hypothesis import strategies as st
from tests.kube.world import Toy, ToySpec, key

from aim_engine.kube.store import Store
from aim_engine.objects import ObjectMeta, OwnerReference


def item(name: str, version: int, size: int = 0, label: str = "", owner: str = "") -> Toy:
    references = (OwnerReference(api_version="v1", kind="X", name="x", uid=owner),) if owner else ()
    labels = {"colour": label} if label else {}
    metadata = ObjectMeta(
        namespace="team", name=name, resource_version=str(version), labels=labels, owner_references=references
    )
    return Toy(metadata=metadata, spec=ToySpec(size=size))


def test_an_older_version_never_replaces_a_newer_one():
    store: Store[Toy] = Store()
    store.put(item("a", 100, 1))
    assert store.put(item("a", 99, 2)) is None
    assert store.put(item("a", 100, 2)) is None
    change = store.put(item("a", 101, 3))
    assert change and change.old and change.new and (change.old.spec.size, change.new.spec.size) == (1, 3)


def test_a_deletion_from_before_what_is_known_is_not_believed():
    store: Store[Toy] = Store()
    store.put(item("a", 100))
    assert store.drop(key("a"), as_of=99) is None
    assert store.drop(key("a"), as_of=100) is not None
    assert store.drop(key("a")) is None


def test_an_index_made_late_knows_what_was_there():
    store: Store[Toy] = Store()
    store.put(item("b", 1, 7))
    store.put(item("a", 2, 7))
    by_size = store.index(lambda toy: [toy.spec.size])
    assert [toy.metadata.name for toy in by_size[7]] == ["a", "b"]
    assert by_size[8] == []


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.one_of(
            st.none(), st.tuples(st.integers(0, 2), st.sampled_from(["", "red", "blue"]), st.sampled_from(["", "u"]))
        ),
    )
)


@given(OPERATIONS)
def test_indexes_say_what_a_look_at_every_object_would(operations: list[tuple[str, tuple[int, str, str] | None]]):
    store: Store[Toy] = Store()
    by_size = store.index(lambda toy: [toy.spec.size, -toy.spec.size] if toy.spec.size else [])
    store.labelled("colour", "red")
    for version, (name, content) in enumerate(operations):
        if content is None:
            store.drop(key(name))
        else:
            store.put(item(name, version, *content))
    everything = sorted(store, key=lambda toy: toy.metadata.key)
    for size in (0, 1, -2):
        assert by_size[size] == [toy for toy in everything if toy.spec.size and abs(size) == toy.spec.size]
    for colour in ("red", "blue"):
        expected = [toy for toy in everything if toy.metadata.labels.get("colour") == colour]
        assert store.labelled("colour", colour) == expected
    assert store.owned_by("u") == [toy for toy in everything if toy.metadata.owner_references]
    assert store.in_namespace("team") == everything
    assert store.in_namespace("other") == []
