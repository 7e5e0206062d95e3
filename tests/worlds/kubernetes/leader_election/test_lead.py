"""One scheduler leads, whatever clocks, networks and other schedulers do."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ganglion.model.errors import FieldError, InputError
from ganglion.seams.clock import SystemClock
from ganglion.seams.effects import Effects
from ganglion.worlds.kubernetes.http.errors import ForbiddenRequest
from ganglion.worlds.kubernetes.leader_election.lead import Lead
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint, load
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person, Server
from tests.controlplane.cluster import Cluster, wait
from tests.faults.clock import SteppingClock
from tests.worlds.kubernetes.http.proxy import Proxy
from tests.worlds.kubernetes.sign_in.test_credentials import printing

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
LEASE_S, RENEW_S, RETRY_S = 4.0, 2.4, 0.2
SLACK_S = 6.0
"""For a machine with much else to do."""


class Leads:
    """Candidates that end with the test."""

    def __init__(self, endpoint: ApiEndpoint, left: ExitStack) -> None:
        self._endpoint, self._left = endpoint, left

    def start(self, name: str, endpoint: ApiEndpoint | None = None, **more: Any) -> Lead:
        lead = Lead(
            endpoint or self._endpoint,
            "default",
            "ganglion",
            name,
            lease_s=LEASE_S,
            renew_s=RENEW_S,
            retry_s=RETRY_S,
            **more,
        )
        lead.start()
        self._left.callback(lead.stop, release=False)
        return lead


@pytest.fixture
def leads(cluster: Cluster) -> Iterator[Leads]:
    with ExitStack() as left:
        yield Leads(cluster.endpoint, left)


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    with Proxy(cluster) as between:
        yield between


def lease(cluster: Cluster) -> dict[str, Any]:
    spec: dict[str, Any] = cluster.get(f"{LEASES}/ganglion")["spec"]
    return spec


class Watcher:
    """Looks all the time whether two leads are held at once, and when each was first and last."""

    def __init__(self, *watched: Lead) -> None:
        self._watched, self._done = watched, threading.Event()
        self.most = 0
        self.first: dict[Lead, float] = {}
        self.last: dict[Lead, float] = {}
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(0.002):
            held = [each for each in self._watched if each.holds()]
            self.most = max(self.most, len(held))
            for each in held:
                self.last[each] = time.monotonic()
                self.first.setdefault(each, self.last[each])

    def stop(self) -> None:
        self._done.set()
        self._thread.join()


def test_the_first_leads_and_the_second_waits_and_follows_at_once(
    cluster: Cluster, leads: Leads
) -> None:
    first = leads.start("first")
    assert first.held.wait(10)
    second = leads.start("second")
    wait(lambda: second.holder == first.identity, "the second has looked")
    assert (first.holds(), second.holds()) == (True, False)
    assert lease(cluster)["holderIdentity"] == first.identity
    watcher = Watcher(first, second)
    wait(lambda: first in watcher.first, "the first being watched")
    began = time.monotonic()
    first.stop(release=True)
    assert not first.holds()
    assert second.held.wait(10)
    assert time.monotonic() - began < LEASE_S  # it did not have to run out
    wait(lambda: second in watcher.first, "the second being watched")
    watcher.stop()
    assert watcher.most == 1
    assert lease(cluster)["leaseTransitions"] == 1
    assert first.lost.is_set()


def test_two_of_one_name_are_two(leads: Leads) -> None:
    first = leads.start("pod-0")
    assert first.held.wait(10)
    second = leads.start("pod-0")
    assert first.identity != second.identity
    wait(lambda: second.holder == first.identity, "the second has looked")
    assert not second.holds()


def test_a_lead_that_vanished_is_followed_when_its_lease_has_run_out(leads: Leads) -> None:
    first = leads.start("first")
    assert first.held.wait(10)
    second = leads.start("second")
    wait(lambda: second.holder == first.identity, "the second has looked")
    vanished = time.monotonic()
    first.stop(release=False)
    assert second.held.wait(LEASE_S + 10)
    passed = time.monotonic() - vanished
    # It was held when it vanished, so it was last confirmed no longer ago than that lasts.
    assert LEASE_S - RENEW_S < passed < LEASE_S + 2 * RETRY_S + SLACK_S


def test_a_lead_cut_off_from_the_server_stops_before_another_begins(
    leads: Leads, proxy: Proxy
) -> None:
    lost: list[float] = []
    first = leads.start("first", proxy.endpoint, on_lost=lambda: lost.append(time.monotonic()))
    assert first.held.wait(10)
    second = leads.start("second")
    wait(lambda: second.holder == first.identity, "the second has looked")
    watcher = Watcher(first, second)
    wait(lambda: first in watcher.first, "the first being watched")
    proxy.close()
    assert first.lost.wait(RENEW_S + SLACK_S)
    assert second.held.wait(LEASE_S + 10)
    wait(lambda: second in watcher.first, "the second being watched")
    watcher.stop()
    assert watcher.most == 1
    assert watcher.last[first] < watcher.first[second]
    assert len(lost) == 1
    proxy.open()
    assert not first.holds()  # and it does not come back


def test_a_short_outage_costs_nobody_the_lead(leads: Leads, proxy: Proxy) -> None:
    first = leads.start("first", proxy.endpoint)
    assert first.held.wait(10)
    proxy.cut()
    wait(lambda: proxy.made >= 2, "another connection")
    until = time.monotonic() + 2 * RENEW_S
    while time.monotonic() < until:
        assert first.holds()
        time.sleep(0.01)


def test_a_lead_whose_lease_another_has_is_lost(cluster: Cluster, leads: Leads) -> None:
    lost = threading.Event()
    first = leads.start("first", on_lost=lost.set)
    assert first.held.wait(10)
    cluster.patch(f"{LEASES}/ganglion", {"spec": {"holderIdentity": "somebody"}})
    assert lost.wait(RENEW_S + SLACK_S)
    assert (first.holds(), first.holder) == (False, "somebody")


def test_a_lease_that_somebody_deleted_is_made_again(cluster: Cluster, leads: Leads) -> None:
    first = leads.start("first")
    assert first.held.wait(10)
    cluster.delete(f"{LEASES}/ganglion")
    wait(lambda: cluster.find(f"{LEASES}/ganglion"), "the lease")
    assert lease(cluster)["holderIdentity"] == first.identity
    assert first.holds()


def written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def taken(skew: timedelta, holder: str = "other") -> dict[str, Any]:
    """What a holder says whose clock is wrong by `skew`."""
    now = written(datetime.now(UTC) + skew)
    return {
        "holderIdentity": holder,
        "leaseDurationSeconds": int(LEASE_S),
        "acquireTime": now,
        "renewTime": now,
    }


@pytest.mark.parametrize("skew", [timedelta(minutes=-5), timedelta(minutes=5)])
def test_clocks_five_minutes_apart_change_nothing(
    cluster: Cluster, leads: Leads, skew: timedelta
) -> None:
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    cluster.create(body | {"metadata": {"name": "ganglion"}, "spec": taken(skew)})
    second = leads.start("second")
    end = time.monotonic() + LEASE_S + 1.0
    while time.monotonic() < end:  # the other is alive
        cluster.patch(f"{LEASES}/ganglion", {"spec": taken(skew)})
        assert not second.holds()
        time.sleep(0.1)
    died = time.monotonic()
    assert second.held.wait(LEASE_S + 10)
    assert time.monotonic() - died > LEASE_S - 1.0


def test_nothing_that_others_keep_in_the_lease_is_lost(cluster: Cluster, leads: Leads) -> None:
    meta = {"name": "ganglion", "labels": {"kept": "yes"}, "finalizers": ["example.com/kept"]}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
    cluster.create(body)
    first = leads.start("first")
    assert first.held.wait(10)
    found = cluster.get(f"{LEASES}/ganglion")["metadata"]
    assert (found["labels"], found["finalizers"]) == (meta["labels"], meta["finalizers"])


def test_a_candidate_without_the_right_says_so_and_goes_on(cluster: Cluster, leads: Leads) -> None:
    first = leads.start("first", load(cluster.kubeconfig_of("nobody")))
    wait(lambda: isinstance(first.trouble, ForbiddenRequest), "the refusal")
    assert not (first.holds() or first.lost.is_set())


def test_the_lead_s_thread_signs_in_by_a_program_as_others_do(
    cluster: Cluster, leads: Leads, tmp_path: Path
) -> None:
    program = printing(tmp_path, str(cluster.endpoint.person.token))
    first = leads.start("first", replace(cluster.endpoint, person=Person(exec=program)))
    assert first.held.wait(10), first.trouble


def test_a_candidate_that_can_never_lead_does_not_wait_in_silence(
    cluster: Cluster, leads: Leads
) -> None:
    server = Server(certificate_auth="/absent/ca.crt")
    lost = threading.Event()
    first = leads.start("first", replace(cluster.endpoint, server=server), on_lost=lost.set)
    assert lost.wait(10)
    assert isinstance(first.trouble, FieldError)
    assert not first.holds()


def test_a_candidate_that_is_stopped_ends_at_once(cluster: Cluster, leads: Leads) -> None:
    first = leads.start("first")
    assert first.held.wait(10)
    second = leads.start("second")
    wait(lambda: second.holder == first.identity, "the second has looked")
    second.stop()
    assert second.lost.is_set()
    assert first.holds()
    assert lease(cluster)["holderIdentity"] == first.identity


class _Woken(SystemClock):
    """The clock of a machine that slept, once `slept_s` is set."""

    slept_s = 0.0

    def since_boot(self) -> float:
        return super().since_boot() + self.slept_s


def test_holding_is_told_by_the_clock_alone(leads: Leads) -> None:
    clock = _Woken()
    first = leads.start("first", effects=Effects(clock=clock))
    assert first.held.wait(10)
    # A program that was stopped sees the clock jump before any of its threads has run again.
    clock.slept_s = 3600.0
    assert not first.holds()
    assert first.left_s() == 0
    assert first.lost.wait(RENEW_S + SLACK_S)


def test_times_that_cannot_work_are_refused(cluster: Cluster) -> None:
    with pytest.raises(InputError, match="lease 10 s, renewal 15 s"):
        Lead(cluster.endpoint, "default", "ganglion", "a", lease_s=10, renew_s=15, retry_s=2)


def test_a_wall_clock_that_is_set_moves_no_lease(cluster: Cluster, leads: Leads) -> None:
    clock = SteppingClock(seed=7, rate=1.0)
    first = leads.start("first", effects=Effects(clock=clock))
    assert first.held.wait(10)
    second = leads.start("second", effects=Effects(clock=SteppingClock(seed=8, rate=1.0)))
    wait(lambda: second.holder == first.identity, "the second has looked")
    before = clock.steps
    wait(lambda: clock.steps > before + 4, "the first has confirmed it by other clocks")
    assert first.holds()
    assert not second.held.is_set()
    assert lease(cluster).get("leaseTransitions", 0) == 0
