"""Gangs that want the same nodes, and gangs whose pods come one by one or go again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import pytest

from benchmarks.controlplane.flags import Options
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.crds import definitions
from tests.worlds.kubernetes.gangs.played import Space
from tests.worlds.kubernetes.scheduling import scheduling
from tests.worlds.kubernetes.troubled import Witness, overbooked

Body = dict[str, Any]


class Mark(NamedTuple):
    """How pods say that they are a gang of three."""

    labels: dict[str, str] = {}  # noqa: RUF012 - never changed
    notes: dict[str, str] = {}  # noqa: RUF012 - never changed
    group: str = ""
    """Version of the PodGroup that says how many they are; empty = they say it themselves."""


MARKS = {
    "ours": Mark({"ganglion.dev/gang": "g"}, {"ganglion.dev/gang-size": "3"}),
    "kueue": Mark(
        {"kueue.x-k8s.io/pod-group-name": "g"}, {"kueue.x-k8s.io/pod-group-total-count": "3"}
    ),
    "coscheduling": Mark(
        {"scheduling.x-k8s.io/pod-group": "g"}, group="scheduling.x-k8s.io/v1alpha1"
    ),
    "volcano": Mark(
        notes={"scheduling.k8s.io/group-name": "g"}, group="scheduling.volcano.sh/v1beta1"
    ),
    "kai": Mark(notes={"pod-group-name": "g"}, group="scheduling.run.ai/v2alpha2"),
}


def member(index: int, mark: Mark, name: str = "p") -> Body:
    return w.bare(f"{name}-{index}", labels=mark.labels, annotations=mark.notes)


def test_nothing_is_bound_before_the_last_pod_of_a_group_is_there(cluster: Cluster) -> None:
    cluster.define(*definitions())
    spaces = {name: Space(cluster, f"by-{name}") for name in MARKS}
    with scheduling(cluster):
        for name, mark in MARKS.items():
            spaces[name].add_nodes(3)
            if mark.group:
                spaces[name].create(w.thing(mark.group, "PodGroup", "g", {"minMember": 3}))
        for count in range(2):
            for name, mark in MARKS.items():
                spaces[name].create(member(count, mark))
            for space in spaces.values():
                space.wait(partial(counted, space, count + 1), "pods that say how many there are")
                assert not space.bound()
        for name, mark in MARKS.items():
            spaces[name].create(member(2, mark))
        for space in spaces.values():
            space.wait_bound(3)


def test_groups_of_every_kind_wait_whole_for_room(cluster: Cluster) -> None:
    cluster.define(*definitions())
    spaces = {name: Space(cluster, f"by-{name}") for name in MARKS}
    with scheduling(cluster):
        for name, mark in MARKS.items():
            spaces[name].add_nodes(2)
            for index in range(3):
                spaces[name].create(member(index, mark))
            if mark.group:
                spaces[name].create(w.thing(mark.group, "PodGroup", "g", {"minMember": 3}))
        for space in spaces.values():
            space.wait(partial(no_room, space), "three pods that say there is no room")
            assert not space.bound()
            space.add_nodes(1)
        for space in spaces.values():
            space.wait_bound(3)


def counted(space: Space, pods: int) -> bool:
    """Whether this number of pods is there and all pods name this number."""
    found = space.reasons().values()
    return len(found) == pods and all(f"{pods} of" in why for why in found)


def no_room(space: Space) -> bool:
    """Whether three pods say that their gang is complete and has no place."""
    found = space.reasons().values()
    return len(found) == 3 and all(why.startswith("capacity: ") for why in found)


def test_the_group_of_upstream_waits_whole_for_room(
    another_cluster: Callable[[Options], Cluster],
) -> None:
    gates = ("GenericWorkload=true", "GangScheduling=true")
    cluster = another_cluster(Options(gates=gates, all_apis=True))
    space = Space(cluster, "by-upstream")
    space.add_nodes(2)
    with scheduling(cluster):
        policy = {"schedulingPolicy": {"gang": {"minCount": 3}}}
        space.create(w.thing("scheduling.k8s.io/v1alpha2", "PodGroup", "g", policy))
        for index in range(3):
            pod = w.bare(f"p-{index}")
            pod["spec"]["schedulingGroup"] = {"podGroupName": "g"}
            space.create(pod)
        space.wait_told(3)
        space.add_nodes(1)
        space.wait_bound(3)


def of(name: str, size: int) -> list[Body]:
    """The pods of a gang."""
    mark = Mark({"ganglion.dev/gang": name}, {"ganglion.dev/gang-size": str(size)})
    return [member(index, mark, name) for index in range(size)]


def whole(space: Space, sizes: dict[str, int]) -> set[str]:
    """Gangs that are bound whole; empty while some gang is bound in part.

    All pods are read at one time: those of a gang are bound one after the other.
    """
    bound = set(space.bound())
    gangs = {name: {f"{name}-{i}" for i in range(size)} for name, size in sizes.items()}
    if any(each & bound and not each <= bound for each in gangs.values()):
        return set()
    return {name for name, each in gangs.items() if each <= bound}


@pytest.mark.parametrize("how", ["one after the other", "pod by pod", "all at once"])
def test_of_two_gangs_that_want_the_same_nodes_one_starts_whole(cluster: Cluster, how: str) -> None:
    space = Space(cluster, "race")
    space.add_nodes(5)
    sizes = {"a": 3, "b": 3}
    one, other = of("a", 3), of("b", 3)
    mixed = [each for each in chain.from_iterable(zip_longest(one, other)) if each]
    with scheduling(cluster):
        if how == "all at once":
            with ThreadPoolExecutor(6) as pool:
                list(pool.map(space.create, mixed))
        else:
            for each in mixed if how == "pod by pod" else one + other:
                space.create(each)
        space.wait_bound(3)
        space.wait_waiting(3)
        (winner,) = whole(space, sizes)
        for name in list(space.bound()):
            space.delete_pod(name)
        space.wait_bound(3)
        (second,) = whole(space, sizes)
        assert {winner, second} == set(sizes)


def test_a_crowd_of_gangs_takes_turns_and_none_is_ever_torn(cluster: Cluster) -> None:
    space = Space(cluster, "crowd")
    space.add_nodes(7)
    sizes = {f"g{number}": 2 + number % 3 for number in range(9)}
    pods = [pod for name, size in sizes.items() for pod in of(name, size)]
    done: set[str] = set()
    with scheduling(cluster), Witness(lambda: overbooked(cluster)):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(space.create, pods[::2] + pods[1::2]))
        while len(done) < len(sizes):
            for name in space.wait(lambda: whole(space, sizes), "whole gangs and none in part"):
                done.add(name)
                for index in range(sizes[name]):
                    space.delete_pod(f"{name}-{index}")
