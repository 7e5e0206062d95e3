"""Suspending owners, and resuming no more than that."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from msgspec import Struct, convert

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.writes.outcome import WriteOutcome, WriteVerdict
from ganglion.worlds.kubernetes.writes.owners import resume_owner, suspend_owner
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import Fault
from tests.controlplane.faults import on as requests
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.writes.real import QUICK, on

JOB = "/apis/batch/v1/namespaces/default/jobs/j"
PATCHES = requests("PATCH")


class Owner(Struct, frozen=True):
    path: str
    uid: str
    suspend: tuple[str, ...] = ("spec", "suspend")


def job(cluster: Cluster, **spec: object) -> Owner:
    body = manifests.job("j")
    body["spec"].update(spec)
    (made,) = cluster.create(body)
    return Owner(JOB, made["metadata"]["uid"])


def suspend(cluster: Cluster, owner: Owner) -> WriteVerdict:
    return on(cluster.kubeconfig, lambda api: suspend_owner(api, owner, "b", QUICK)).verdict


def resume(cluster: Cluster, owner: Owner) -> WriteVerdict:
    return on(cluster.kubeconfig, lambda api: resume_owner(api, owner, QUICK)).verdict


def state(cluster: Cluster) -> tuple[bool, str | None]:
    found = cluster.get(JOB)
    notes = found["metadata"].get("annotations", {})
    return found["spec"]["suspend"], notes.get("ganglion.dev/suspended-for")


def test_what_we_suspended_is_resumed(cluster: Cluster) -> None:
    owner = job(cluster)
    assert suspend(cluster, owner) is WriteVerdict.DONE
    assert state(cluster) == (True, "b")
    assert suspend(cluster, owner) is WriteVerdict.UNCHANGED
    assert resume(cluster, owner) is WriteVerdict.DONE
    assert state(cluster) == (False, None)
    assert resume(cluster, owner) is WriteVerdict.UNCHANGED


def test_what_the_user_suspended_stays_so(cluster: Cluster) -> None:
    owner = job(cluster, suspend=True)
    assert suspend(cluster, owner) is WriteVerdict.UNCHANGED
    assert state(cluster) == (True, None)
    assert resume(cluster, owner) is WriteVerdict.UNCHANGED
    assert state(cluster) == (True, None)


def test_a_user_who_takes_our_mark_away_keeps_it_suspended(cluster: Cluster) -> None:
    owner = job(cluster)
    suspend(cluster, owner)
    cluster.patch(JOB, {"metadata": {"annotations": None}})
    assert resume(cluster, owner) is WriteVerdict.UNCHANGED
    assert state(cluster) == (True, None)


def test_what_the_user_resumed_only_loses_our_mark(cluster: Cluster) -> None:
    owner = job(cluster)
    suspend(cluster, owner)
    cluster.patch(JOB, {"spec": {"suspend": False}})
    assert resume(cluster, owner) is WriteVerdict.DONE
    assert state(cluster) == (False, None)


def test_a_user_who_suspends_at_the_same_moment_wins(cluster: Cluster, proxy: Proxy) -> None:
    owner = job(cluster)

    def suspend_it() -> None:
        cluster.patch(JOB, {"spec": {"suspend": True}})

    proxy.add(Fault(PATCHES, before=suspend_it))
    outcome = on(proxy.kubeconfig(), lambda api: suspend_owner(api, owner, "b", QUICK))
    assert outcome.verdict is WriteVerdict.UNCHANGED
    assert state(cluster) == (True, None)


def test_an_owner_that_changed_meanwhile_is_looked_at_again(cluster: Cluster, proxy: Proxy) -> None:
    owner = job(cluster)

    def touch() -> None:
        cluster.patch(JOB, {"metadata": {"labels": {"touched": "1"}}})

    proxy.add(Fault(PATCHES, before=touch))
    outcome = on(proxy.kubeconfig(), lambda api: suspend_owner(api, owner, "b", QUICK))
    assert outcome.verdict is WriteVerdict.DONE
    assert len([each for each in proxy.seen if PATCHES(each)]) == 2
    assert state(cluster) == (True, "b")


@pytest.mark.parametrize("lost", ["answer", "request"])
def test_lost_requests_and_answers(cluster: Cluster, proxy: Proxy, lost: str) -> None:
    owner = job(cluster)
    trouble: Callable[..., object] = proxy.swallow if lost == "answer" else proxy.cut
    kubeconfig = proxy.kubeconfig()
    trouble(PATCHES)
    assert on(kubeconfig, lambda api: suspend_owner(api, owner, "b", QUICK)).holds
    assert state(cluster) == (True, "b")
    trouble(PATCHES)
    assert on(kubeconfig, lambda api: resume_owner(api, owner, QUICK)).holds
    assert state(cluster) == (False, None)


def test_another_owner_of_the_name_is_left_alone(cluster: Cluster) -> None:
    old = job(cluster)
    cluster.delete(JOB, orphan=False)
    cluster.wait(lambda: cluster.find(JOB) is None, "the job is gone")
    assert suspend(cluster, old) is WriteVerdict.GONE
    job(cluster)
    assert suspend(cluster, old) is WriteVerdict.GONE
    assert state(cluster) == (False, None)


def test_kinds_without_a_switch_are_refused(cluster: Cluster) -> None:
    owner = Owner(JOB, "u", ())
    assert suspend(cluster, owner) is WriteVerdict.REFUSED


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def trains(cluster: Cluster) -> Iterator[None]:
    """A kind whose switch lies deeper."""
    name = "trains.example.com"
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "trains", "singular": "train", "kind": "Train"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": loose},
                }
            ],
        },
    }
    cluster.create(definition)
    yield
    cluster.delete(f"{DEFINITIONS}/{name}")


def test_switches_lie_where_their_kind_has_them(cluster: Cluster, trains: None) -> None:
    body = {"apiVersion": "example.com/v1", "kind": "Train", "metadata": {"name": "t"}}
    (made,) = cluster.create({**body, "spec": {"runPolicy": {"clean": "All"}}})
    path = "/apis/example.com/v1/namespaces/default/trains/t"
    owner = Owner(path, made["metadata"]["uid"], ("spec", "runPolicy", "suspend"))
    assert suspend(cluster, owner) is WriteVerdict.DONE
    assert cluster.get(path)["spec"] == {"runPolicy": {"clean": "All", "suspend": True}}
    assert resume(cluster, owner) is WriteVerdict.DONE
    assert cluster.get(path)["spec"] == {"runPolicy": {"clean": "All", "suspend": False}}


def _seen(cluster: Cluster) -> Anything:
    return convert(cluster.get(JOB), Anything, strict=False)


def test_an_owner_that_is_as_it_was_seen_is_not_read(cluster: Cluster, proxy: Proxy) -> None:
    owner, seen = job(cluster), _seen(cluster)
    reads: list[str] = []
    proxy.add(Fault(requests("GET", "/jobs/j$"), times=9, before=lambda: reads.append("read")))

    def call(api: Api) -> Coroutine[Any, Any, WriteOutcome]:
        return suspend_owner(api, owner, "b", QUICK, seen=seen)

    assert on(proxy.kubeconfig(), call).verdict is WriteVerdict.DONE
    assert state(cluster) == (True, "b")
    assert not reads


def test_one_that_has_changed_since_it_was_seen_is_looked_at_first(cluster: Cluster) -> None:
    owner, seen = job(cluster), _seen(cluster)
    cluster.patch(JOB, {"spec": {"suspend": True}})

    def call(api: Api) -> Coroutine[Any, Any, WriteOutcome]:
        return suspend_owner(api, owner, "b", QUICK, seen=seen)

    assert on(cluster.kubeconfig, call).verdict is WriteVerdict.UNCHANGED
    assert state(cluster) == (True, None)
