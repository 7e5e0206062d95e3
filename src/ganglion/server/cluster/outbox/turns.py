"""What a turn of a scheduler reports: a pure function of what the turn found and decided."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ganglion import __version__
from ganglion.model.events import (
    Delivered,
    GpusSampled,
    ObjectRefused,
    QueuesLent,
    SchedulerSettled,
    SchedulerStarted,
    WaitGroups,
    WaitOrder,
)
from ganglion.model.placement import Placement
from ganglion.server.cluster.activity.sums import GpuSums
from ganglion.server.cluster.outbox.lending import LendingReports
from ganglion.server.cluster.outbox.waits import WaitReports
from ganglion.worlds.kubernetes.controller import ClusterController

MOST_WEIGHT = 512
"""KiB of one record, about: a turn with more is several records."""
PODS_OF_A_KIB = 10
GANGS_OF_A_KIB = 10
ATTEMPTS_OF_A_KIB = 3

Refusals = Mapping[tuple[str, str], str]
"""Kind and name of an object -> why it is left out."""


class TurnPart(Struct, frozen=True):
    """A record that has no number yet.

    Attributes:
        at: time of the turn in ms.
        facts: what it found.
        decisions: what it decided after them.
    """

    at: int
    facts: tuple[Delivered, ...]
    decisions: tuple[Delivered, ...]

    @property
    def events(self) -> int:
        """How many it has."""
        return len(self.facts) + len(self.decisions)


class TurnReports:
    """Says of every turn what is new.

    Args:
        identity: of the process, as in the Lease.
        follows: ids of schedulers whose records are delivered before.
        sums: what GPUs did, as far as it was not reported.

    Attributes:
        lending: says what queues lend one another.
    """

    def __init__(self, identity: str, follows: Sequence[str], sums: GpuSums | None = None) -> None:
        self._identity, self._follows = identity, tuple(follows)
        self._is_first, self._is_settled = True, False
        self._refused: dict[tuple[str, str], str] = {}
        self._waits, self._lost = WaitReports(), 0
        self._sums, self.lending = sums or GpuSums(), LendingReports()

    def of(self, controller: ClusterController, now: int, lost: int = 0) -> list[TurnPart]:
        """What the turn that is over reports; empty = nothing.

        Args:
            controller: after the turn.
            now: time of the turn in ms.
            lost: records that have not arrived and never will, so far.
        """
        scene = controller.scene
        taken, decisions = [*delivered(scene.facts.taken)], [*delivered(controller.plan.decisions)]
        facts: list[Delivered] = [*self._begun(now)]
        facts += [*self._sums.before((*taken, *decisions), now), *taken]
        refused = dict(scene.facts.apart)
        refused |= {("gang", gang): why for gang, why in scene.gangs.complaints.items()}
        facts += changed(self._refused, refused, now)
        self._refused = refused
        is_whole = not scene.gangs.touched and len(scene.sites) == len(controller.sites)
        if is_whole and not self._is_settled:
            self._is_settled = True
            facts.append(SchedulerSettled(now))
        if lost != self._lost:
            self._lost = lost
            self._waits.lost()
        if self._is_settled:
            facts += self.lending.of(scene.state, (*taken, *decisions), now)
        alone = not facts and not decisions
        facts += self._waits.of(scene.state, controller.plan, now, alone=alone)
        return list(parts(now, facts, decisions))

    def _begun(self, now: int) -> Iterator[Delivered]:
        if self._is_first:
            self._is_first = False
            yield SchedulerStarted(now, __version__, self._identity, self._follows)


def delivered(events: Sequence[object]) -> Iterator[Delivered]:
    """Those of some events that are delivered."""
    for each in events:
        if isinstance(each, Delivered):
            yield each


def changed(before: Refusals, after: Refusals, now: int) -> Iterator[ObjectRefused]:
    """What objects are left out that were not, and no longer."""
    if before == after:
        return
    for (kind, name), why in after.items():
        if before.get((kind, name)) != why:
            yield ObjectRefused(now, kind, name, why)
    for kind, name in before:
        if (kind, name) not in after:
            yield ObjectRefused(now, kind, name, "")


def parts(
    now: int, facts: Sequence[Delivered], decisions: Sequence[Delivered]
) -> Iterator[TurnPart]:
    """Divide a turn into records of about `MOST_WEIGHT` each, in order."""
    found: tuple[list[Delivered], list[Delivered]] = ([], [])
    weight = 0
    for kind, event in (*((0, each) for each in facts), *((1, each) for each in decisions)):
        found[kind].append(event)
        weight += _weight(event)
        if weight >= MOST_WEIGHT:
            yield TurnPart(now, tuple(found[0]), tuple(found[1]))
            found, weight = ([], []), 0
    if weight:
        yield TurnPart(now, tuple(found[0]), tuple(found[1]))


def _weight(event: Delivered) -> int:
    """About how many KiB an event has as JSON."""
    if isinstance(event, WaitGroups):
        return 1 + sum(map(len, event.groups.values())) // GANGS_OF_A_KIB
    if isinstance(event, WaitOrder):
        return 1 + (len(event.gangs) + len(event.reasons)) // GANGS_OF_A_KIB
    if isinstance(event, QueuesLent):
        return 1 + len(event.queues) // GANGS_OF_A_KIB
    if isinstance(event, GpusSampled):
        return 1 + len(event.attempts) // ATTEMPTS_OF_A_KIB
    place = getattr(event, "placement", None)
    return 1 + (len(place.pods) // PODS_OF_A_KIB if isinstance(place, Placement) else 0)
