"""What goes wrong, drawn from a seed: requests, watches, processes, leadership and nodes."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random

import httpx2

from ganglion.model.errors import EnvironmentFault
from tests.controlplane.cluster import Cluster, Refused
from tests.controlplane.faults import Fault, on, status, watches
from tests.controlplane.http1 import Request
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.soak.schedulers import Schedulers

AWAY = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
PROCESS_EVERY, NODE_EVERY = 40, 60
"""One in 40 troubles is about a process or the lead, one in 60 about a node."""


def writes(request: Request) -> bool:
    """Writes of one who decides; not those that keep the lead."""
    return request.method not in {"GET", "HEAD"} and "/leases" not in request.path


_NOT_DONE = (AssertionError, EnvironmentFault, Refused, httpx2.TransportError)


class Trouble:
    """Makes trouble in a thread of its own.

    Args:
        cluster: where.
        proxies: before each scheduler.
        schedulers: to be killed and stopped.
        kubelets: of nodes that fall silent.
        nodes: as they were made, by name.
        chance: the seed's.

    Attributes:
        counts: what was done, how often.
    """

    def __init__(
        self,
        cluster: Cluster,
        proxies: Mapping[str, Proxy],
        schedulers: Schedulers,
        kubelets: Kubelets,
        nodes: Mapping[str, Object],
        chance: Random,
    ) -> None:
        self._cluster, self._proxies, self._schedulers = cluster, proxies, schedulers
        self._kubelets, self._nodes, self._chance = kubelets, nodes, chance
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None
        self._away: set[str] = set()
        self.counts: Counter[str] = Counter()

    def begin(self, *, processes: bool) -> None:
        """Go on until `rest`; with `processes`, also kill, stop and depose schedulers."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._on, args=(processes,), daemon=True)
        self._thread.start()

    def rest(self) -> None:
        """Nothing goes wrong from now on, and what was away is back."""
        self._stop.set()
        if self._thread:
            self._thread.join()
        for proxy in self._proxies.values():
            proxy.heal()
        for name in sorted(self._away):
            self._return(name)
        if self._failed:
            raise self._failed

    def _on(self, processes: bool) -> None:
        try:
            while not self._stop.wait(self._chance.uniform(0.3, 1.5)):
                self._once(processes)
        except BaseException as error:  # told by `rest`, in the thread that counts
            self._failed = error

    def _once(self, processes: bool) -> None:
        drawn = self._chance.randrange(PROCESS_EVERY * NODE_EVERY)
        if processes and drawn % PROCESS_EVERY == 0:
            deeds = {"kill -9": self._kill, "stop": self._freeze, "lead lost": self._depose}
        elif drawn % NODE_EVERY == 1:
            deeds = {"node silent": self._silence, "node deleted": self._delete_node}
        else:
            deeds = self._requests(self._chance.choice(list(self._proxies.values())))
        name = self._chance.choice(list(deeds))
        self.counts[name] += 1
        try:
            deeds[name]()
        except _NOT_DONE:  # the machine was too busy, or another was faster: no trouble this time
            self.counts[f"{name}, not done"] += 1
        for proxy in self._proxies.values():
            proxy.seen.clear()

    def _requests(self, proxy: Proxy) -> dict[str, Callable[[], object]]:
        chance = self._chance
        times = chance.randint(1, 6)
        if chance.random() < 0.5:
            proxy.heal()
        return {
            "409": lambda: proxy.add(Fault(writes, times=times, answer=status(409))),
            "429": lambda: proxy.add(
                Fault(writes, times=times, answer=status(429, retry_after_s=1))
            ),
            "500": lambda: proxy.add(Fault(writes, times=times, answer=status(500))),
            "answer lost": lambda: proxy.swallow(writes, times=times),
            "connection cut": lambda: proxy.cut(writes, times=times),
            "slow answers": lambda: proxy.delay(writes, chance.uniform(0.2, 6.0), times=times),
            "watches closed": lambda: proxy.drop(watches),
            "410": lambda: self._expire(proxy),
            "revisions forgotten": lambda: self._forget(proxy),
            "watches silent": lambda: self._hush(proxy),
            "server away": lambda: self._outage(proxy),
        }

    def _expire(self, proxy: Proxy) -> None:
        proxy.add(Fault(watches, times=2, answer=status(410)))
        proxy.drop(watches)

    def _forget(self, proxy: Proxy) -> None:
        self._cluster.plane.compact()
        proxy.drop(watches)

    def _hush(self, proxy: Proxy) -> None:
        proxy.stall(watches)
        self._stop.wait(self._chance.uniform(0.5, 4.0))
        proxy.heal()

    def _outage(self, proxy: Proxy) -> None:
        proxy.down()
        self._stop.wait(self._chance.uniform(0.1, 2.0))
        proxy.up()

    def _kill(self) -> None:
        name = self._chance.choice(list(self._proxies))
        self._schedulers.kill(name, self._chance.uniform(0.2, 4.0))

    def _freeze(self) -> None:
        """Some of these are longer than the Lease: it goes on as one that has lost the lead."""
        name = self._chance.choice(list(self._proxies))
        self._schedulers.freeze(name)
        self._stop.wait(self._chance.uniform(2.0, 24.0))
        self._schedulers.thaw(name)

    def _depose(self) -> None:
        """One cannot confirm the Lease for longer than it lasts."""
        proxy = self._chance.choice(list(self._proxies.values()))
        fault = proxy.add(Fault(on("PUT", "/leases/"), times=10_000, answer=status(500)))
        self._stop.wait(self._chance.uniform(11.0, 18.0))
        fault.times = 0

    def _silence(self) -> None:
        name = self._leave()
        self._stop.wait(self._chance.uniform(2.0, 25.0))
        self._return(name)

    def _delete_node(self) -> None:
        """It goes with its pods, as where a machine is given back, and another takes its name."""
        name = self._leave()
        self._cluster.delete(f"{NODES}/{name}")
        self._stop.wait(self._chance.uniform(1.0, 10.0))
        self._cluster.wait(lambda: self._bury(name), f"pods of {name} are gone")
        self._return(name)

    def _return(self, name: str) -> None:
        if self._cluster.find(f"{NODES}/{name}") is None:
            self._cluster.create(self._nodes[name])
        self._cluster.patch(f"{NODES}/{name}", {"spec": {"taints": None}})
        self._cluster.set_node(name, ready=True)
        self._kubelets.come_back(name)
        self._away.discard(name)

    def _bury(self, node: str) -> bool:
        left = self._cluster.list(PODS, fieldSelector=f"spec.nodeName={node}")
        for pod in left:
            self._cluster.delete(f"{PODS}/{pod['metadata']['name']}", grace=0)
        return not left

    def _leave(self) -> str:
        name = self._chance.choice(list(self._nodes))
        self._away.add(name)
        self._kubelets.vanish(name)
        self._cluster.set_node(name, ready=False)
        self._cluster.patch(f"{NODES}/{name}", {"spec": {"taints": [AWAY]}})
        return name
