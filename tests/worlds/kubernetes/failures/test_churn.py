"""Gangs come and go while the API server fails at random: nothing is overbooked, torn or left.

A few dozen pods on every change, more by `make soak`, which also runs `python -m tests.soak`:
5,000 pods over an hour. The seed is in the name of the test.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from threading import Event, Thread

import pytest
from msgspec import Struct, field

from ganglion.worlds.kubernetes.controller import ClusterController
from tests import effort
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import Fault, status, watches
from tests.controlplane.kubelet import RUN, Kubelets
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.troubled import (
    GANG,
    Witness,
    halves,
    matters,
    overbooked,
    priority,
    scheduling,
)

AT_LENGTH = effort.TIMES > 1
PODS = 800 if AT_LENGTH else 80
LASTS_S = 600 if AT_LENGTH else 60
NODES, GPUS = 8, 4
WAITING = 24
"""Most pods that have not ended, so that there is always a queue."""
GIVEN_UP = 0.01
"""How often a gang is taken away in one look before it has ended."""
TORN_S = 25.0
"""Longest time for which a gang may be bound in part: a start, a fault and a second start."""
SIZE = "ganglion.dev/gang-size"
PODS_PATH = "/api/v1/namespaces/default/pods"


class Churn(Struct):
    """Gangs that are made and taken away, by a seed.

    Attributes:
        cluster: where.
        chance: the seed's.
        most: pods to be made in all.
        made: pods made so far.
        live: gangs that have pods -> how many of them are still to be made.
    """

    cluster: Cluster
    chance: Random
    most: int = PODS
    made: int = 0
    live: dict[str, int] = field(default_factory=dict)

    def go_on(self) -> None:
        """Take away what has ended, complete what was begun, make something new."""
        pods = self.cluster.pods()
        for gang, missing in list(self.live.items()):
            own = [pod for pod in pods.values() if pod["metadata"]["labels"].get(GANG) == gang]
            ended = all(pod["status"].get("phase") in {"Succeeded", "Failed"} for pod in own)
            if (ended and not missing) or self.chance.random() < GIVEN_UP:
                self._remove(gang)
            elif missing:
                self._complete(gang, missing, own)
        if self.made < self.most and len(pods) < WAITING:
            self._make()

    def end(self) -> None:
        """Take everything away."""
        for gang in list(self.live):
            self._remove(gang)

    def _make(self) -> None:
        size, name = self.chance.randint(1, 6), f"g{self.made}"
        late = self.chance.randrange(size) if self.chance.random() < 0.2 else 0
        more: Object = {} if self.chance.random() < 0.8 else {"priorityClassName": "urgent"}
        lasts = f"{self.chance.uniform(0.1, 1.5):.2f}"
        gpus = self.chance.choice([1, 1, 2, 4])
        notes = {"ganglion.dev/gang-size": str(size), RUN: lasts}
        for index in range(size - late):
            self._pod(name, index, gpus=gpus, annotations=notes, **more)
        self.live[name], self.made = late, self.made + size

    def _complete(self, gang: str, missing: int, own: list[Object]) -> None:
        if not own:
            self.live[gang] = 0
            return
        first = own[0]
        requests = first["spec"]["containers"][0]["resources"]["requests"]
        gpus = int(requests["nvidia.com/gpu"])
        notes = {key: first["metadata"]["annotations"][key] for key in (RUN, SIZE)}
        more = {"priorityClassName": "urgent"} if first["spec"].get("priority") else {}
        for index in range(int(notes[SIZE]) - missing, int(notes[SIZE])):
            self._pod(gang, index, gpus=gpus, annotations=notes, **more)
        self.live[gang] = 0

    def _pod(self, gang: str, index: int, **more: object) -> None:
        self.cluster.add_pods(1, prefix=f"{gang}-{index}", labels={GANG: gang}, **more)

    def _remove(self, gang: str) -> None:
        selector = {"labelSelector": f"{GANG}={gang}"}
        self.cluster.call("DELETE", PODS_PATH, {}, params=selector)
        del self.live[gang]


@contextmanager
def troubled(proxy: Proxy, chance: Random) -> Iterator[None]:
    """Meanwhile something goes wrong again and again; at the end nothing does any more."""
    over = Event()

    def once() -> None:
        what = chance.randrange(7)
        times = chance.randint(1, 4)
        if what < 3:
            codes = {0: status(409), 1: status(429, retry_after_s=1), 2: status(500)}
            proxy.add(Fault(matters, times=times, answer=codes[what]))
        elif what == 3:
            proxy.swallow(matters, times=times)
        elif what == 4:
            proxy.cut(matters, times=times)
        elif what == 5:
            proxy.drop(watches)
            proxy.add(Fault(watches, times=1, answer=status(410)))
        else:
            proxy.down()
            over.wait(chance.uniform(0.1, 1.0))
            proxy.up()

    def on_and_on() -> None:
        while not over.wait(chance.uniform(0.3, 1.2)):
            once()
            proxy.seen.clear()

    thread = Thread(target=on_and_on, daemon=True, name="trouble")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        proxy.heal()


class Torn:
    """Gangs that are bound in part, and since when.

    Args:
        cluster: where.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._since = cluster, dict[str, float]()

    def too_long(self) -> list[str]:
        """Gangs that have been so for longer than a start takes."""
        now, found = time.monotonic(), halves(self._cluster)
        self._since = {gang: self._since.get(gang, now) for gang in found}
        return [gang for gang, since in self._since.items() if now - since > TORN_S]


def left_over(controller: ClusterController) -> dict[str, object]:
    """What the scheduler still remembers of gangs."""
    scene = controller.scene
    held = {
        "records": scene.state.gangs.records,
        "attempts": scene.attempts.by_gang,
        "founds": scene.gangs.founds,
        "seated": scene.attempts.seated,
        "failures": scene.starts.failures,
        "awaited": scene.gangs.awaited,
        "blocked": scene.evictions.blocked,
        "complaints": scene.gangs.complaints,
    }
    return {name: dict(each) for name, each in held.items() if each}


@pytest.mark.parametrize("seed", [20260101])
def test_churn_under_faults_overbooks_tears_and_leaves_nothing(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, seed: int
) -> None:
    chance = Random(seed)
    cluster.add_nodes(NODES, gpus=GPUS)
    cluster.create(priority("urgent", 1000))
    churn, torn = Churn(cluster, chance), Torn(cluster)
    begun = time.monotonic()
    with scheduling(proxy) as scheduler:
        with troubled(proxy, Random(seed + 1)), Witness(lambda: overbooked(cluster), 0.2):
            while churn.made < churn.most and time.monotonic() - begun < LASTS_S:
                churn.go_on()
                assert not torn.too_long()
                time.sleep(0.05)
        assert churn.made >= (200 if AT_LENGTH else PODS), "too slow to say anything"
        churn.most = churn.made

        def is_done() -> bool:
            churn.go_on()
            return not churn.live

        cluster.wait(is_done, "every gang has run and gone", 90)
        assert not halves(cluster)
        assert not kubelets.refused

        def is_empty() -> bool:
            with scheduler.read() as controller:
                return not left_over(controller)

        try:
            cluster.wait(is_empty, "the scheduler forgets what is gone")
        except AssertionError:
            with scheduler.read() as controller:
                assert left_over(controller) == {}
