"""Any write of a start and of a preemption goes wrong once; all comes to its end all the same.

`make soak` lets every write go wrong; every change one of eight, other ones by each fault.
"""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import Fault, status
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.proxy import Proxy
from tests.effort import sample
from tests.worlds.kubernetes.troubled import (
    all_run,
    matters,
    overbooked,
    priority,
    scheduling,
    settled,
)

MOST_WRITES = 40
JOBS = "/apis/batch/v1/namespaces/default/jobs"

Story = Callable[[Cluster], Callable[[], bool]]
"""Makes the objects; returns what tells that everything has come to its end."""


def start(cluster: Cluster) -> Callable[[], bool]:
    """Two gangs, of which one fits at a time, and a third that fits beside either."""
    cluster.add_nodes(3, gpus=4)
    large = {*cluster.add_gang("a", 2, gpus=4), *cluster.add_gang("b", 2, gpus=4)}
    small = set(cluster.add_gang("c", 2, gpus=2))

    def is_over() -> bool:
        bound = set(cluster.bound())
        return len(bound & large) == 2 and small <= bound

    return is_over


def preemption(cluster: Cluster) -> Callable[[], bool]:
    """A gang for which the pod of a Job has to go, and one that is not made again."""
    cluster.add_nodes(2, gpus=4)
    cluster.create(manifests.job("low", gpus=4), priority("urgent", 1000))
    cluster.add_pods(1, prefix="lower", gpus=4)
    job = cluster.get(f"{JOBS}/low")["metadata"]["uid"]

    def made() -> list[str]:
        pods = cluster.pods()
        # Controllers may make, and then remove, one more of the Job of this name that was wiped.
        owners = [o["uid"] for p in pods.values() for o in p["metadata"].get("ownerReferences", ())]
        return sorted(pods) if len(pods) == 2 and owners == [job] else []

    for index, name in enumerate(cluster.wait(made, "the pod of the Job")):
        cluster.bind(name, f"node-{index}")
    cluster.wait(lambda: all_run(cluster), "both of them run")
    high = set(cluster.add_gang("high", 2, gpus=4, priorityClassName="urgent"))

    def is_over() -> bool:
        pods, job = cluster.pods(), cluster.get(f"{JOBS}/low")
        is_resumed = not job["spec"].get("suspend") and not job["metadata"].get("annotations")
        return set(cluster.bound()) == high and is_resumed and len(high ^ set(pods)) == 1

    return is_over


def nothing() -> None:
    """The server takes the write; that the client never learns of it is what matters."""


FAULTS: dict[str, Fault] = {
    "409": Fault(matters, answer=status(409)),
    "429": Fault(matters, answer=status(429, retry_after_s=1)),
    "500": Fault(matters, answer=status(500)),
    "cut-before": Fault(matters, cut=True),
    "cut-after": Fault(matters, after=nothing, cut=True),
}


@pytest.mark.parametrize("story", [start, preemption], ids=lambda s: s.__name__)
@pytest.mark.parametrize("fault", FAULTS)
def test_any_write_may_go_wrong_once(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, manager: None, story: Story, fault: str
) -> None:
    hit = 0
    for nth in sample(range(MOST_WRITES), 8, turn=list(FAULTS).index(fault)):
        is_over = story(cluster)
        placed = proxy.add(replace(FAULTS[fault], skip=nth))
        with scheduling(proxy):
            settled(cluster, kubelets, is_over, f"{fault} to write {nth}")
        assert not overbooked(cluster)
        proxy.heal()
        cluster.plane.wipe()
        if placed.times:
            break
        hit += 1
    else:
        raise AssertionError(f"the story has more than {MOST_WRITES} writes")
    assert hit
