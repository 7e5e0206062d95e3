"""Services of a cluster: how many replicas each of them should have."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ganglion.lifecycle.autoscaling.scaler import Desired, Scaler
from ganglion.model.behaviour import Scaling
from ganglion.server.cluster.controllers.load import History, load_of
from ganglion.server.cluster.controllers.mains import Kept
from ganglion.server.signals.prometheus import job_of
from ganglion.server.signals.scraper import Job, Scraper
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.times import read_ms

READY = "Ready"


class Scale(Struct, frozen=True):
    """A service is to have another number of replicas.

    Attributes:
        kept: the service.
        before: how many it has.
        after: how many it should have.
        reason: why, for people.
    """

    kept: Kept
    before: int
    after: int
    reason: str


class _Watched(Struct):
    scaling: Scaling
    scaler: Scaler
    history: History
    seen: set[str] = field(default_factory=set)
    is_known: bool = False
    alarm: str = ""


class Services:
    """Decides for all services of a cluster.

    Args:
        scraper: asks pods and Prometheus.
    """

    def __init__(self, scraper: Scraper) -> None:
        self._scraper = scraper
        self._watched: dict[str, _Watched] = {}

    def decide(self, found: Mapping[str, tuple[Kept, Sequence[Pod]]], now: int) -> list[Scale]:
        """Look at every service.

        Args:
            found: UID -> a service that scales, and its pods that answer requests.
            now: the time, in ms.
        """
        self._watched = {uid: each for uid, each in self._watched.items() if uid in found}
        self._scraper.want({uid: _job(*each) for uid, each in found.items()})
        wanted = [self._decide(*each, now) for each in found.values()]
        return [each for each in wanted if each.before != each.after]

    def alarms(self) -> dict[str, str]:
        """UID -> what is wrong with what is known of a service's load; empty = nothing."""
        return {uid: each.alarm for uid, each in self._watched.items()}

    def _decide(self, kept: Kept, pods: Sequence[Pod], now: int) -> Scale:
        watched = self._watch(kept)
        ready = sorted(each.metadata.name for each in pods if is_ready(each))
        self._learn(watched, pods)
        load = load_of(self._scraper.found(kept.uid), watched.history, ready, now)
        if load.reading:
            watched.scaler.observe(load.reading, now)
        elif load.wrong:
            watched.scaler.memory.doubt = load.wrong
        before = 1 if kept.main.spec.replicas is None else kept.main.spec.replicas
        wanted = watched.scaler.desired(now, len(ready), max(0, before - len(ready)))
        watched.alarm = _alarm(wanted)
        return Scale(kept, before, wanted.replicas, wanted.reason)

    def _watch(self, kept: Kept) -> _Watched:
        scaling = kept.life.scaling or Scaling()
        known = self._watched.get(kept.uid)
        if known is None or known.scaling != scaling:
            memory = known.scaler.memory if known else None
            scaler = Scaler(scaling, memory)
            known = _Watched(scaling, scaler, known.history if known else History.empty())
            self._watched[kept.uid] = known
        return known

    def _learn(self, watched: _Watched, pods: Sequence[Pod]) -> None:
        """How long pods took to get ready; of those found ready at first it is unknown."""
        ready = {each.metadata.uid: each for each in pods if is_ready(each)}
        if watched.is_known:
            for uid in sorted(ready.keys() - watched.seen):
                watched.scaler.started(_took_ms(ready[uid]))
        watched.seen |= ready.keys()
        watched.is_known = True


def is_ready(pod: Pod) -> bool:
    """Whether a pod answers requests, as far as the cluster knows."""
    condition = pod.condition(READY)
    return condition is not None and condition.status == "True" and not pod.is_leaving


def _took_ms(pod: Pod) -> int:
    """From the pod's creation until it was ready, in ms; the cluster reports whole seconds."""
    condition = pod.condition(READY)
    since = (condition.last_transition_time if condition else "") or ""
    return max(0, read_ms(since) - read_ms(pod.metadata.creation_timestamp))


def _job(kept: Kept, pods: Sequence[Pod]) -> Job:
    at = {each.metadata.name: each.status.pod_ip for each in pods if is_ready(each)}
    listening = {pod: f"{_bracketed(ip)}:{kept.life.port}" for pod, ip in sorted(at.items()) if ip}
    return job_of(kept.life.scaling or Scaling(), listening)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _alarm(wanted: Desired) -> str:
    return f"{wanted.alarm}: {wanted.reason}" if wanted.alarm else ""
