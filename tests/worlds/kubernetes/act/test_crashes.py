"""A scheduler that dies at any write to a real API server, and the one that comes after it."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec
import pytest
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import writes
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.act.real import QUICK, on, path, run_pod

from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes.act.bind import BindOrder
from ganglion.worlds.kubernetes.act.calls import Pace
from ganglion.worlds.kubernetes.act.outcome import ref_of
from ganglion.worlds.kubernetes.act.perform import carry_out, perform
from ganglion.worlds.kubernetes.act.resume import Seen, resume
from ganglion.worlds.kubernetes.act.standing import Standing
from ganglion.worlds.kubernetes.act.steps import Await, Phase, Victim, preemption
from ganglion.worlds.kubernetes.gangs.found import Found, FoundSet, Member
from ganglion.worlds.kubernetes.objects.pod import Pod

GPUS = 8
GANG = "ganglion.dev/gang"
WRITES = 8
"""Two promises, two marks, two evictions, two bindings."""


def pods(cluster: Cluster) -> dict[str, Pod]:
    return {name: msgspec.convert(each, Pod) for name, each in cluster.pods("default").items()}


def found(cluster: Cluster) -> list[Found]:
    """The gangs on the cluster, by their label alone."""
    members = defaultdict(list)
    for name, each in sorted(pods(cluster).items()):
        index = int(name.rpartition("-")[2])
        members[each.metadata.labels[GANG]].append(Member(each, "main", index))
    return [
        Found(
            key=key,
            workload=key,
            name=key,
            namespace="default",
            kind=Kind.TRAIN,
            queue="",
            priority=0,
            preemptible=True,
            preempts=True,
            sets=(FoundSet("main", 2, 2, Pod(), upfront=2),),
            members=tuple(its),
        )
        for key, its in members.items()
    ]


def seen(cluster: Cluster) -> Seen:
    gangs = found(cluster)
    standing = {each.key: Standing(each, {}) for each in gangs}

    def room(key: str, without: frozenset[str]) -> bool:
        held = Counter(
            m.pod.spec.node_name
            for gang in standing.values()
            for m in (*gang.bound, *gang.leaving)
            if m.pod.metadata.uid not in without
        )
        held.update(standing[key].place_of(m) for m in standing[key].promised)
        return all(held[f"node-{index}"] <= 1 for index in (0, 1))

    return Seen(gangs, room)


def planned(cluster: Cluster) -> tuple[Phase, ...]:
    """A gang of two takes two nodes from another."""
    cluster.add_nodes(2, gpus=GPUS)
    cluster.add_gang("new", 2, gpus=GPUS)
    for index, each in enumerate(manifests.gang("old", 2, gpus=GPUS)):
        each["spec"]["nodeName"] = f"node-{index}"
        cluster.create(each)
        run_pod(cluster, f"old-{index}")
    now = pods(cluster)
    orders = [
        BindOrder("default", f"new-{i}", now[f"new-{i}"].metadata.uid, f"node-{i}") for i in (0, 1)
    ]
    return preemption("new", orders, [Victim(ref_of(now[f"old-{i}"])) for i in (0, 1)])


def time_passes(cluster: Cluster) -> None:
    """Kubelets let go who was told to; controllers make anew what is missing."""
    for name, each in pods(cluster).items():
        if each.is_leaving:
            cluster.delete(path(name), grace=0)
    missing = {f"old-{index}" for index in (0, 1)} - cluster.pods("default").keys()
    for each in manifests.gang("old", 2, gpus=GPUS):
        if each["metadata"]["name"] in missing:
            cluster.create(each)


def die_at(cluster: Cluster, proxy: Proxy, phases: Sequence[Phase], *, taken: bool) -> None:
    """Carry out phases until a write is lost, and no further."""
    alive = [True]
    proxy.at_write(1, alive.clear, forwarded=taken)
    pace = Pace(tries=1, at_once=1, may=lambda: bool(alive))
    on(proxy.kubeconfig(), lambda api: carry_out(api, phases, pace))
    assert not alive


def recover(cluster: Cluster) -> None:
    for _ in range(30):
        before = pods(cluster)
        steps = resume(seen(cluster))
        on(cluster.kubeconfig, lambda api, steps=steps: perform(api, steps, QUICK))
        time_passes(cluster)
        if not steps and pods(cluster) == before:
            return
    raise AssertionError(f"no end: {resume(seen(cluster))}")


def before_write(cluster: Cluster, nth: int) -> list[Phase]:
    """Do all writes before the `nth`; what is left of the phases."""
    phases = [list(phase) for phase in planned(cluster)]
    done = 0
    while phases:
        if isinstance(phases[0][0], Await):
            time_passes(cluster)
            phases.pop(0)
        elif done + 1 == nth:
            return [tuple(phase) for phase in phases]
        else:
            step = phases[0].pop(0)
            on(cluster.kubeconfig, lambda api, step=step: perform(api, [step], QUICK))
            done += 1
            phases = phases if phases[0] else phases[1:]
    raise AssertionError(f"there are only {done} writes")


@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("nth", range(1, WRITES + 1))
def test_whoever_comes_after_finishes_or_takes_back(
    cluster: Cluster, proxy: Proxy, nth: int, taken: bool
) -> None:
    left = before_write(cluster, nth)
    die_at(cluster, proxy, left, taken=taken)
    told = any(each.is_leaving for each in pods(cluster).values())
    bound = cluster.bound()
    recover(cluster)
    ends = cluster.bound()
    assert ends in (
        {"old-0": "node-0", "old-1": "node-1"},
        {"new-0": "node-0", "new-1": "node-1"},
    )
    if told or bound.keys() != {"old-0", "old-1"}:
        assert ends == {"new-0": "node-0", "new-1": "node-1"}
    for each in pods(cluster).values():
        assert not each.status.nominated_node_name
        target = each.condition("DisruptionTarget")
        assert target is None or not each.spec.node_name
    assert set(pods(cluster)) == {"new-0", "new-1", "old-0", "old-1"}


@pytest.mark.parametrize("nth", range(1, WRITES - 1))
def test_one_lost_answer_stops_nothing(cluster: Cluster, proxy: Proxy, nth: int) -> None:
    phases = planned(cluster)
    lost = proxy.swallow(writes, nth=nth)
    waiting = on(proxy.kubeconfig(), lambda api: carry_out(api, phases, QUICK))
    assert not lost.times
    assert not waiting.failed
    time_passes(cluster)
    done = on(proxy.kubeconfig(), lambda api: carry_out(api, waiting.left[1:], QUICK))
    assert not done.failed
    assert cluster.bound() == {"new-0": "node-0", "new-1": "node-1"}
