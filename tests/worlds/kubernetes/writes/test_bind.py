"""Bindings on a real API server: what is bound, what is not, and how that is known."""

from collections.abc import Sequence

from ganglion.worlds.kubernetes.write_rules.devices import recorded
from ganglion.worlds.kubernetes.writes.bind import BindOrder, bind_all, bind_gangs
from ganglion.worlds.kubernetes.writes.calls import RetryPace
from ganglion.worlds.kubernetes.writes.outcome import ObjectRef, WriteOutcome, WriteVerdict
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import on as requests
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.writes.real import QUICK, leaving, on, path, pod, ref

BINDING = requests("POST", "/binding$")


def order(who: ObjectRef, node: str = "node-0", **rest: object) -> BindOrder:
    return BindOrder(who.namespace, who.name, who.uid, node, **rest)


def bound(
    cluster: Cluster, *orders: BindOrder, via: Proxy | None = None, pace: RetryPace = QUICK
) -> list[WriteOutcome]:
    kubeconfig = via.kubeconfig() if via else cluster.kubeconfig
    outcomes = on(kubeconfig, lambda api: bind_all(api, orders, pace))
    return [outcomes[each.uid] for each in orders]


def verdicts(outcomes: Sequence[WriteOutcome]) -> list[WriteVerdict]:
    return [outcome.verdict for outcome in outcomes]


def test_pods_are_bound_with_their_devices_on_them(cluster: Cluster) -> None:
    cluster.add_nodes(2)
    cluster.add_pods(3)
    orders = [
        order(ref(cluster, "pod-0"), "node-0", devices=(3, 1)),
        order(ref(cluster, "pod-1"), "node-1", devices=(0,), resource="example.com/npu"),
        order(ref(cluster, "pod-2"), "node-1", notes=(("ganglion.dev/plan", "x"),)),
    ]
    assert verdicts(bound(cluster, *orders)) == [WriteVerdict.BOUND] * 3
    assert cluster.bound() == {"pod-0": "node-0", "pod-1": "node-1", "pod-2": "node-1"}
    assert pod(cluster, "pod-0").metadata.annotations == {
        "ganglion.dev/devices": "1,3",
        "ganglion.dev/cdi-devices": "nvidia.com/gpu=1,nvidia.com/gpu=3",
    }
    assert recorded(pod(cluster, "pod-0")) == (1, 3)
    assert pod(cluster, "pod-1").metadata.annotations == {"ganglion.dev/devices": "0"}
    assert pod(cluster, "pod-2").metadata.annotations == {"ganglion.dev/plan": "x"}


def test_annotations_of_the_user_survive_the_binding(cluster: Cluster) -> None:
    cluster.create(manifests.pod("pod-0", annotations={"mine": "1"}))
    bound(cluster, order(ref(cluster, "pod-0"), devices=(0,)))
    assert pod(cluster, "pod-0").metadata.annotations["mine"] == "1"
    assert recorded(pod(cluster, "pod-0")) == (0,)


def test_a_pod_made_anew_under_the_name_is_not_bound(cluster: Cluster) -> None:
    cluster.add_pods(1)
    old = ref(cluster, "pod-0")
    cluster.delete(path("pod-0"), grace=0)
    cluster.add_pods(1)
    assert ref(cluster, "pod-0").uid != old.uid
    assert verdicts(bound(cluster, order(old))) == [WriteVerdict.GONE]
    assert cluster.bound() == {}


def test_a_pod_that_was_deleted_or_is_leaving_is_gone(cluster: Cluster) -> None:
    cluster.add_pods(1)
    cluster.create(manifests.pod("held") | {"metadata": {"name": "held", "finalizers": ["a.b/c"]}})
    orders = [order(ref(cluster, name)) for name in ("pod-0", "held")]
    for name in ("pod-0", "held"):
        cluster.delete(path(name))
    assert verdicts(bound(cluster, *orders)) == [WriteVerdict.GONE, WriteVerdict.GONE]
    cluster.patch(path("held"), {"metadata": {"finalizers": None}})


def test_a_gated_pod_is_left_to_whom_holds_it(cluster: Cluster) -> None:
    cluster.create(manifests.pod("pod-0", schedulingGates=[{"name": "quota.example.com/wait"}]))
    (outcome,) = bound(cluster, order(ref(cluster, "pod-0")))
    assert outcome.verdict is WriteVerdict.GATED
    assert "quota.example.com/wait" in outcome.message
    assert cluster.bound() == {}


def test_binding_twice_tells_where_the_pod_is(cluster: Cluster) -> None:
    cluster.add_pods(1)
    who = ref(cluster, "pod-0")
    assert verdicts(bound(cluster, order(who))) == [WriteVerdict.BOUND]
    assert bound(cluster, order(who)) == [WriteOutcome(WriteVerdict.ALREADY_HERE, node="node-0")]
    (elsewhere,) = bound(cluster, order(who, "node-1"))
    assert (elsewhere.verdict, elsewhere.node) == (WriteVerdict.ELSEWHERE, "node-0")
    assert cluster.bound() == {"pod-0": "node-0"}


def test_what_we_are_not_allowed_to_is_not_tried_again(cluster: Cluster, proxy: Proxy) -> None:
    cluster.add_pods(1)
    who = ref(cluster, "pod-0")
    outcomes = on(proxy.kubeconfig("nobody"), lambda api: bind_all(api, [order(who)], QUICK))
    assert outcomes[who.uid].verdict is WriteVerdict.REFUSED
    assert "nobody" in outcomes[who.uid].message
    assert len([each for each in proxy.seen if BINDING(each)]) == 1
    assert cluster.bound() == {}


def test_a_lost_answer_is_made_up_for_by_reading_the_pod(cluster: Cluster, proxy: Proxy) -> None:
    cluster.add_pods(1)
    proxy.swallow(BINDING)
    assert verdicts(bound(cluster, order(ref(cluster, "pod-0")), via=proxy)) == [
        WriteVerdict.ALREADY_HERE
    ]
    assert len([each for each in proxy.seen if BINDING(each)]) == 1
    assert cluster.bound() == {"pod-0": "node-0"}


def test_a_binding_that_did_not_arrive_is_sent_again(cluster: Cluster, proxy: Proxy) -> None:
    cluster.add_pods(3)
    names = ("pod-0", "pod-1", "pod-2")
    proxy.cut(BINDING)
    proxy.fail(BINDING, 500)
    proxy.fail(BINDING, 429)
    outcomes = bound(cluster, *(order(ref(cluster, name)) for name in names), via=proxy)
    assert verdicts(outcomes) == [WriteVerdict.BOUND] * 3
    assert len([each for each in proxy.seen if BINDING(each)]) == 6
    assert set(cluster.bound()) == set(names)


def test_without_answers_it_stays_unknown(cluster: Cluster, proxy: Proxy) -> None:
    cluster.add_pods(1)
    proxy.fail(BINDING, 503, times=100)
    (outcome,) = bound(cluster, order(ref(cluster, "pod-0")), via=proxy)
    assert outcome.verdict is WriteVerdict.UNKNOWN
    assert "503" in outcome.message or "no luck" in outcome.message


def test_nothing_is_written_without_leadership(cluster: Cluster) -> None:
    cluster.add_pods(2)
    orders = [order(ref(cluster, name)) for name in ("pod-0", "pod-1")]
    answers = iter([True, False])
    pace = RetryPace(at_once=1, may=lambda: next(answers))
    assert verdicts(bound(cluster, *orders, pace=pace)) == [
        WriteVerdict.BOUND,
        WriteVerdict.WITHHELD,
    ]
    assert cluster.bound() == {"pod-0": "node-0"}


def test_the_first_pod_of_a_gang_carries_the_note_before_others_are_bound(
    cluster: Cluster, proxy: Proxy
) -> None:
    names = cluster.add_gang("g", 4)
    first, *rest = (ref(cluster, name) for name in names)
    gang = [order(first, notes=(("ganglion.dev/plan", "p"),)), *(order(each) for each in rest)]
    seen: list[dict[str, str]] = []
    proxy.at_write(2, lambda: seen.append(cluster.bound()), forwarded=False)
    outcomes = on(proxy.kubeconfig(), lambda api: bind_gangs(api, [gang], QUICK))
    # Others of the gang may be bound before the look is over, but not before the first.
    assert [each.get("g-0") for each in seen] == ["node-0"]
    assert all(outcome.is_bound for outcome in outcomes.values())
    assert set(cluster.bound()) == set(names)


def test_a_gang_whose_first_pod_cannot_be_bound_is_not_begun(cluster: Cluster) -> None:
    names = cluster.add_gang("g", 3)
    first, *rest = (ref(cluster, name) for name in names)
    cluster.delete(path("g-0"), grace=0)
    gang = [order(first, notes=(("ganglion.dev/plan", "p"),)), *(order(each) for each in rest)]
    outcomes = on(cluster.kubeconfig, lambda api: bind_gangs(api, [gang], QUICK))
    assert verdicts(list(outcomes.values())) == [
        WriteVerdict.GONE,
        WriteVerdict.WITHHELD,
        WriteVerdict.WITHHELD,
    ]
    assert cluster.bound() == {}
    assert leaving(cluster, "g-0")
