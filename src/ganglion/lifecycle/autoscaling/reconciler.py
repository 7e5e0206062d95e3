"""How many replicas services should have; every host of services runs it.

A host observes its services and carries out what is decided: the server of a home by gangs that
come and go, the scheduler of a cluster by the number of replicas in an object.
"""

from collections.abc import Collection, Mapping

from msgspec import Struct

from ganglion.lifecycle.autoscaling.memory import Learnt, Memory
from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.autoscaling.scaler import Desired, Scaler
from ganglion.lifecycle.autoscaling.trust import IMPLAUSIBLE, LOST
from ganglion.model.behaviour import Scaling

TICK_MS = 1_000
"""How often a service is decided about."""
HASTE_MS = 100
"""The same while it has no replica, since a client may wait for the first one."""
KEEP_MS = 600_000
"""How often what drifts is given to the host to keep: it is learnt over hours."""


class ServiceLoad(Struct, frozen=True):
    """What is known of a service's load.

    Attributes:
        reading: as the scaler wants it; None = nothing new.
        lost: which sources say nothing, and why; empty = none.
        wrong: what cannot be true; empty = nothing.
    """

    reading: Reading | None = None
    lost: str = ""
    wrong: str = ""


class ObservedService(Struct, frozen=True):
    """A service that follows its load, as its host finds it.

    Attributes:
        load: what is known of its load.
        took: replicas that answer requests -> how long each took from the decision to then, in
            ms; negative = unknown.
        ready: how many of them are to stay.
        active: how many replicas are to stay, those that do not answer yet included.
        by_hand: number that a person gave and that stays for now; None = load counts.
        alarms: alarms that stand, by code, with what they say.
        kept: what the host has kept of what was learnt.
    """

    load: ServiceLoad
    took: Mapping[str, int]
    ready: int
    active: int
    by_hand: int | None = None
    alarms: Mapping[str, str] = {}
    kept: Learnt = Learnt()


class Decision(Struct, frozen=True):
    """What a host does about a service.

    Attributes:
        desired: the replicas it should have.
        alarms: alarms that should stand, by code; those of `metrics.` that are not here go.
        learnt: what the host keeps for those that follow, where it can; None = nothing new.
    """

    desired: Desired
    alarms: Mapping[str, str]
    learnt: Learnt | None = None


class _Watch(Struct):
    scaling: Scaling
    scaler: Scaler
    kept_at: int
    seen: frozenset[str] | None = None
    due: int = 0


class Services:
    """Decides about all services of a host that follow their load. No clock, no I/O.

    What it remembers may be lost: what is worth it comes back with `recall`.
    """

    def __init__(self) -> None:
        self._watches: dict[str, _Watch] = {}

    def keep(self, live: Collection[str]) -> None:
        """Forget all other services."""
        self._watches = {key: each for key, each in self._watches.items() if key in live}

    def memory(self, service: str) -> Memory | None:
        """What the scaler of a service remembers; None = it has none."""
        known = self._watches.get(service)
        return known.scaler.memory if known else None

    def recall(self, service: str, scaling: Scaling, now: int, memory: Memory | None) -> None:
        """Begin with a service.

        Args:
            service: its id.
            scaling: what its owner wants.
            now: the time, in ms.
            memory: what its host has kept; None = nothing.
        """
        self._watches[service] = _Watch(scaling, Scaler(scaling, memory), now)

    def is_due(self, service: str, scaling: Scaling, now: int) -> bool:
        """Whether it is time to decide; one whose scaling changed is due at once."""
        known = self._watches.get(service)
        return known is None or known.scaling != scaling or now >= known.due

    def decide(self, service: str, scaling: Scaling, seen: ObservedService, now: int) -> Decision:
        """How many replicas a service should have, and what there is to say about it.

        Args:
            service: its id.
            scaling: what its owner wants.
            seen: what the host found.
            now: the time, in ms since 1970; never earlier than in a call before.
        """
        watch = self._watch(service, scaling, now)
        watch.due = next_tick(now, TICK_MS if seen.active else HASTE_MS)
        _learn(watch, seen.took)
        if seen.load.reading:
            watch.scaler.observe(seen.load.reading, now)
        elif seen.load.wrong:
            watch.scaler.memory.doubt = seen.load.wrong
        starting = max(0, seen.active - seen.ready)
        found = watch.scaler.desired(now, seen.ready, starting, seen.by_hand)
        return Decision(found, _alarms(found, seen), _to_keep(watch, seen.kept, now))

    def _watch(self, service: str, scaling: Scaling, now: int) -> _Watch:
        known = self._watches.get(service)
        if known is None:
            self.recall(service, scaling, now, None)
        elif known.scaling != scaling:
            known.scaler = Scaler(scaling, known.scaler.memory)
            known.scaling = scaling
        return self._watches[service]


def next_tick(now: int, every_ms: int) -> int:
    """The same times for all services, so that they are looked at in the same turns."""
    return now - now % every_ms + every_ms


def _learn(watch: _Watch, took: Mapping[str, int]) -> None:
    """How long replicas took to get ready; of those found ready at first it is unknown."""
    if watch.seen is not None:
        for replica in sorted(took.keys() - watch.seen):
            if took[replica] >= 0:
                watch.scaler.started(took[replica])
    watch.seen = (watch.seen or frozenset()) | took.keys()


def _alarms(found: Desired, seen: ObservedService) -> dict[str, str]:
    """Alarms about what is known of a service's load."""
    load = seen.load
    if found.alarm:
        # Without news, the alarm before stands: reasons contain times, which change all the time.
        why = load.wrong or load.lost
        words = f"held: {why}" if why else seen.alarms.get(found.alarm, "")
        return {found.alarm: words or found.reason}
    # Some replicas are silent or lie: they count as the mean of the others meanwhile.
    told = {LOST: load.lost, IMPLAUSIBLE: load.wrong}
    return {alarm: message for alarm, message in told.items() if message}


def _to_keep(watch: _Watch, kept: Learnt, now: int) -> Learnt | None:
    """What was learnt, where it is worth a write: a start at once, figures that drift at times."""
    learnt = watch.scaler.learnt()
    new_start = learnt.started_ms != kept.started_ms
    due = now >= watch.kept_at + KEEP_MS
    if not (new_start or due) or not learnt.differs(kept):
        return None
    watch.kept_at = now
    return learnt
