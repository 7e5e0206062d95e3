"""Gate mode on a real API server."""

from ganglion.worlds.kubernetes.names import GATE
from ganglion.worlds.kubernetes.writes.annotate import annotate, annotate_devices
from ganglion.worlds.kubernetes.writes.gate import ungate
from ganglion.worlds.kubernetes.writes.outcome import ObjectRef, WriteOutcome, WriteVerdict
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import Fault
from tests.controlplane.faults import on as requests
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.writes.real import QUICK, on, path, pod, ref

OURS = {"name": GATE}
THEIRS = {"name": "other.example.com/gate"}
HOST = "kubernetes.io/hostname"
PATCHES = requests("PATCH")


def gated(cluster: Cluster, *gates: dict[str, str], **rest: object) -> ObjectRef:
    spec = {"schedulingGates": list(gates), "scheduler": "default-scheduler", **rest}
    cluster.create(manifests.pod("p", **spec))
    return ref(cluster, "p")


def lift(
    cluster: Cluster, who: ObjectRef, host: str = "node-1", via: Proxy | None = None
) -> WriteOutcome:
    kubeconfig = via.kubeconfig() if via else cluster.kubeconfig
    return on(kubeconfig, lambda api: ungate(api, who, host, QUICK))


def state(cluster: Cluster) -> tuple[list[str], dict[str, str]]:
    spec = pod(cluster, "p").spec
    return [gate.name for gate in spec.scheduling_gates], spec.node_selector


def test_a_pod_is_let_go_to_one_host(cluster: Cluster) -> None:
    who = gated(cluster, OURS)
    assert lift(cluster, who).verdict is WriteVerdict.DONE
    assert state(cluster) == ([], {HOST: "node-1"})
    assert lift(cluster, who).verdict is WriteVerdict.UNCHANGED
    assert lift(cluster, who, "node-2").verdict is WriteVerdict.ELSEWHERE
    assert state(cluster) == ([], {HOST: "node-1"})


def test_its_own_selector_and_the_gates_of_others_stay(cluster: Cluster) -> None:
    who = gated(cluster, THEIRS, OURS, nodeSelector={"gpu": "h100"})
    assert lift(cluster, who).verdict is WriteVerdict.DONE
    assert state(cluster) == ([THEIRS["name"]], {"gpu": "h100", HOST: "node-1"})


def test_a_pod_that_selects_a_host_itself_goes_nowhere_else(cluster: Cluster) -> None:
    who = gated(cluster, OURS, nodeSelector={HOST: "node-2"})
    assert lift(cluster, who).verdict is WriteVerdict.REFUSED
    assert state(cluster) == ([GATE], {HOST: "node-2"})
    assert lift(cluster, who, "node-2").verdict is WriteVerdict.DONE
    assert state(cluster) == ([], {HOST: "node-2"})


def test_another_gate_lifted_at_the_same_moment_is_no_reason_to_give_up(
    cluster: Cluster, proxy: Proxy
) -> None:
    who = gated(cluster, THEIRS, OURS)

    def lift_theirs() -> None:
        cluster.patch(path("p"), [{"op": "remove", "path": "/spec/schedulingGates/0"}], "json")

    proxy.add(Fault(PATCHES, before=lift_theirs))
    assert lift(cluster, who, via=proxy).verdict is WriteVerdict.DONE
    assert len([each for each in proxy.seen if PATCHES(each)]) == 2
    assert state(cluster) == ([], {HOST: "node-1"})


def test_lost_answers_and_pods_made_anew(cluster: Cluster, proxy: Proxy) -> None:
    who = gated(cluster, OURS)
    proxy.swallow(PATCHES)
    assert lift(cluster, who, via=proxy).holds
    assert state(cluster) == ([], {HOST: "node-1"})
    cluster.delete(path("p"), grace=0)
    assert lift(cluster, who).verdict is WriteVerdict.GONE
    gated(cluster, OURS)
    assert lift(cluster, who).verdict is WriteVerdict.GONE
    assert state(cluster) == ([GATE], {})


def test_devices_are_recorded_before_the_gate_is_lifted(cluster: Cluster) -> None:
    who = gated(cluster, OURS)
    outcome = on(cluster.kubeconfig, lambda api: annotate_devices(api, who, (1, 0), pace=QUICK))
    assert outcome.verdict is WriteVerdict.DONE
    assert pod(cluster, "p").metadata.annotations["ganglion.dev/devices"] == "0,1"
    assert state(cluster) == ([GATE], {})
    on(cluster.kubeconfig, lambda api: annotate(api, who, {"ganglion.dev/devices": None}))
    assert list(pod(cluster, "p").metadata.annotations) == ["ganglion.dev/cdi-devices"]
