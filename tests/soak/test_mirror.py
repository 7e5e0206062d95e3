"""What is over-allocated or torn at one revision is counted, though the next one is well again."""

import pytest

from tests.controlplane import manifests
from tests.controlplane.amounts import amounts
from tests.controlplane.manifests import Object
from tests.soak.mirror import Books

HALF = {"ganglion.dev/gpu-fraction": "0.5"}


def _books() -> Books:
    node = manifests.node("n", gpus=2, cpu="4")
    return Books({"n": amounts(node["status"]["allocatable"])})


def _pod(name: str, node: str = "n", phase: str = "Running", **more: object) -> Object:
    found = manifests.pod(name, nodeName=node, **more)
    found["metadata"]["uid"] = name
    return found | {"status": {"phase": phase}}


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"gpus": 2}, "n: nvidia.com/gpu 3000 of 2000"),
        ({"gpus": 0, "cpu": "3500m"}, "n: cpu 4500 of 4000"),
    ],
)
def test_what_a_node_does_not_have_is_over_allocated(more: dict[str, object], wrong: str) -> None:
    books = _books()
    books.put(_pod("a"), 0)
    assert not books.over
    books.put(_pod("b", **more), 1)
    assert books.over == [wrong]
    books.put(_pod("b", phase="Succeeded", **more), 2)
    books.put(_pod("c"), 3)
    assert (books.overs, len(books.over)) == (1, 1)


def test_parts_of_a_device_are_added_up() -> None:
    books = _books()
    notes = [HALF | {"ganglion.dev/devices": device} for device in "0011"]
    for number, each in enumerate(notes):
        books.put(_pod(f"p{number}", gpus=0, cpu="1m", annotations=each), 0)
    assert not books.over
    books.put(_pod("more", gpus=0, cpu="1m", annotations=notes[0]), 1)
    assert books.over == ["n: device 0: 1500"]
    books.put(_pod("whole", cpu="1m"), 2)
    assert books.over[1] == "n: nvidia.com/gpu 3000 of 2000; device 0: 1500"


def test_a_gang_is_half_while_some_of_its_living_pods_have_no_node() -> None:
    books = _books()
    gang = {"labels": {"ganglion.dev/gang": "g"}, "cpu": "1m"}
    books.put(_pod("a", "", "Pending", **gang), 0)
    books.put(_pod("b", "", "Pending", **gang), 1)
    assert books.halves() == {}
    books.put(_pod("a", **gang), 2)
    assert books.halves() == {"g": ["b"]}
    books.put(_pod("b", **gang), 5)
    assert (books.halves(), books.longest_half_s) == ({}, 3)
    books.drop("b", 6)
    books.put(_pod("c", "", "Pending", **gang), 7)
    books.put(_pod("a", phase="Succeeded", **gang), 9)
    assert (books.halves(), books.longest_half_s) == ({}, 3)


def test_pods_that_are_not_listed_any_more_hold_nothing() -> None:
    books = _books()
    books.put(_pod("a", gpus=2), 0)
    books.replace([_pod("b", gpus=2)], 1)
    assert not books.over
    assert set(books.pods) == {"b"}
