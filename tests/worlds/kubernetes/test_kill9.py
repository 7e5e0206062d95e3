"""kill -9 of the scheduler before and after every write of a story; then another one goes on."""

from collections.abc import Callable

import pytest
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.process import SchedulerProcess

DEADLINE_S = 40.0
MOST_WRITES = 60

Story = Callable[[Cluster], Callable[[], bool]]
"""Makes the objects; returns what tells that everything has come to its end."""


def gang_starts(cluster: Cluster) -> Callable[[], bool]:
    """Two gangs, of which one fits at a time, and a third that fits beside either."""
    cluster.add_nodes(3, gpus=4)
    names = [*cluster.add_gang("a", 2, gpus=4), *cluster.add_gang("b", 2, gpus=4)]
    cluster.add_gang("c", 2, gpus=2)

    def is_over() -> bool:
        bound = set(cluster.bound())
        return len(bound & set(names)) == 2 and {"c-0", "c-1"} <= bound

    return is_over


def gang_preempts(cluster: Cluster) -> Callable[[], bool]:
    """A gang for which the pods of four Jobs have to go."""
    cluster.add_nodes(2, gpus=4)
    for index in range(4):
        cluster.create(manifests.job(f"victim-{index}", gpus=2, count=1))
    names = list(cluster.wait(lambda: len(p := cluster.pods()) == 4 and p, "pods of the Jobs"))
    for index, name in enumerate(names):
        cluster.bind(name, f"node-{index % 2}")
    cluster.wait(lambda: _all_run(cluster), "all of them run")
    cluster.create(_urgent())
    cluster.add_gang("high", 2, gpus=4, priorityClassName="urgent")

    def is_over() -> bool:
        bound, pods = cluster.bound(), cluster.pods()
        return {"high-0", "high-1"} <= set(bound) and len(pods) == 6

    return is_over


def _all_run(cluster: Cluster) -> bool:
    return all(pod["status"]["phase"] == "Running" for pod in cluster.pods().values())


def _urgent() -> manifests.Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }


@pytest.mark.parametrize("story", [gang_starts, gang_preempts], ids=lambda s: s.__name__)
@pytest.mark.parametrize("forwarded", [False, True], ids=["before", "after"])
def test_another_scheduler_goes_on_wherever_the_first_was_killed(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, manager: None, story: Story, forwarded: bool
) -> None:
    killed = 0
    for nth in range(1, MOST_WRITES):
        is_over = story(cluster)
        if not _killed_at(cluster, proxy, nth, forwarded, is_over):
            break
        killed += 1
        _no_half_gang_runs_on(cluster, is_over)
        assert not kubelets.refused
        cluster.plane.wipe()
    else:
        pytest.fail(f"more than {MOST_WRITES} writes")
    assert killed > 4


def _killed_at(
    cluster: Cluster, proxy: Proxy, nth: int, forwarded: bool, is_over: Callable[[], bool]
) -> bool:
    """Run a scheduler until its nth write; False = the story is over before."""
    path = proxy.kubeconfig()
    with SchedulerProcess(path) as scheduler:
        proxy.at_write(nth, scheduler.kill, forwarded=forwarded)
        cluster.wait(
            lambda: scheduler.process.poll() is not None or is_over(),
            f"write {nth}: {scheduler.log[-2000:]}",
            DEADLINE_S,
        )
        # Writes that the story does not wait for, as events, come soon after.
        dead = scheduler.wait_dead(1.0)
    proxy.heal()
    return dead


def _no_half_gang_runs_on(cluster: Cluster, is_over: Callable[[], bool]) -> None:
    with SchedulerProcess(cluster.kubeconfig) as scheduler:
        cluster.wait(is_over, "the end of the story", DEADLINE_S)
        cluster.wait(lambda: not _half(cluster), f"no half gang: {scheduler.log[-2000:]}")


def _half(cluster: Cluster) -> set[str]:
    bound, pods = cluster.bound(), cluster.pods()
    gangs: dict[str, set[bool]] = {}
    for name, pod in pods.items():
        gang = pod["metadata"]["labels"].get("ganglion.dev/gang")
        if gang:
            gangs.setdefault(gang, set()).add(name in bound)
    return {gang for gang, states in gangs.items() if len(states) > 1}
