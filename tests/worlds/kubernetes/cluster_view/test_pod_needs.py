"""What is remembered of pods is never an older one's."""

from typing import Any

import pytest

from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.cluster_view.pod_needs import Asks
from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.worlds.kubernetes.feasibility.make import pod


def asking(gpus: object, **spec: Any) -> Pod:
    box = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": gpus}}}
    return pod("one", containers=[box], **spec)


def test_what_a_pod_takes_is_worked_out_once() -> None:
    seen = asking(2)
    asks = Asks({"one": seen}, PodIndex())
    assert asks.of(seen) is asks.of(seen)
    assert asks.of(seen).gpus == 2


def test_another_pod_of_that_uid_is_not_taken_for_the_one_that_is_known() -> None:
    seen, meant = asking(2), asking(8)
    asks = Asks({"one": seen}, PodIndex())
    assert [asks.of(each).gpus for each in (seen, meant, seen)] == [2, 8, 2]


def test_a_pod_that_has_changed_is_asked_again() -> None:
    pods = {"one": asking(2)}
    asks = Asks(pods, PodIndex())
    assert asks.of(pods["one"]).gpus == 2
    pods["one"] = asking(3)
    asks.forget("one")
    assert asks.of(pods["one"]).gpus == 3


def test_the_needs_of_a_pod_on_a_node_are_those_that_others_see() -> None:
    seen, crowd = asking(1, hostNetwork=True), PodIndex()
    asks = Asks({"one": seen}, crowd)
    assert asks.needs(seen) == needs_of(seen)
    crowd.put(seen, "node-0")
    assert asks.needs(seen) is crowd.needs("one")


def test_a_quantity_that_is_none_is_said() -> None:
    odd = asking("many")
    with pytest.raises(InputError, match="many"):
        Asks({}, PodIndex()).of(odd)
