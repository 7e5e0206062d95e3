"""What is said on pods, and what is left as it was."""

import msgspec
from msgspec.structs import replace

from ganglion.seams.effects import SYSTEM
from ganglion.worlds.kubernetes.types.meta import Meta
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.victims import victim_of
from ganglion.worlds.kubernetes.writes.conditions import (
    clear_victim,
    mark_incomplete,
    mark_victim,
    say_all,
    say_why,
    unschedulable,
)
from ganglion.worlds.kubernetes.writes.evict import evict
from ganglion.worlds.kubernetes.writes.nominate import nominate, unnominate
from ganglion.worlds.kubernetes.writes.outcome import ObjectRef, WriteOutcome, WriteVerdict
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import on as requests
from tests.controlplane.proxy import Proxy
from tests.faults.clock import HandClock
from tests.worlds.kubernetes.writes.real import QUICK, on, path, pod, ref

KEY = "research/Job/big-1/1a2b3c-44/3"
NOON_MS = 1_750_000_000_000
STATUS = requests("PATCH", "/status$")


def conditions(cluster: Cluster, name: str) -> dict[str, str]:
    return {each.type: each.status for each in pod(cluster, name).status.conditions}


def set_condition(cluster: Cluster, name: str, **condition: str) -> None:
    body = {"status": {"conditions": [condition]}}
    cluster.patch(f"{path(name)}/status", body, "strategic")


def mark(cluster: Cluster, who: ObjectRef, key: str = KEY) -> WriteOutcome:
    return on(cluster.kubeconfig, lambda api: mark_victim(api, who, key, QUICK))


def test_a_victim_says_for_whom_it_goes_and_keeps_its_other_conditions(cluster: Cluster) -> None:
    cluster.create(manifests.pod("pod-0", annotations={"mine": "1"}))
    set_condition(cluster, "pod-0", type="Ready", status="True")
    set_condition(cluster, "pod-0", type="example.com/own", status="False")
    who = ref(cluster, "pod-0")
    assert mark(cluster, who).verdict is WriteVerdict.DONE
    assert mark(cluster, who).verdict is WriteVerdict.DONE
    marked = pod(cluster, "pod-0")
    assert victim_of(marked) == KEY
    condition = marked.condition("DisruptionTarget")
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", "PreemptionByScheduler")
    assert KEY in condition.message
    assert condition.last_transition_time
    assert conditions(cluster, "pod-0") == {
        "Ready": "True",
        "example.com/own": "False",
        "DisruptionTarget": "True",
    }
    assert marked.metadata.annotations["mine"] == "1"


def test_the_mark_is_one_write(cluster: Cluster, proxy: Proxy) -> None:
    cluster.add_pods(1)
    who = ref(cluster, "pod-0")
    on(proxy.kubeconfig(), lambda api: mark_victim(api, who, KEY, QUICK))
    assert len(proxy.seen) == 1


def test_the_beneficiary_is_known_from_the_condition_alone(cluster: Cluster) -> None:
    cluster.add_pods(1)
    mark(cluster, ref(cluster, "pod-0"))
    cluster.patch(path("pod-0"), {"metadata": {"annotations": None}})
    assert victim_of(pod(cluster, "pod-0")) == KEY


def test_the_eviction_api_does_not_make_the_beneficiary_forgotten(cluster: Cluster) -> None:
    cluster.create(manifests.pod("pod-0", nodeName="node-0"))
    who = ref(cluster, "pod-0")
    mark(cluster, who)
    assert (
        on(cluster.kubeconfig, lambda api: evict(api, who, 60, QUICK)).verdict is WriteVerdict.DONE
    )
    gone = pod(cluster, "pod-0")
    condition = gone.condition("DisruptionTarget")
    assert condition is not None
    assert condition.reason == "EvictionByEvictionAPI"
    assert gone.is_leaving
    assert victim_of(gone) == KEY


def test_a_mark_is_taken_back_and_nothing_else(cluster: Cluster) -> None:
    cluster.create(manifests.pod("pod-0", annotations={"mine": "1"}))
    set_condition(cluster, "pod-0", type="Ready", status="True")
    who = ref(cluster, "pod-0")
    mark(cluster, who)
    spare = on(cluster.kubeconfig, lambda api: clear_victim(api, who, QUICK))
    assert spare.verdict is WriteVerdict.DONE
    assert victim_of(pod(cluster, "pod-0")) is None
    assert conditions(cluster, "pod-0") == {"Ready": "True"}
    assert pod(cluster, "pod-0").metadata.annotations == {"mine": "1"}
    again = on(cluster.kubeconfig, lambda api: clear_victim(api, who, QUICK))
    assert again.holds


def test_the_mark_of_a_pod_that_is_leaving_stays(cluster: Cluster) -> None:
    cluster.create(manifests.pod("pod-0", nodeName="node-0"))
    who = ref(cluster, "pod-0")
    mark(cluster, who)
    cluster.delete(path("pod-0"), grace=60)
    on(cluster.kubeconfig, lambda api: clear_victim(api, who, QUICK))
    assert conditions(cluster, "pod-0")["DisruptionTarget"] == "True"


def test_a_mark_is_not_taken_from_a_pod_that_changes_meanwhile(
    cluster: Cluster, proxy: Proxy
) -> None:
    cluster.create(manifests.pod("pod-0", nodeName="node-0"))
    who = ref(cluster, "pod-0")
    mark(cluster, who)
    fault = proxy.at_write(1, lambda: cluster.delete(path("pod-0"), grace=60), forwarded=False)
    outcome = on(proxy.kubeconfig(), lambda api: clear_victim(api, who, QUICK))
    assert fault.times == 0
    assert outcome.verdict is WriteVerdict.GONE
    assert victim_of(pod(cluster, "pod-0")) == KEY


def test_another_pod_of_the_name_is_no_victim(cluster: Cluster) -> None:
    cluster.add_pods(1)
    old = ref(cluster, "pod-0")
    cluster.delete(path("pod-0"), grace=0)
    cluster.add_pods(1)
    assert mark(cluster, old).verdict is WriteVerdict.GONE
    nominated = on(cluster.kubeconfig, lambda api: nominate(api, [(old, "node-0")], QUICK))
    assert nominated[old.uid].verdict is WriteVerdict.GONE
    assert conditions(cluster, "pod-0") == {}
    assert pod(cluster, "pod-0").status.nominated_node_name == ""


def test_marks_of_others_are_not_ours(cluster: Cluster) -> None:
    cluster.add_pods(2)
    condition = {"type": "DisruptionTarget", "status": "True"}
    set_condition(cluster, "pod-0", **condition, reason="DeletionByTaintManager", message="x")
    who = ref(cluster, "pod-1")
    on(cluster.kubeconfig, lambda api: mark_incomplete(api, who, 'no "place"', QUICK))
    assert victim_of(pod(cluster, "pod-0")) is None
    assert victim_of(pod(cluster, "pod-1")) is None
    assert conditions(cluster, "pod-1") == {"DisruptionTarget": "True"}
    who = ref(cluster, "pod-0")
    on(cluster.kubeconfig, lambda api: clear_victim(api, who, QUICK))
    assert conditions(cluster, "pod-0") == {"DisruptionTarget": "True"}


def test_promises_are_made_and_taken_back(cluster: Cluster, proxy: Proxy) -> None:
    cluster.add_pods(3)
    whos = [ref(cluster, f"pod-{index}") for index in range(3)]
    proxy.swallow(STATUS)
    proxy.fail(STATUS, 503)
    places = [(who, f"node-{index}") for index, who in enumerate(whos)]
    outcomes = on(proxy.kubeconfig(), lambda api: nominate(api, places, QUICK))
    assert all(outcome.holds for outcome in outcomes.values())
    told = [pod(cluster, f"pod-{i}").status.nominated_node_name for i in range(3)]
    assert told == ["node-0", "node-1", "node-2"]
    outcomes = on(cluster.kubeconfig, lambda api: unnominate(api, whos[:2], QUICK))
    assert list(outcomes) == [who.uid for who in whos[:2]]
    told = [pod(cluster, f"pod-{i}").status.nominated_node_name for i in range(3)]
    assert told == ["", "", "node-2"]


def test_a_binding_redeems_the_promise(cluster: Cluster) -> None:
    cluster.add_pods(1)
    who = ref(cluster, "pod-0")
    on(cluster.kubeconfig, lambda api: nominate(api, [(who, "node-0")], QUICK))
    cluster.bind("pod-0", "node-0")
    assert pod(cluster, "pod-0").status.nominated_node_name == ""


def why(cluster: Cluster, seen: Pod, message: str, now_ms: int = NOON_MS) -> WriteVerdict:
    pace = replace(QUICK, effects=SYSTEM._replace(clock=HandClock(now_ms)))
    told = on(cluster.kubeconfig, lambda api: say_why(api, seen, message, pace))
    return told.verdict


def test_a_pod_says_why_it_waits_and_only_when_that_changes(cluster: Cluster) -> None:
    cluster.add_pods(1)
    assert why(cluster, pod(cluster, "pod-0"), "8 GPUs are missing") is WriteVerdict.DONE
    first = pod(cluster, "pod-0")
    assert why(cluster, first, "8 GPUs are missing", NOON_MS + 60_000) is WriteVerdict.UNCHANGED
    assert pod(cluster, "pod-0").metadata.resource_version == first.metadata.resource_version
    assert why(cluster, first, "4 GPUs are missing", NOON_MS + 60_000) is WriteVerdict.DONE
    condition = pod(cluster, "pod-0").condition("PodScheduled")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    assert condition.message == "4 GPUs are missing"
    assert condition.last_transition_time == "2025-06-15T15:06:40Z"


def test_a_pod_at_our_gate_says_why_it_waits_and_that_it_is_gated(cluster: Cluster) -> None:
    cluster.create(manifests.pod("ours", schedulingGates=[{"name": "ganglion.dev/gate"}]))
    assert why(cluster, pod(cluster, "ours"), "4 GPUs are missing") is WriteVerdict.DONE
    condition = pod(cluster, "ours").condition("PodScheduled")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "SchedulingGated")
    assert condition.message == "4 GPUs are missing"
    assert why(cluster, pod(cluster, "ours"), "4 GPUs are missing") is WriteVerdict.UNCHANGED


def test_pods_at_gates_of_others_and_bound_and_leaving_ones_are_told_nothing(
    cluster: Cluster,
) -> None:
    cluster.create(manifests.pod("gated", schedulingGates=[{"name": "a.example.com/b"}]))
    cluster.create(manifests.pod("bound", nodeName="node-0"))
    before = {name: pod(cluster, name) for name in ("gated", "bound")}
    for seen in before.values():
        assert why(cluster, seen, "no room") is WriteVerdict.UNCHANGED
    assert {name: pod(cluster, name) for name in before} == before
    gate = before["gated"].condition("PodScheduled")
    assert gate is not None
    assert gate.reason == "SchedulingGated"
    leaving = Pod(metadata=Meta(name="x", deletion_timestamp="2025-01-01T00:00:00Z"))
    assert unschedulable(leaving, "no room", NOON_MS) is None


def test_a_pod_bound_since_it_was_seen_is_not_said_to_wait(cluster: Cluster) -> None:
    cluster.add_pods(1)
    seen = pod(cluster, "pod-0")
    cluster.bind("pod-0", "node-0")
    assert why(cluster, seen, "no room") is WriteVerdict.UNCHANGED
    assert conditions(cluster, "pod-0")["PodScheduled"] == "True"


def test_many_pods_are_told_at_once_and_those_that_know_are_left_alone(
    cluster: Cluster, proxy: Proxy
) -> None:
    cluster.add_pods(4)
    seen = [pod(cluster, f"pod-{index}") for index in range(4)]
    why(cluster, seen[0], "no room")
    said = [(pod(cluster, each.metadata.name), "no room") for each in seen]
    outcomes = on(proxy.kubeconfig(), lambda api: say_all(api, said, QUICK))
    assert [o.verdict for o in outcomes.values()] == [WriteVerdict.UNCHANGED] + [
        WriteVerdict.DONE
    ] * 3
    assert len(proxy.seen) == 3


def test_long_messages_are_cut_and_not_written_again() -> None:
    body = unschedulable(Pod(), "x" * 10_000, NOON_MS)
    assert body is not None
    told = msgspec.convert({"metadata": {}, **body}, Pod)
    condition = told.condition("PodScheduled")
    assert condition is not None
    assert len(condition.message) == 4096
    assert unschedulable(told, "x" * 10_000, NOON_MS) is None
