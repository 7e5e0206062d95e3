"""Schedulers that work while something goes wrong, and what has to hold whatever it is."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Self

from ganglion.extensions import load
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import load as load_config
from tests.controlplane.amounts import Amounts, amounts, requested
from tests.controlplane.cluster import Cluster
from tests.controlplane.http1 import Request
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy

QUICK = Settings(assemble_ms=3_000, replace_ms=1_000, backoff_ms=100)
"""Waits that tests can wait for."""

GANG = "ganglion.dev/gang"


@contextmanager
def scheduling(
    where: Cluster | Proxy, settings: Settings = QUICK, **more: Any
) -> Iterator[Scheduler]:
    """A scheduler at work on a cluster, directly or through a proxy."""
    endpoint = where.endpoint if isinstance(where, Cluster) else load_config(where.kubeconfig())
    options = {"may": lambda: True, "load": load, "settings": settings, **more}
    scheduler = Scheduler({"": endpoint}, "test", **options)
    scheduler.start()
    try:
        yield scheduler
        assert not scheduler.trouble
        with scheduler.read() as controller:
            controller.scene.state.validate()
    finally:
        scheduler.stop()


def matters(request: Request) -> bool:
    """Writes other than those that tell what has happened."""
    return request.method not in {"GET", "HEAD"} and "/events" not in request.path


def halves(cluster: Cluster) -> set[str]:
    """Gangs of which some pods are bound and others are not."""
    gangs: dict[str, set[bool]] = defaultdict(set)
    for pod in cluster.pods().values():
        gang = pod["metadata"].get("labels", {}).get(GANG)
        if gang and pod["status"].get("phase") not in {"Succeeded", "Failed"}:
            gangs[gang].add("nodeName" in pod["spec"])
    return {gang for gang, states in gangs.items() if len(states) > 1}


def settled(cluster: Cluster, kubelets: Kubelets, is_over: Callable[[], bool], what: str) -> None:
    """Wait for the end of a story, and see that it is a good one."""
    cluster.wait(is_over, what)
    cluster.wait(lambda: not halves(cluster), f"{what}: no half gang")
    assert not kubelets.refused, what


def wants(pod: Object) -> bool:
    """Whether a pod holds what it requests."""
    return "nodeName" in pod["spec"] and pod["status"].get("phase") not in {"Succeeded", "Failed"}


def overbooked(cluster: Cluster) -> dict[str, Amounts]:
    """Node -> what is requested of it beyond what it has."""
    pods = cluster.pods().values()
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in filter(wants, pods):
        used[pod["spec"]["nodeName"]].update(requested(pod))
    room = {name: amounts(node["status"]["allocatable"]) for name, node in cluster.nodes().items()}
    over = {
        node: {name: n for name, n in asked.items() if n > room[node].get(name, 0)}
        for node, asked in used.items()
        if node in room
    }
    return {node: asked for node, asked in over.items() if asked}


class Witness:
    """Looks again and again whether something is so that never may be.

    Args:
        look: returns what is wrong; empty = nothing.
        every_s: pause between two looks.
    """

    def __init__(self, look: Callable[[], object], every_s: float = 0.02) -> None:
        self._look, self._every_s = look, every_s
        self._done = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self.looks = 0
        self.wrong: object = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        assert self.looks, "nobody has looked"
        assert not self.wrong, self.wrong

    def _watch(self) -> None:
        while not self.wrong:
            self.wrong = self._look()
            self.looks += 1
            if self._done.wait(self._every_s):
                return


def told(pod: Object) -> str:
    """Why a pod waits, as it says; empty = it does not say."""
    found = (c for c in pod["status"].get("conditions", ()) if c["type"] == "PodScheduled")
    return next((c.get("message", "") for c in found if c["status"] == "False"), "")


def priority(name: str, value: int, **more: Any) -> Object:
    """A PriorityClass."""
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value, **more}
    return body | {"metadata": {"name": name}}


def all_run(cluster: Cluster) -> bool:
    """Whether all pods run."""
    return all(pod["status"]["phase"] == "Running" for pod in cluster.pods().values())
