"""What to do next about starts and preemptions, from what the cluster shows alone.

Whoever wrote before may have stopped between any two writes. No memory of it is needed: marks
say who goes for whom, nominations and notes say where, and `room` says whether it works out.
The answer is the next phase only; once it is carried out and seen, ask again, until there is
nothing left to do. The rules, for each gang that has something promised or begun:

==============================  ========================================================
it runs whole                   take promises and marks back, resume who was suspended
all places known, there is room bind; victims that are not needed any more are spared
  once those leaving have left  wait; victims that are not needed any more are spared
  once victims have left, too   complete the marks of their gangs, then suspend, evict
  not even then                 begun: find other places; otherwise take everything back
places missing                  begun, or victims were told: find places for the rest
                                otherwise take everything back
pods missing                    begun: wait until overdue, then take apart
                                otherwise take everything back
==============================  ========================================================
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.act.bind import BindOrder
from ganglion.worlds.kubernetes.act.conditions import victim_of
from ganglion.worlds.kubernetes.act.outcome import Ref, ref_of
from ganglion.worlds.kubernetes.act.standing import Standing
from ganglion.worlds.kubernetes.act.steps import (
    Await,
    Bind,
    Evict,
    Mark,
    Place,
    Spare,
    Step,
    Suspend,
    TakeApart,
    Unsuspend,
    Withdraw,
)
from ganglion.worlds.kubernetes.gangs.found import Found, Member
from ganglion.worlds.kubernetes.objects.pod import Pod

Room = Callable[[str, frozenset[str]], bool]
"""(gang key, uids of pods) -> whether the unbound pods of the gang fit where they are to go, if
those pods were not there. Pods that are leaving count as there unless they are among them."""


class Seen(Struct, frozen=True):
    """What the cluster shows.

    Attributes:
        gangs: all of ours with living pods, and those that wait.
        room: whether a gang fits where it is to go.
        others: pods of no gang in `gangs`, as those of workloads that were deleted.
        noted: pod uid -> node, from notes on pods that were bound first.
        suspended: key of a gang -> for whom we suspended its owner.
        suspends: whether owners of victims are suspended where their kind can be.
        overdue: keys of gangs begun that have waited long enough for missing pods or places.
        grace_s: how long victims may take, by gang, in seconds; absent = as their pods say.
    """

    gangs: Sequence[Found]
    room: Room
    others: Sequence[Pod] = ()
    noted: Mapping[str, str] = {}
    suspended: Mapping[str, str] = {}
    suspends: bool = True
    overdue: frozenset[str] = frozenset()
    grace_s: Mapping[str, int] = {}


def resume(seen: Seen) -> tuple[Step, ...]:
    """Return the steps that may be taken now, by gang; none = all is as it should be."""
    return tuple(_Recovery(seen).steps())


class _Recovery:
    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._gangs = {found.key: Standing(found, seen.noted) for found in seen.gangs}
        self._marked: dict[str, list[Member]] = defaultdict(list)
        self._told: dict[str, list[Member]] = defaultdict(list)
        for gang in self._gangs.values():
            for member in gang.victims:
                self._marked[victim_of(member.pod) or ""].append(member)
            for member in gang.leaving:
                self._told[victim_of(member.pod) or ""].append(member)
        self._gang_of = {
            m.pod.metadata.uid: key for key, gang in self._gangs.items() for m in gang.living
        }
        self._leaving = {pod.metadata.uid: ref_of(pod) for pod in seen.others if pod.is_leaving}
        for gang in self._gangs.values():
            self._leaving |= {m.pod.metadata.uid: ref_of(m.pod) for m in gang.leaving}

    def steps(self) -> Iterable[Step]:
        """Yield the steps, gang by gang in the order of keys."""
        for key in sorted(self._gangs.keys() | self._marked.keys()):
            gang = self._gangs.get(key)
            yield from self._about(key, gang) if gang else self._spare(self._marked[key])
        for pod in self._seen.others:
            if victim_of(pod) is not None and not pod.is_leaving and not pod.is_over:
                yield Spare(ref_of(pod))
        for victim, beneficiary in sorted(self._seen.suspended.items()):
            if not self._expects(beneficiary):
                yield from self._unsuspend(victim)

    def _about(self, key: str, gang: Standing) -> Iterable[Step]:
        if not self._expects(key):
            return self._void(key, gang)
        if not gang.whole(gang.bound + gang.unbound):
            return self._lacking(key, gang)
        if not gang.whole(gang.bound + gang.promised):
            return self._placeless(key, gang)
        return self._known(key, gang)

    def _expects(self, key: str) -> bool:
        """Whether a gang has begun, or something is promised to it, and it does not run yet.

        One that is a victim itself goes or is spared by another's steps; nobody goes for it.
        """
        gang = self._gangs.get(key)
        if gang is None or gang.runs or gang.is_victim:
            return False
        return bool(gang.bound or gang.nominated or self._told[key])

    def _known(self, key: str, gang: Standing) -> Iterable[Step]:
        leaving, victims = frozenset(self._leaving), _uids(self._victims(key))
        room = self._seen.room
        if room(key, frozenset()):
            return [*self._let_off(key), self._bind(gang)]
        if leaving and room(key, leaving):
            await_all = Await(tuple(self._leaving[uid] for uid in sorted(leaving)))
            return [*self._let_off(key), await_all]
        if victims and room(key, leaving | victims):
            return self._finish(key)
        return self._stuck(key, gang) if gang.bound else self._void(key, gang)

    def _victims(self, key: str) -> list[Member]:
        """Who goes for a gang: the marked, and what would be left behind of theirs and useless."""
        rest = [m for gang in self._hurt(key) for m in gang.halves]
        return [*self._marked[key], *rest]

    def _finish(self, key: str) -> Iterable[Step]:
        """Have the victims leave: those that are needed, and whole gangs of them."""
        needed, spared = self._needed(key)
        if spared:
            return self._spare(spared)
        if unmarked := [m for m in needed if victim_of(m.pod) is None]:
            return [Mark(ref_of(member.pod), key) for member in unmarked]
        if owners := [g.found.owner for g in self._hurt(key) if self._can_suspend(g)]:
            return [Suspend(owner, key) for owner in owners if owner]
        return [self._evict(member) for member in needed]

    def _needed(self, key: str) -> tuple[list[Member], list[Member]]:
        """Split victims into those without whom there is no room, and marked others, by gang."""
        needed, spared = self._victims(key), list[Member]()
        for gang in self._hurt(key):
            its = frozenset[str]() if gang.is_broken else _uids(gang.victims)
            without = [m for m in needed if m.pod.metadata.uid not in its]
            if its and self._seen.room(key, frozenset(self._leaving) | _uids(without)):
                spared += [m for m in needed if m.pod.metadata.uid in its]
                needed = without
        return needed, spared

    def _let_off(self, key: str) -> list[Step]:
        """Spare victims that need not go any more; what is useless by now follows the others."""
        steps: list[Step] = []
        for member in self._marked[key]:
            broken = self._gangs[self._gang_of[member.pod.metadata.uid]].is_broken
            steps.append(self._evict(member) if broken else Spare(ref_of(member.pod)))
        return steps

    def _hurt(self, key: str) -> list[Standing]:
        """Gangs of which somebody is marked for another one, or goes for it."""
        members = [*self._marked[key], *self._told[key]]
        keys = sorted({self._gang_of[m.pod.metadata.uid] for m in members})
        return [self._gangs[each] for each in keys]

    def _can_suspend(self, gang: Standing) -> bool:
        owner = gang.found.owner
        able = bool(owner and owner.suspend and not owner.suspended)
        return self._seen.suspends and able and not gang.spared

    def _evict(self, member: Member) -> Evict:
        gang = self._gang_of[member.pod.metadata.uid]
        return Evict(ref_of(member.pod), self._seen.grace_s.get(gang))

    def _placeless(self, key: str, gang: Standing) -> Iterable[Step]:
        if gang.bound:
            return self._stuck(key, gang)
        if self._told[key] and key not in self._seen.overdue:
            left = [member for member in gang.unbound if not gang.place_of(member)]
            return [Place(key, _refs(left))]
        return self._void(key, gang)

    def _stuck(self, key: str, gang: Standing) -> Iterable[Step]:
        """A gang that has begun, and cannot go on where it was to."""
        if key in self._seen.overdue:
            return [*self._spare(self._marked[key]), self._take_apart(gang)]
        return [*self._spare(self._marked[key]), Place(key, _refs(gang.unbound))]

    def _lacking(self, key: str, gang: Standing) -> Iterable[Step]:
        if gang.bound and key in self._seen.overdue:
            return [*self._void(key, gang), self._take_apart(gang)]
        return self._spare(self._marked[key]) if gang.bound else self._void(key, gang)

    def _void(self, key: str, gang: Standing) -> Iterable[Step]:
        yield from self._spare(self._marked[key])
        for member in gang.nominated:
            yield Withdraw(ref_of(member.pod))

    def _unsuspend(self, victim: str) -> Iterable[Step]:
        gang = self._gangs.get(victim)
        if gang and gang.found.owner:
            yield Unsuspend(gang.found.owner)

    def _spare(self, members: Iterable[Member]) -> list[Step]:
        return [Spare(ref_of(member.pod)) for member in members]

    def _bind(self, gang: Standing) -> Bind:
        return Bind(tuple(_order(gang, member) for member in gang.promised))

    def _take_apart(self, gang: Standing) -> TakeApart:
        message = f"{gang.found.name} could not be completed after a part of it was bound"
        return TakeApart(_refs(gang.bound), message)


def _order(gang: Standing, member: Member) -> BindOrder:
    pod = member.pod.metadata
    return BindOrder(pod.namespace, pod.name, pod.uid, gang.place_of(member))


def _refs(members: Iterable[Member]) -> tuple[Ref, ...]:
    return tuple(ref_of(member.pod) for member in members)


def _uids(members: Iterable[Member]) -> frozenset[str]:
    return frozenset(member.pod.metadata.uid for member in members)
