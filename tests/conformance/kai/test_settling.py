"""Every small cluster comes to rest, and no gang is stopped that must not be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.kai import schema as kai
from conformance.kai.drive import Drive, History
from conformance.kai.random_clusters import AFTER, play
from ganglion.specs.policy.policy import resolve_policy

SETTLE = 14
"""Cycles within which everything must have come to rest."""

RACKS = kai.Topology("t", ("zone", "rack"))


@st.composite
def nodes(draw: st.DrawFn) -> tuple[kai.Node, ...]:
    sizes = draw(st.lists(st.sampled_from((1, 2, 4, 4, 8)), min_size=2, max_size=5))
    return tuple(
        kai.Node(f"n{i}", gpus=size, labels={"zone": f"z{i % 2}", "rack": f"r{i // 2}"})
        for i, size in enumerate(sizes)
    )


@st.composite
def queues(draw: st.DrawFn, total: int) -> tuple[kai.Queue, ...]:
    amount = st.integers(0, total)
    parents = [f"p{i}" for i in range(draw(st.integers(0, 2)))]
    leaves = [f"q{i}" for i in range(draw(st.integers(2, 4)))]

    def queue(name: str, parent: str | None) -> kai.Queue:
        limit = draw(st.none() | st.integers(1, total))
        bound = kai.Bound(draw(amount), float(draw(st.integers(0, 3))), limit)
        return kai.Queue(name, parent, bound, priority=draw(st.sampled_from((50, 100))))

    above = [queue(name, None) for name in parents]
    return (*above, *(queue(n, draw(st.sampled_from(parents or [None]))) for n in leaves))


@st.composite
def cases(draw: st.DrawFn) -> kai.Case:
    """A cluster with queues, some of whose jobs run."""
    fleet = draw(nodes())
    tree = draw(queues(sum(node.gpus for node in fleet)))
    free = {node.name: node.gpus for node in fleet}
    leaves = [each.name for each in tree if not each.name.startswith("p")]
    jobs = [draw(job(f"j{i}", i, leaves, free)) for i in range(draw(st.integers(3, 12)))]
    return kai.Case("drawn", fleet, tree, tuple(jobs), topologies=(RACKS,))


@st.composite
def job(
    draw: st.DrawFn, name: str, number: int, leaves: list[str], free: dict[str, int]
) -> kai.Job:
    """A job; the GPUs of one that runs are taken off `free`."""
    priority = draw(st.sampled_from((50, 50, 75, 100)))
    common = (name, draw(st.sampled_from(leaves)))
    age = float(100 - number)
    if draw(st.integers(0, 6)) == 0:
        share = draw(st.sampled_from((0.3, 0.5, 0.6)))
        return kai.Job(
            *common, (kai.Task(),), priority, age_minutes=age, gpu_fraction_per_task=share
        )
    gpus, pods = draw(st.sampled_from((1, 1, 2, 4))), draw(st.integers(1, 4))
    places = seats(gpus, pods, free) if draw(st.booleans()) else []
    for node in places:
        free[node] -= gpus
    tasks = tuple(kai.Task("running", node) for node in places) or (kai.Task(count=pods),)
    bound = not places and draw(st.integers(0, 4)) == 0
    return kai.Job(
        *common,
        tasks,
        priority,
        age_minutes=age,
        gpus_per_task=gpus,
        min_member=draw(st.sampled_from((1, pods))),
        topology_constraint=kai.Constraint("t", required="rack") if bound else None,
    )


def seats(gpus: int, pods: int, free: dict[str, int]) -> list[str]:
    """Nodes for this number of pods, the emptiest first; none when they do not all fit."""
    left, found = dict(free), []
    for _ in range(pods):
        node = max(left, key=lambda each: left[each])
        if left[node] < gpus:
            return []
        left[node] -= gpus
        found.append(node)
    return found


@pytest.mark.parametrize("policy", ["default", "kai", "slurm-like"])
@given(case=cases())
def test_every_cluster_comes_to_rest(policy: str, case: kai.Case) -> None:
    drive, history = Drive(case, resolve_policy(policy).policy), History()
    assert not play(drive, history, SETTLE, AFTER)
    priorities = {each.name: each.priority for each in case.jobs}
    stopped = {name for cycle in (*history.evicted, *history.moved) for name in cycle}
    assert [name for name in sorted(stopped) if priorities[name.partition("/")[0]] >= 100] == []
