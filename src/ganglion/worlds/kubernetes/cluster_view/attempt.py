"""One try at running a gang: which pod sits in which place."""

from collections import Counter
from enum import StrEnum

from msgspec import Struct, field

from ganglion.model.causes import Cause
from ganglion.model.events import ReportedImage
from ganglion.model.placement import Placement, PodPlacement
from ganglion.worlds.kubernetes.cluster_view.orders import Seat
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, GangOwner, Member

Place = tuple[str, int]
"""(pod set, index) in the engine's numbering, which has no gaps."""


class AttemptStage(StrEnum):
    """How far an attempt has come."""

    ASSEMBLING = "assembling"
    BINDING = "binding"
    BOUND = "bound"
    LEAVING = "leaving"


class Attempt(Struct):
    """One try at running a gang.

    Attributes:
        gang: its id.
        number: as the engine counts.
        cluster: where it runs.
        places: what the engine gave it.
        seats: pod set and index of a member -> its place.
        pods: place -> UID of the living pod that has, or is being given, it.
        asked: UIDs whose binding was ordered and not answered yet.
        bound: UIDs that are known to be bound.
        stage: how far it has come.
        since: when it came there, in ms.
        bound_at: when all of it was bound, in ms; 0 = it is not yet.
        ready_since: since when all of its pods are ready together, in ms; 0 = they are not.
        steady: whether they were for long enough, so that it is no matter any more.
        is_late: whether it leaves because it was not ready in time.
        vacant: place -> when its pod went, in ms.
        ends: UID -> phase in which its pod ended, or "" for one that was deleted.
        cause: why it leaves; None = it does not.
        running: whether the engine knows that it runs.
        owner: the object that makes its pods anew.
        evicted: UIDs of pods that were ordered to leave with the whole attempt.
        dropping: UIDs of pods that leave while the others go on.
        refused: vacant places whose node did not admit the pod.
        claims: claims that are still to be bound -> since when, in ms.
        chosen: claims -> (volume that they were written on, its version); without a volume the
            version of the claim in which its node was written.
        unusable: why its volumes cannot be used where its pods are to run; empty = they can.
        nominated: UIDs of pods with a nominated node -> node.
        taken: claims -> the node that they were seen to name.
        ordered: whether any of its bindings was ordered by this process.
        images: what kubelets said that its containers run.
    """

    gang: str
    number: int
    cluster: str
    places: dict[Place, PodPlacement]
    seats: dict[Seat, Place] = field(default_factory=dict)
    pods: dict[Place, str] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    stage: AttemptStage = AttemptStage.ASSEMBLING
    since: int = 0
    bound_at: int = 0
    ready_since: int = 0
    steady: bool = False
    is_late: bool = False
    vacant: dict[Place, int] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    cause: Cause | None = None
    running: bool = False
    owner: GangOwner | None = None
    evicted: set[str] = field(default_factory=set)
    dropping: set[str] = field(default_factory=set)
    refused: set[Place] = field(default_factory=set)
    claims: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, tuple[str, str]] = field(default_factory=dict)
    unusable: str = ""
    nominated: dict[str, str] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    ordered: bool = False
    images: set[ReportedImage] = field(default_factory=set)

    def enter(self, stage: AttemptStage, now: int) -> None:
        """Enter a stage."""
        if self.stage is not stage:
            self.stage, self.since = stage, now

    def seat(self, member: Member) -> PodPlacement | None:
        """Give a member the place it had before, or a free one of its set; None = there is none."""
        key = Seat(member.pod_set, member.index)
        uid = member.pod.metadata.uid
        place = self.seats.get(key)
        if place not in self.places or self.pods.get(place, uid) != uid:
            place = self._free(member.pod_set, member.index)
            if place is None:
                return None
            self.seats[key] = place
        self.pods[place] = uid
        self.vacant.pop(place, None)
        self.refused.discard(place)
        return self.places[place]

    def take(self, member: Member, place: Place) -> None:
        """A member sits in a place already."""
        uid = member.pod.metadata.uid
        self.seats[Seat(member.pod_set, member.index)] = place
        self.pods[place] = uid
        self.bound.add(uid)

    def vacate(self, uid: str, ended: str, now: int) -> bool:
        """A pod is gone or over; False = it has no place here."""
        place = next((each for each, other in self.pods.items() if other == uid), None)
        self.asked.discard(uid)
        if place is None:
            return False
        if uid in self.bound or ended:
            self.ends[uid] = ended
        self.bound.discard(uid)
        del self.pods[place]
        self.vacant[place] = now
        return True

    def turn_away(self, uid: str) -> None:
        """A kubelet did not admit a pod; it is over."""
        self.refused.update(place for place, other in self.pods.items() if other == uid)

    def release(self, uid: str) -> None:
        """A pod was not bound: its place is free for another."""
        self.asked.discard(uid)
        for place in [each for each, other in self.pods.items() if other == uid]:
            del self.pods[place]

    def resize(self, placement: Placement) -> tuple[str, ...]:
        """Have other places; returns the UIDs of pods that have to go."""
        places = {(pod.pod_set, pod.index): pod for pod in placement.pods}
        lost = [each for each, pod in self.places.items() if places.get(each) != pod]
        self.places = places
        gone = tuple(self.pods.pop(each) for each in lost if each in self.pods)
        for each in lost:
            self.vacant.pop(each, None)
        self.refused.difference_update(lost)
        self.bound.difference_update(gone)
        self.seats = {key: place for key, place in self.seats.items() if place in places}
        return gone

    def is_filled(self, found: FoundGang) -> bool:
        """Whether every set has as many pods as it needs to begin."""
        return self._has(_needed(found))

    def is_bound(self, found: FoundGang) -> bool:
        """Whether these pods are bound, and no answer is due.

        What is wanted since the places were given is growth, and does not count.
        """
        sitting = all(uid in self.bound for uid in self.pods.values())
        given = Counter(pod_set for pod_set, _ in self.places)
        needed = {name: min(least, given[name]) for name, least in _needed(found).items()}
        return sitting and not self.asked and self._has(needed)

    def _has(self, needed: dict[str, int]) -> bool:
        filled = Counter(pod_set for pod_set, _ in self.pods)
        return bool(self.pods) and all(filled[name] >= least for name, least in needed.items())

    def _free(self, pod_set: str, index: int) -> Place | None:
        """The place of that index, or the first that no pod has or is returning to."""
        own = (pod_set, index)
        if own in self.places and own not in self.pods:
            return own
        free = [each for each in self.places if each[0] == pod_set and each not in self.pods]
        kept = {place for key, place in self.seats.items() if key.index != index}
        return next((each for each in free if each not in kept), free[0] if free else None)


def _needed(found: FoundGang) -> dict[str, int]:
    """How many pods each set needs to begin."""
    return {each.name: min(each.least, each.upfront) for each in found.sets}
