"""Pods that find their node again keep their number; no pod is lost or doubled."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.placement.renumber import renumbered
from ganglion.model.placement import Placement, PodPlacement


def at(*nodes: str, name: str = "w", first: int = 0) -> Placement:
    pods = (PodPlacement(name, first + i, node, (i,), 1000) for i, node in enumerate(nodes))
    return Placement(tuple(pods))


def where(placement: Placement) -> dict[int, str]:
    return {pod.index: pod.node for pod in placement.pods}


def test_who_can_stay_keeps_its_number() -> None:
    assert where(renumbered(at("a", "b"), at("b", "c"))) == {0: "c", 1: "b"}


def test_gaps_in_the_numbers_stay() -> None:
    old = Placement((PodPlacement("w", 0, "a"), PodPlacement("w", 5, "b")))
    assert where(renumbered(old, at("b", "a"))) == {0: "a", 5: "b"}


def test_another_size_is_numbered_as_it_comes() -> None:
    assert where(renumbered(at("a", "b"), at("c"))) == {0: "c"}


NODES = st.sampled_from("abc")
SIZED = st.integers(1, 6).flatmap(
    lambda n: st.tuples(*(st.lists(NODES, min_size=n, max_size=n) for _ in range(2)))
)


@given(SIZED)
def test_the_places_are_the_same_and_the_numbers_too(nodes: tuple[list[str], list[str]]) -> None:
    old, new = at(*nodes[0], first=3), at(*nodes[1])
    found = renumbered(old, new)
    assert [pod.index for pod in found.pods] == [pod.index for pod in old.pods]
    assert sorted((p.node, p.devices) for p in found.pods) == sorted(
        (p.node, p.devices) for p in new.pods
    )
    stay = sum(where(old)[index] == node for index, node in where(found).items())
    most = sum(min(nodes[0].count(node), nodes[1].count(node)) for node in "abc")
    assert stay == most
