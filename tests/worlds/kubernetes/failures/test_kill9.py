"""kill -9 of the scheduler before and after the writes of a story; then another one goes on.

`make soak` kills it at every write; every change at one of six, not the same before and after.

A scheduler keeps nothing but what is in the cluster, so one that can write no more from some
moment on is a killed one. With GANGLION_KILL9=process every one is a process that is killed
indeed, which takes several times as long.
"""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from ganglion.extensions import load
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.config import load as endpoint_of
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.proxy import Proxy
from tests.effort import sample
from tests.worlds.kubernetes.process import SchedulerProcess

DEADLINE_S = 60.0
JOBS = "/apis/batch/v1/jobs"
LATE_S = 1.0
MOST_WRITES = 60
PROCESSES = os.environ.get("GANGLION_KILL9") == "process"

Over = Callable[[], bool]
Story = Callable[[Cluster], Over]
"""Makes the objects; returns what tells that everything has come to its end."""


def gang_starts(cluster: Cluster) -> Over:
    """Two gangs, of which one fits at a time, and a third that fits beside either."""
    cluster.add_nodes(3, gpus=4)
    names = [*cluster.add_gang("a", 2, gpus=4), *cluster.add_gang("b", 2, gpus=4)]
    cluster.add_gang("c", 2, gpus=2)

    def is_over() -> bool:
        bound = set(cluster.bound())
        return len(bound & set(names)) == 2 and {"c-0", "c-1"} <= bound

    return is_over


def gang_preempts(cluster: Cluster) -> Over:
    """A gang for which the pods of two Jobs have to go."""
    cluster.create(_urgent())
    cluster.add_nodes(2, gpus=4)
    for index in range(2):
        cluster.create(manifests.job(f"victim-{index}", gpus=4, count=1))
    names = list(cluster.wait(lambda: len(p := cluster.pods()) == 2 and p, "pods of the Jobs"))
    for index, name in enumerate(names):
        cluster.bind(name, f"node-{index}")
    cluster.wait(lambda: _all_run(cluster), "all of them run")
    cluster.add_gang("high", 2, gpus=4, priorityClassName="urgent")

    def is_over() -> bool:
        bound, pods = cluster.bound(), cluster.pods()
        return {"high-0", "high-1"} <= set(bound) and len(pods) == 4

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


@contextmanager
def _kubelets(cluster: Cluster) -> Iterator[Kubelets]:
    """With heartbeats: the node controller is at work for longer than it waits for those."""
    running = Kubelets(cluster.plane, leases=True).start()
    try:
        yield running
    finally:
        running.stop()


@pytest.mark.parametrize("story", [gang_starts, gang_preempts], ids=lambda s: s.__name__)
@pytest.mark.parametrize("forwarded", [False, True], ids=["before", "after"])
def test_another_scheduler_goes_on_wherever_the_first_was_killed(
    cluster: Cluster, proxy: Proxy, manager: None, story: Story, forwarded: bool
) -> None:
    killed = 0
    for nth in sample(range(1, MOST_WRITES), 6, turn=2 * forwarded):
        with _kubelets(cluster) as kubelets:
            is_over = story(cluster)
            if not _killed_at(cluster, proxy, nth, forwarded, is_over):
                break
            _another_goes_on(cluster, is_over, nth)
            assert not kubelets.refused, f"killed at write {nth}"
        killed += 1
        cluster.plane.wipe()
    else:
        raise AssertionError(f"the story has more than {MOST_WRITES} writes")
    assert killed > 1


def _killed_at(cluster: Cluster, proxy: Proxy, nth: int, forwarded: bool, is_over: Over) -> bool:
    """Run a scheduler until its nth write; False = the story is over before."""
    dead = threading.Event()
    with ExitStack() as stack:
        kill = _doomed(stack, proxy, dead)

        def strike() -> None:
            dead.set()
            kill()

        proxy.at_write(nth, strike, forwarded=forwarded)
        cluster.wait(lambda: dead.is_set() or is_over(), f"write {nth}", DEADLINE_S)
        # Writes that the story does not wait for, as events, come soon after.
        dead.wait(LATE_S)
    proxy.heal()
    if dead.is_set():
        if not PROCESSES:
            proxy.up()
        _no_write_is_under_way(cluster)
    return dead.is_set()


def _no_write_is_under_way(cluster: Cluster) -> None:
    """What was sent before the end may be done after it; the Lease lasts longer than that."""
    seen: list[object] = [None, None]

    def is_still() -> bool:
        seen.append(
            {name: pod["metadata"]["resourceVersion"] for name, pod in cluster.pods().items()}
        )
        return seen[-1] == seen[-2] == seen[-3]

    cluster.wait(is_still, "nothing changes any more")


def _doomed(stack: ExitStack, proxy: Proxy, dead: threading.Event) -> Callable[[], None]:
    """Start the first scheduler; returns what kills it."""
    if PROCESSES:
        return stack.enter_context(SchedulerProcess(proxy.kubeconfig())).kill
    first = _scheduler(endpoint_of(proxy.kubeconfig()), lambda: not dead.is_set())
    stack.callback(first.stop)
    return proxy.down


def _another_goes_on(cluster: Cluster, is_over: Over, nth: int) -> None:
    with ExitStack() as stack:
        if PROCESSES:
            stack.enter_context(SchedulerProcess(cluster.kubeconfig))
        else:
            stack.callback(_scheduler(cluster.endpoint, lambda: True).stop)
        try:
            cluster.wait(is_over, f"the end of the story, killed at write {nth}", DEADLINE_S)
            cluster.wait(lambda: not _half(cluster), f"no half gang, killed at write {nth}")
        except AssertionError as error:
            for each in (*cluster.pods().values(), *cluster.list(JOBS)):
                error.add_note(json.dumps(each))
            raise


def _scheduler(endpoint: ApiEndpoint, may: Callable[[], bool]) -> Scheduler:
    scheduler = Scheduler({"": endpoint}, "test", may=may, load=load)
    scheduler.start()
    return scheduler


def _half(cluster: Cluster) -> set[str]:
    """Gangs of which some pods are bound and others are not."""
    bound, gangs = cluster.bound(), dict[str, set[bool]]()
    for name, pod in cluster.pods().items():
        gang = pod["metadata"]["labels"].get("ganglion.dev/gang")
        if gang:
            gangs.setdefault(gang, set()).add(name in bound)
    return {gang for gang, states in gangs.items() if len(states) > 1}
