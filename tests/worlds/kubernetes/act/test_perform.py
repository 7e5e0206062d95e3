"""Whole starts and preemptions on a real API server, phase by phase."""

from collections.abc import Sequence

import msgspec
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import on as requests
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.act.real import QUICK, on, path, pod, ref, run_pod

from ganglion.worlds.kubernetes.act.bind import BindOrder
from ganglion.worlds.kubernetes.act.calls import Pace
from ganglion.worlds.kubernetes.act.conditions import victim_of
from ganglion.worlds.kubernetes.act.outcome import Verdict
from ganglion.worlds.kubernetes.act.perform import Progress, carry_out, perform
from ganglion.worlds.kubernetes.act.steps import (
    Await,
    Phase,
    Place,
    Spare,
    TakeApart,
    Unsuspend,
    Victim,
    Withdraw,
    preemption,
)
from ganglion.worlds.kubernetes.gangs.found import Owner
from ganglion.worlds.kubernetes.objects.meta import Meta

JOB = "/apis/batch/v1/namespaces/default/jobs/j"
BIG = "default/Job/big/u-1"


def carried(cluster: Cluster, phases: Sequence[Phase], via: Proxy | None = None) -> Progress:
    kubeconfig = via.kubeconfig() if via else cluster.kubeconfig
    return on(kubeconfig, lambda api: carry_out(api, phases, QUICK))


def planned(cluster: Cluster, owners: Sequence[Owner] = ()) -> tuple[Phase, ...]:
    """Two pods take the places of two others."""
    cluster.add_nodes(2)
    cluster.add_pods(2, prefix="new")
    for index in (0, 1):
        name = f"old-{index}"
        cluster.create(manifests.pod(name, nodeName=f"node-{index}"))
        run_pod(cluster, name)
    orders = [
        BindOrder("default", name, ref(cluster, name).uid, f"node-{index}")
        for index, name in enumerate(("new-0", "new-1"))
    ]
    victims = [Victim(ref(cluster, f"old-{index}"), 60) for index in (0, 1)]
    return preemption(BIG, orders, victims, owners)


def nominated(cluster: Cluster) -> list[str]:
    return [pod(cluster, f"new-{index}").status.nominated_node_name for index in (0, 1)]


def job(cluster: Cluster) -> Owner:
    (made,) = cluster.create(manifests.job("j"))
    meta = msgspec.convert(made["metadata"], Meta)
    switch = ("spec", "suspend")
    return Owner("batch/v1", "Job", meta.namespace, meta.name, meta.uid, JOB, switch)


def test_a_preemption_goes_through_its_phases(cluster: Cluster) -> None:
    owner = job(cluster)
    waiting = carried(cluster, planned(cluster, [owner]))
    assert not waiting.failed
    assert isinstance(waiting.left[0][0], Await)
    assert nominated(cluster) == ["node-0", "node-1"]
    for name in ("old-0", "old-1"):
        assert pod(cluster, name).is_leaving
        assert victim_of(pod(cluster, name)) == BIG
        cluster.delete(path(name), grace=0)
    assert cluster.get(JOB)["spec"]["suspend"] is True
    done = carried(cluster, waiting.left[1:])
    assert (done.left, done.failed) == ((), False)
    assert cluster.bound() == {"new-0": "node-0", "new-1": "node-1"}
    on(cluster.kubeconfig, lambda api: perform(api, [Unsuspend(owner)], QUICK))
    assert cluster.get(JOB)["spec"]["suspend"] is False


def test_no_victim_is_marked_when_a_promise_cannot_be_made(cluster: Cluster) -> None:
    phases = planned(cluster)
    cluster.delete(path("new-1"), grace=0)
    stopped = carried(cluster, phases)
    assert stopped.failed
    assert stopped.left == phases
    assert all(victim_of(pod(cluster, name)) is None for name in ("old-0", "old-1"))


def test_no_victim_is_told_when_another_cannot_be_marked(cluster: Cluster, proxy: Proxy) -> None:
    phases = planned(cluster)
    marks = requests("PATCH", "/old-1/status$")
    proxy.fail(marks, 503, times=10)
    stopped = carried(cluster, phases, via=proxy)
    assert stopped.failed
    assert stopped.left == phases[1:]
    assert not any(pod(cluster, name).is_leaving for name in ("old-0", "old-1"))
    proxy.heal()
    assert not carried(cluster, stopped.left).failed
    assert all(pod(cluster, name).is_leaving for name in ("old-0", "old-1"))


def test_a_victim_that_is_gone_is_as_good_as_told(cluster: Cluster) -> None:
    phases = planned(cluster)
    cluster.delete(path("old-1"), grace=0)
    waiting = carried(cluster, phases)
    assert not waiting.failed
    assert pod(cluster, "old-0").is_leaving


def test_every_write_may_be_repeated_from_the_start(cluster: Cluster) -> None:
    phases = planned(cluster)
    waiting = carried(cluster, phases)
    again = carried(cluster, phases)
    assert again.left == waiting.left
    assert not again.failed
    assert pod(cluster, "old-0").metadata.deletion_grace_period_seconds == 60


def test_what_was_written_is_taken_back(cluster: Cluster) -> None:
    phases = planned(cluster)
    carried(cluster, phases[:2])
    spare = [Spare(ref(cluster, f"old-{index}")) for index in (0, 1)]
    withdraw = [Withdraw(ref(cluster, f"new-{index}")) for index in (0, 1)]
    outcomes = on(cluster.kubeconfig, lambda api: perform(api, [*spare, *withdraw], QUICK))
    assert {outcome.verdict for outcome in outcomes.values()} == {Verdict.DONE}
    assert nominated(cluster) == ["", ""]
    assert all(victim_of(pod(cluster, f"old-{index}")) is None for index in (0, 1))


def test_a_half_bound_gang_is_taken_apart(cluster: Cluster) -> None:
    planned(cluster)
    cluster.bind("new-0", "node-0")
    who = ref(cluster, "new-0")
    steps = (TakeApart((who,), "big cannot be completed"), Place("x", (who,)), Await((who,)))
    outcomes = on(cluster.kubeconfig, lambda api: perform(api, steps, QUICK))
    assert [outcome.verdict for outcome in outcomes.values()] == [Verdict.DONE]
    assert pod(cluster, "new-0").is_leaving


def test_no_phase_goes_on_without_leadership(cluster: Cluster) -> None:
    phases = planned(cluster)
    answers = iter([True] * 3 + [False] * 100)
    pace = Pace(may=lambda: next(answers))
    stopped = on(cluster.kubeconfig, lambda api: carry_out(api, phases, pace))
    assert stopped.failed
    assert stopped.left == phases[1:]
    assert not any(pod(cluster, name).is_leaving for name in ("old-0", "old-1"))
