"""Two schedulers: one decides, the other goes on within the time of the Lease."""

import time
from collections.abc import Iterator
from signal import SIGCONT, SIGKILL, SIGSTOP, Signals

import pytest

from benchmarks.controlplane.control_plane import ControlPlane
from ganglion.seams.clock import SYSTEM_CLOCK
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import Fault, on, writes
from tests.controlplane.http1 import Request
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.schedulers.leading import LEASE_S, Candidate
from tests.worlds.kubernetes.troubled import halves, overbooked, scheduling

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/ganglion"
SLACK_S = 12.0
"""For a machine with much else to do."""
SKEW_MS = 5 * 60_000


@pytest.fixture
def second_proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    running = Proxy(control_plane).start()
    yield running
    running.stop()


def _holder(cluster: Cluster) -> str:
    found = cluster.find(LEASE)
    return str(found["spec"].get("holderIdentity", "")) if found else ""


def _leads(cluster: Cluster, identity: str) -> bool:
    return _holder(cluster).startswith(f"{identity}_")


def _decides(request: Request) -> bool:
    """Writes of one who decides; every one may write the Lease."""
    return writes(request) and "/leases" not in request.path


def _count(proxy: Proxy) -> int:
    return sum(map(_decides, list(proxy.seen)))


@pytest.mark.parametrize("blow", [SIGKILL, SIGSTOP])
def test_another_goes_on_where_the_leader_fell_silent(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, second_proxy: Proxy, blow: Signals
) -> None:
    cluster.add_nodes(3, gpus=4)
    with (
        Candidate(proxy.kubeconfig(), "first") as first,
        Candidate(second_proxy.kubeconfig(), "second") as second,
    ):
        cluster.wait(lambda: _holder(cluster), "a leader")
        leader, its, other, others = first, proxy, "second", second_proxy
        if _leads(cluster, "second"):
            leader, its, other, others = second, second_proxy, "first", proxy
        fallen: list[float] = []

        def strike() -> None:
            leader.signal(blow)
            fallen.append(time.monotonic())

        its.add(Fault(on("POST", "/binding$"), 1, 1, before=strike, cut=True))
        names = cluster.add_gang("train", 3, gpus=4)
        cluster.wait(lambda: fallen, f"the second binding: {leader.log}")
        cluster.wait_bound(names)
        assert time.monotonic() - fallen[0] < LEASE_S + SLACK_S
        assert _leads(cluster, other)
        assert _count(others)
        before = _count(its)
        if blow is SIGSTOP:
            leader.signal(SIGCONT)
            assert leader.wait_dead() == 1
        assert _count(its) == before
    assert not halves(cluster)
    assert not overbooked(cluster)
    assert not kubelets.refused


def test_an_outage_longer_than_the_lease_ends_the_leader_and_another_goes_on(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, second_proxy: Proxy
) -> None:
    cluster.add_nodes(2, gpus=4)
    with Candidate(proxy.kubeconfig(), "first") as first:
        cluster.wait(lambda: _leads(cluster, "first"), "the first leads")
        with Candidate(second_proxy.kubeconfig(), "second") as second:
            cluster.wait(lambda: len(second_proxy.seen) > 10, f"the second looks: {second.log}")
            for each in (proxy, second_proxy):
                each.down()
            names = cluster.add_gang("train", 2, gpus=4)
            assert first.wait_dead() == 1
            for each in (proxy, second_proxy):
                each.up()
            cluster.wait(lambda: _leads(cluster, "second"), "the second leads")
            # A kind that the outage hid may be asked for again only after half a minute.
            cluster.wait_bound(names, limit_s=90.0)
    assert not kubelets.refused


def test_only_one_of_two_ever_writes(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, second_proxy: Proxy
) -> None:
    cluster.add_nodes(4, gpus=4)
    with (
        Candidate(proxy.kubeconfig(), "first"),
        Candidate(second_proxy.kubeconfig(), "second"),
    ):
        cluster.wait(lambda: _holder(cluster), "a leader")
        for number in range(4):
            cluster.wait_bound(cluster.add_gang(f"train{number}", 2, gpus=2))
        idle = second_proxy if _leads(cluster, "first") else proxy
        cluster.wait(lambda: len(idle.seen) > 10, "the other looks")
        assert not _count(idle)


@pytest.mark.parametrize("skew", [-SKEW_MS, SKEW_MS])
def test_clocks_five_minutes_apart_cost_nobody_a_place(
    cluster: Cluster, kubelets: Kubelets, skew: int
) -> None:
    cluster.add_nodes(2, gpus=4)
    with scheduling(cluster, clock=lambda: SYSTEM_CLOCK.now_ms() + skew):
        names = cluster.add_gang("first", 2, gpus=4)
        places = cluster.wait_bound(names)
        waiting = cluster.add_gang("second", 2, gpus=4)
    with scheduling(cluster, clock=lambda: SYSTEM_CLOCK.now_ms() - skew) as scheduler:
        turns = scheduler.turns
        cluster.wait(lambda: scheduler.turns > turns + 3, "some turns")
        assert cluster.bound() == places
        for name in names:
            cluster.delete(f"/api/v1/namespaces/default/pods/{name}")
        cluster.wait_bound(waiting)
    assert not kubelets.refused
