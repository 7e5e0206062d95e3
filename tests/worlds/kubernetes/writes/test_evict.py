"""Evictions on a real API server: budgets, grace, identity."""

from ganglion.worlds.kubernetes.types.pod import Pod, PodSpec
from ganglion.worlds.kubernetes.writes.evict import EvictionBatch, evict, grace_of, unbind
from ganglion.worlds.kubernetes.writes.outcome import ObjectRef, WriteOutcome, WriteVerdict
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import on as requests
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.writes.real import QUICK, leaving, on, path, pod, ref, run_pod

EVICTION = requests("POST", "/eviction$")
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def running(cluster: Cluster, *names: str, ready: bool = True, **rest: object) -> list[ObjectRef]:
    for name in names:
        cluster.create(manifests.pod(name, nodeName="node-0", labels={"app": "a"}, **rest))
        run_pod(cluster, name, ready=ready)
    return [ref(cluster, name) for name in names]


def budget(name: str, allowed: int, **spec: object) -> Object:
    selector = {"matchLabels": {"app": "a"}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": selector, "minAvailable": 1, **spec},
        "status": {"disruptionsAllowed": allowed},
    }


def add_budget(cluster: Cluster, name: str, allowed: int, *, seen: bool = True) -> None:
    """A budget as its controller would have it."""
    (made,) = cluster.create(budget(name, allowed))
    status = {
        "disruptionsAllowed": allowed,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
        "observedGeneration": made["metadata"]["generation"] if seen else 0,
    }
    cluster.patch(f"{BUDGETS}/{name}/status", {"status": status})


def evicted(cluster: Cluster, *whos: ObjectRef, grace_s: int | None = None) -> list[WriteOutcome]:
    orders = [(who, grace_s) for who in whos]
    outcomes = on(cluster.kubeconfig, lambda api: EvictionBatch(api, QUICK).evict_all(orders))
    return [outcomes[who.uid] for who in whos]


def test_a_pod_is_told_to_go_within_its_grace(cluster: Cluster) -> None:
    one, two, three = running(cluster, "a", "b", "c", terminationGracePeriodSeconds=45)
    assert [o.verdict for o in evicted(cluster, one)] == [WriteVerdict.DONE]
    assert [o.verdict for o in evicted(cluster, two, grace_s=300)] == [WriteVerdict.DONE]
    assert pod(cluster, "a").metadata.deletion_grace_period_seconds == 45
    assert pod(cluster, "b").metadata.deletion_grace_period_seconds == 300
    assert not leaving(cluster, "c")
    assert three.name == "c"


def test_telling_twice_does_not_shorten_the_grace(cluster: Cluster) -> None:
    (who,) = running(cluster, "a")
    evicted(cluster, who, grace_s=300)
    assert evicted(cluster, who)[0].verdict in (WriteVerdict.DONE, WriteVerdict.GONE)
    assert pod(cluster, "a").metadata.deletion_grace_period_seconds == 300


def test_a_pod_made_anew_or_gone_is_left_alone(cluster: Cluster) -> None:
    (old,) = running(cluster, "a")
    cluster.delete(path("a"), grace=0)
    assert evicted(cluster, old)[0].verdict is WriteVerdict.GONE
    running(cluster, "a")
    assert evicted(cluster, old)[0].verdict is WriteVerdict.GONE
    assert not leaving(cluster, "a")


def test_a_budget_blocks_and_says_so(cluster: Cluster, proxy: Proxy) -> None:
    (who,) = running(cluster, "a")
    add_budget(cluster, "all-of-a", 0)
    outcome = on(proxy.kubeconfig(), lambda api: evict(api, who, None, QUICK))
    assert outcome.verdict is WriteVerdict.BLOCKED
    assert "all-of-a" in outcome.message
    assert outcome.retry_after_s > 0
    assert not leaving(cluster, "a")
    assert len([each for each in proxy.seen if EVICTION(each)]) == 1


def test_a_budget_that_was_not_looked_at_yet_blocks(cluster: Cluster) -> None:
    (who,) = running(cluster, "a")
    add_budget(cluster, "new", 1, seen=False)
    (outcome,) = evicted(cluster, who)
    assert (outcome.verdict, outcome.retry_after_s) == (WriteVerdict.BLOCKED, 10)
    assert not leaving(cluster, "a")


def test_a_budget_lets_go_as_many_as_it_allows(cluster: Cluster) -> None:
    whos = running(cluster, "a", "b", "c")
    add_budget(cluster, "one-of-a", 1)
    outcomes = evicted(cluster, *whos)
    assert sorted(outcome.verdict for outcome in outcomes) == ["blocked", "blocked", "done"]
    assert sum(leaving(cluster, name) for name in "abc") == 1


def test_several_budgets_have_to_agree(cluster: Cluster) -> None:
    (who,) = running(cluster, "a")
    add_budget(cluster, "free", 5)
    add_budget(cluster, "tight", 0)
    (outcome,) = evicted(cluster, who)
    assert outcome.verdict is WriteVerdict.BLOCKED
    assert "tight" in outcome.message
    assert not leaving(cluster, "a")


def test_several_budgets_together_let_go_no_more_than_each_alone(cluster: Cluster) -> None:
    whos = running(cluster, "a", "b", "c")
    add_budget(cluster, "free", 5)
    add_budget(cluster, "two", 2)
    outcomes = evicted(cluster, *whos, grace_s=120)
    assert sorted(outcome.verdict for outcome in outcomes) == ["blocked", "done", "done"]
    gone = [name for name in "abc" if leaving(cluster, name)]
    assert len(gone) == 2
    assert {pod(cluster, name).metadata.deletion_grace_period_seconds for name in gone} == {120}


def test_a_pod_that_is_not_ready_uses_up_no_budget_that_allows_it(cluster: Cluster) -> None:
    (who,) = running(cluster, "a", ready=False)
    add_budget(cluster, "one", 0)
    add_budget(cluster, "two", 0)
    assert evicted(cluster, who)[0].verdict is WriteVerdict.DONE
    assert leaving(cluster, "a")


def test_several_budgets_and_a_pod_made_anew(cluster: Cluster, proxy: Proxy) -> None:
    (old,) = running(cluster, "a")
    add_budget(cluster, "one", 5)
    add_budget(cluster, "two", 5)

    def replace() -> None:
        cluster.delete(path("a"), grace=0)
        running(cluster, "a")

    proxy.at_write(
        2, replace, forwarded=False
    )  # the eviction is the first, the deletion the second
    outcome = on(proxy.kubeconfig(), lambda api: evict(api, old, None, QUICK))
    assert outcome.verdict in (WriteVerdict.GONE, WriteVerdict.UNKNOWN)
    assert not leaving(cluster, "a")


def test_a_lost_answer_and_a_broken_server_are_made_up_for(cluster: Cluster, proxy: Proxy) -> None:
    whos = running(cluster, "a", "b", "c")
    proxy.swallow(EVICTION)
    proxy.fail(EVICTION, 500)
    proxy.fail(EVICTION, 429)
    orders = [(who, None) for who in whos]
    outcomes = on(proxy.kubeconfig(), lambda api: EvictionBatch(api, QUICK).evict_all(orders))
    assert {outcome.verdict for outcome in outcomes.values()} <= {
        WriteVerdict.DONE,
        WriteVerdict.GONE,
    }
    assert all(leaving(cluster, name) for name in "abc")


def test_without_answers_it_stays_unknown_and_may_be_repeated(
    cluster: Cluster, proxy: Proxy
) -> None:
    (who,) = running(cluster, "a")
    proxy.fail(EVICTION, 503, times=4)
    kubeconfig = proxy.kubeconfig()
    assert on(kubeconfig, lambda api: evict(api, who, None, QUICK)).verdict is WriteVerdict.UNKNOWN
    assert on(kubeconfig, lambda api: evict(api, who, None, QUICK)).verdict is WriteVerdict.DONE


def test_what_we_may_not_do_is_reported_and_not_hammered(cluster: Cluster, proxy: Proxy) -> None:
    (who,) = running(cluster, "a")
    outcome = on(proxy.kubeconfig("nobody"), lambda api: evict(api, who, None, QUICK))
    assert outcome.verdict is WriteVerdict.BLOCKED
    assert "nobody" in outcome.message
    assert len([each for each in proxy.seen if EVICTION(each)]) == 1


def test_a_gang_that_cannot_be_completed_is_taken_apart_without_blame(cluster: Cluster) -> None:
    cluster.create(*(manifests.pod(name, nodeName="node-0") for name in ("a", "b")))
    whos = [ref(cluster, name) for name in ("a", "b")]
    cluster.create(manifests.pod("c", nodeName="node-0", terminationGracePeriodSeconds=60))
    whos.append(ref(cluster, "c"))
    outcomes = on(cluster.kubeconfig, lambda api: unbind(api, whos, "x cannot be completed", QUICK))
    assert {outcome.verdict for outcome in outcomes.values()} == {WriteVerdict.DONE}
    assert all(leaving(cluster, name) for name in "abc")
    target = pod(cluster, "c").condition("DisruptionTarget")
    assert target is not None
    assert target.status == "True"


def test_a_pod_has_the_time_its_checkpoint_needs() -> None:
    short = Pod(spec=PodSpec(termination_grace_period_seconds=10))
    assert grace_of(short, 60) == 60
    assert grace_of(short, 5) is None
    assert grace_of(Pod(), 20) is None
    assert grace_of(Pod(), 31) == 31
    assert grace_of(short) is None
