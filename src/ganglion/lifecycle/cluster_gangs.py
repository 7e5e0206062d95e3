"""Gangs of a cluster, as its schedulers delivered them."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.lifecycle.past.changes import described, differing, other_images
from ganglion.lifecycle.past.life import GangLife
from ganglion.lifecycle.waiting.delivered import DeliveredWait
from ganglion.model.events import (
    CheckpointCommitted,
    Delivered,
    GangEnded,
    GangPlaced,
    GangResized,
    GangStarted,
    GangUpdated,
    ImagesReported,
    Outcome,
    ReportedImage,
    StartExpected,
)
from ganglion.model.placement import Placement, same_place
from ganglion.model.plan import Phase
from ganglion.model.reasons import Band
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang

CHANGED = ("priority", "queue", "time_limit_ms", "expected_ms", "deadline_ms")
"""What an update of a gang may change beside the counts of its pods."""


class DeliveredGang(Struct):
    """A gang of a cluster.

    Attributes:
        gang: as it was last submitted.
        image, owner: as its submission names them.
        placement: where it runs or ran last; None = it never did.
        placed: when its last attempt was placed, in ms.
        counted: until when `gpu_ms` has what that holds, in ms; 0 = until it was placed.
        started: when its last attempt ran whole, in ms; 0 = it has not.
        began: when its first attempt did; 0 = never.
        attempts: how many were placed.
        outcome: how the last attempt that ended did.
        restarts: attempts that were followed by another wait.
        preemptions: attempts that were stopped for others.
        lost_gpu_ms: GPU time that these threw away.
        run_ms: time in which it ran.
        gpu_ms: GPU time that it held.
        ended: when it ended for good, in ms; 0 = it lives.
        number: of its attempt, as its scheduler counts.
        confirmed: whether the present scheduler has named it.
        holds: whether it holds its place.
        images: what the containers of its last attempt ran, as kubelets said.
        former_images: what those of the attempt before ran.
        seen: when a scheduler named it first, in ms.
        first: when it got its first place, in ms; 0 = it has not, or it had it when it was seen.
        first_milli: thousandths of GPUs of that place.
        wait: for what it has waited.
        life: what happened to it.
        band: when it was expected to start, as its scheduler said last; None = unknown.
    """

    gang: Gang
    image: str = ""
    owner: str = ""
    placement: Placement | None = None
    placed: int = 0
    counted: int = 0
    started: int = 0
    began: int = 0
    attempts: int = 0
    outcome: Outcome | None = None
    exit_code: int | None = None
    message: str = ""
    restarts: int = 0
    preemptions: int = 0
    lost_gpu_ms: int = 0
    run_ms: int = 0
    gpu_ms: int = 0
    ended: int = 0
    number: int = 0
    confirmed: bool = True
    holds: bool = False
    images: tuple[ReportedImage, ...] = ()
    seen: int = 0
    first: int = 0
    first_milli: int = 0
    wait: DeliveredWait = field(default_factory=DeliveredWait)
    band: Band | None = None
    life: GangLife = field(default_factory=GangLife)
    former_images: tuple[ReportedImage, ...] = ()

    @property
    def phase(self) -> Phase:
        """How far it is, as long as it lives."""
        if not self.holds:
            return Phase.PENDING
        return Phase.RUNNING if self.started else Phase.STARTING

    @property
    def namespace(self) -> str:
        """The namespace that it is in."""
        return self.gang.name.rpartition("/")[0]

    @property
    def own_name(self) -> str:
        """Its name without its namespace."""
        return self.gang.name.rpartition("/")[2]

    def take(self, event: Delivered) -> None:
        """Go on by one event about it."""
        match event:
            case GangPlaced(placement=place, attempt=number, at=at):
                self.number = number
                if self.holds and same_place(self.placement, place):
                    return  # a scheduler that has started says again where it found it
                self._let_go(at)
                if not self.attempts and at >= self.seen:
                    self.first, self.first_milli = at, place.gpu_milli
                self.wait.end(at)
                self.band = None
                self.placement, self.placed, self.started = place, at, 0
                self.counted = at
                self.attempts += 1
                self.life.attempt = self.attempts
                self.former_images = self.images or self.former_images
                self.holds, self.images = True, ()
            case GangResized(placement=place, at=at):
                self._charge(at)
                self.life.take(event, self.placement)
                self.placement, self.counted = place, at
            case CheckpointCommitted():
                self.life.take(event)
            case ImagesReported(images=images, at=at):
                news = [each for each in images if each not in self.images]
                self.life.change(at, other_images(self.former_images, news))
                self.images = (*self.images, *dict.fromkeys(news))
            case GangStarted(at=at):
                self.started = self.started or at
                self.began = self.began or at
            case GangUpdated():
                self.ask(_updated(self.gang, event), self.image, at=event.at)
            case StartExpected(p50_ms=soon, p90_ms=late):
                self.band = None if event.unknown or self.holds else Band(soon, late)
            case GangEnded():
                self._end(event)

    def ask(self, gang: Gang, image: str, at: int) -> None:
        """It is submitted otherwise than it was, or again as it was, at a time in ms."""
        changes = differing(described(self.gang, self.image), described(gang, image))
        self.life.change(at, changes)
        self.gang, self.image = gang, image

    def _end(self, event: GangEnded) -> None:
        self._let_go(event.at)
        self.outcome, self.exit_code = event.outcome, event.exit_code
        self.message = event.message
        if event.outcome is Outcome.PREEMPTED:
            self.preemptions += 1
            self.lost_gpu_ms += event.lost_gpu_ms
        if event.requeue:
            self.restarts += 1
            self.wait.begin(self.attempts + 1, event.at)
        else:
            self.ended = max(event.at, 1)
            self.wait.end(event.at)

    def _charge(self, at: int) -> None:
        if self.holds and self.placement:
            since = self.counted or self.placed  # an earlier version kept both as one
            self.gpu_ms += self.placement.gpu_milli * max(at - since, 0) // WHOLE

    def _let_go(self, at: int) -> None:
        self._charge(at)
        if self.holds and self.started:
            self.run_ms += max(at - self.started, 0)
        self.holds, self.started = False, 0


def _updated(gang: Gang, event: GangUpdated) -> Gang:
    """A gang as it is asked for from now on; what the event leaves as it is stays."""
    values = {name: getattr(event, name) for name in CHANGED}
    changes = {name: value for name, value in values.items() if value is not None}
    counts = event.counts or {}
    sets = tuple(
        replace(each, count=counts[each.name], min_count=min(each.least, counts[each.name]))
        if each.name in counts
        else each
        for each in gang.pod_sets
    )
    return replace(gang, pod_sets=sets, **changes)


class LiveGangs(dict[str, DeliveredGang]):
    """The gangs of a cluster that live, by id; also by their names, and whether any of them waits.

    It is a dictionary, and lies in documents as one: the rest follows from it. Change it by
    `enter`, `leave` and `take` alone.

    Args:
        known: gangs by id.
    """

    def __init__(self, known: Mapping[str, DeliveredGang] = MappingProxyType({})) -> None:
        super().__init__(known)
        self._named: dict[str, dict[str, None]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._waiting: set[str] = set()
        for each in self.values():
            self._index(each)

    def __reduce__(self) -> tuple[type["LiveGangs"], tuple[dict[str, DeliveredGang]]]:
        return LiveGangs, (dict(self),)

    @property
    def wait(self) -> bool:
        """Whether any gang waits."""
        return bool(self._waiting)

    def named(self, name: str) -> Iterator[DeliveredGang]:
        """Gangs of a name, with its namespace or without; those that entered first come first."""
        return (self[each] for each in self._named.get(name, ()))

    def enter(self, gang: DeliveredGang) -> None:
        """A gang lives, or is called otherwise than before."""
        self[gang.gang.id] = gang
        self._index(gang)

    def take(self, gang: DeliveredGang, event: Delivered) -> None:
        """One of them goes on by an event."""
        gang.take(event)
        self._note(gang)

    def leave(self, name: str) -> DeliveredGang:
        """A gang has ended. Raises KeyError where none of that id lives."""
        self._forget(name)
        return self.pop(name)

    def _index(self, gang: DeliveredGang) -> None:
        key, names = gang.gang.id, tuple(dict.fromkeys((gang.own_name, gang.gang.name)))
        if self._names.get(key) != names:
            self._forget(key)
            self._names[key] = names
            for name in names:
                self._named.setdefault(name, {})[key] = None
        self._note(gang)

    def _note(self, gang: DeliveredGang) -> None:
        (self._waiting.discard if gang.holds else self._waiting.add)(gang.gang.id)

    def _forget(self, key: str) -> None:
        self._waiting.discard(key)
        for name in self._names.pop(key, ()):
            ids = self._named[name]
            del ids[key]
            if not ids:
                del self._named[name]


def asked_milli(gang: Gang) -> int:
    """Thousandths of GPUs that a gang asks for; a share in memory counts as the GPU."""
    gpus = ((each.count, each.request.gpu) for each in gang.pod_sets)
    return sum(count * gpu.count * (WHOLE if gpu.share_mib else gpu.milli) for count, gpu in gpus)
