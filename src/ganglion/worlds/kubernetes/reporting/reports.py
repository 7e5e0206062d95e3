"""What is written back to `Queue` and `Policy` objects, and when."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.engine.gangs.record import HOLDING
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.plan import Phase
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount, Usage
from ganglion.specs.grammar.amounts import CPU_FLAVOR
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.cluster_view.orders import Note
from ganglion.worlds.kubernetes.config.status import FIGURES, QueueFigures, patch_of, status_of
from ganglion.worlds.kubernetes.config.verdicts import AcceptedReason, ObjectVerdict, Verdicts
from ganglion.worlds.kubernetes.reporting.statuses import SetStatus
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.times import seconds
from ganglion.worlds.kubernetes.write_rules.bucket import Bucket
from ganglion.worlds.kubernetes.write_rules.series import About

LOOK_MS = 5_000
"""Time between two looks at figures, which change all the time."""
AGAIN_MS = 1_000
"""The same while more is due than may be written, and the least time between two verdicts."""
REST_MS = 10_000
"""Least time between two writes of figures to one object."""
PER_SECOND = 3
BURST = 10
"""Most writes to all objects together."""
PLURAL = {"Queue": "queues", "Policy": "policies"}


class ReportSubject(Struct, frozen=True):
    """One object as it was last seen.

    Attributes:
        cluster: where it is.
        kind: `Queue` or `Policy`.
        item: the object.
    """

    cluster: str
    kind: str
    item: Anything

    @property
    def path(self) -> str:
        """Where it is in its cluster."""
        plural, name = PLURAL[self.kind], self.item.metadata.name
        return f"/apis/{names.GROUP}/{names.VERSION}/{plural}/{name}"


class Reporter:
    """Says which statuses are due. It reads no clock and does no I/O."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, str], int] = {}
        self._now = self._next_look = 0
        self._bucket = Bucket(PER_SECOND, BURST, lambda: self._now)

    def is_due(self, now: int) -> bool:
        """Whether it is time for a look; `hurry` makes it so."""
        return now >= self._next_look

    def hurry(self) -> None:
        """Look at the next opportunity: a user has changed an object and waits for an answer."""
        self._next_look = 0

    def due(
        self,
        subjects: Sequence[ReportSubject],
        verdicts: Iterable[ObjectVerdict],
        figures: Mapping[str, QueueFigures],
        now: int,
    ) -> dict[str, list[SetStatus]]:
        """Cluster -> what is to be written, longest unwritten first.

        Args:
            subjects: all objects.
            verdicts: what became of them.
            figures: of the queues that exist, by name.
            now: time in ms since 1970.
        """
        self._now, self._next_look = now, now + LOOK_MS
        known = {(each.cluster, each.item.metadata.uid) for each in subjects}
        self._written = {key: at for key, at in self._written.items() if key in known}
        given = Verdicts(verdicts)
        found: dict[str, list[SetStatus]] = {}
        for subject in sorted(subjects, key=self._rank):
            verdict = given.on(subject.kind, subject.item.metadata)
            # A verdict on an earlier spec says nothing about this one.
            if verdict is None or verdict.generation != subject.item.metadata.generation:
                continue
            own = figures.get(verdict.name) if subject.kind == "Queue" else None
            status = status_of(verdict, subject.item.status, seconds(now), own)
            patch = patch_of(subject.item.status, status)
            rest = REST_MS if FIGURES.issuperset(patch) else AGAIN_MS
            if patch and self._take(subject, rest):
                version = subject.item.metadata.resource_version
                found.setdefault(subject.cluster, []).append(
                    SetStatus(subject.path, version, patch)
                )
        return found

    def _take(self, subject: ReportSubject, rest: int) -> bool:
        """Whether the object may be written now; else it is looked at again as soon as it may."""
        key = (subject.cluster, subject.item.metadata.uid)
        rested = self._written.get(key, self._now - rest) + rest
        if rested > self._now or not self._bucket.take():
            self._next_look = min(self._next_look, max(rested, self._now + AGAIN_MS))
            return False
        self._written[key] = self._now
        return True

    def _rank(self, subject: ReportSubject) -> tuple[int, str, str]:
        key = (subject.cluster, subject.item.metadata.uid)
        return (self._written.get(key, 0), subject.kind, subject.item.metadata.name)


def figures_of(state: ClusterState) -> dict[str, QueueFigures]:
    """What every queue has and wants, by name."""
    running, pending = dict[str, int](), dict[str, int]()
    for record in state.gangs.records.values():
        if record.phase is not Phase.ENDED:
            counts = running if record.phase in HOLDING else pending
            counts[record.gang.queue] = counts.get(record.gang.queue, 0) + 1
    return {
        name: QueueFigures(
            _used(state.queues.shares.usage[name]),
            _deserved(state, name),
            pending.get(name, 0),
            running.get(name, 0),
        )
        for name in state.queues.by_name
    }


def notes_on(subjects: Iterable[ReportSubject], said: Mapping[str, Sequence[str]]) -> list[Note]:
    """Record events on queues about their budgets; one without an object has none.

    Args:
        subjects: the objects.
        said: queue -> what is to be said of it.
    """
    found = []
    for each in subjects if said else ():
        meta = each.item.metadata
        about = About(each.item.api_version, each.kind, "", meta.name, meta.uid)
        told = said.get(meta.name, ()) if each.kind == "Queue" else ()
        found += [Note(each.cluster, about, names.BUDGET, "Warning", e, warning=True) for e in told]
    return found


def unsettled(state: ClusterState, queues: Iterable[Queue]) -> dict[str, str]:
    """Queue -> why it is not as its object says; the engine takes it when nothing runs there."""
    wanted = {each.name: each for each in queues}
    found = dict.fromkeys(state.queues.by_name, "it is gone once nothing runs in it")
    for name, queue in wanted.items():
        found.pop(name, None)
        if state.queues.by_name.get(name) != queue:
            found[name] = "spec.parent: it moves once nothing runs in it"
    return found


def reserved(verdicts: Iterable[ObjectVerdict], waits: Mapping[str, str]) -> list[ObjectVerdict]:
    """The verdicts, with what is still to come added to those of queues."""
    return [
        replace(each, reason=AcceptedReason.WARNED, message=waits[each.name])
        if each.kind == "Queue" and each.accepted and each.name in waits
        else each
        for each in verdicts
    ]


def _used(usage: Mapping[str, Usage]) -> dict[str, Amount]:
    """GPUs by flavor, and CPUs of nodes without any."""
    found: dict[str, Amount] = {}
    for flavor, each in usage.items():
        if flavor == CPU_FLAVOR and each.cpu_milli:
            found[flavor] = Amount(cpu_milli=each.cpu_milli)
        elif flavor != ANY_FLAVOR and each.gpu_milli:
            found[flavor] = Amount(gpu_milli=each.gpu_milli)
    return found


def _deserved(state: ClusterState, queue: str) -> dict[str, Amount]:
    deserved = state.deserved
    if not deserved.governed:
        return {}
    bounds = {each: deserved.bound(queue, each) for each in deserved.all_accounts()}
    return {each: Amount(gpu_milli=milli) for each, milli in bounds.items() if milli}
