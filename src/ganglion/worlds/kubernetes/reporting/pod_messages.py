"""Reasons for waiting that are still to be written on pods, the most urgent first.

Pods that have no reason yet go before those that have one, and of each the first of every gang
before its others. What is out of date is dropped when its turn comes, without a write. Of one pod
a single reason is under way at a time, so that no older one is written over a newer one.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct

from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.writes.conditions import is_told, unschedulable
from ganglion.worlds.kubernetes.writes.outcome import Identity


class Rank(IntEnum):
    """Urgency of the reason of a pod; lower goes first."""

    FIRST_OF_NEW = 0
    NEW = 1
    FIRST_OF_TOLD = 2
    TOLD = 3


class Saying(Struct, frozen=True):
    """One pod whose reason is to be written.

    Attributes:
        pod: as it was last seen.
        message: why it waits.
        gang: whose pod it is.
        rank: how urgent it is.
    """

    pod: Pod
    message: str
    gang: str
    rank: Rank

    @property
    def is_new(self) -> bool:
        """Whether no reason was ever written on the pod."""
        return self.rank < Rank.FIRST_OF_TOLD

    @property
    def is_first(self) -> bool:
        """Whether it speaks for its gang: the others of the gang come after it."""
        return self.rank in (Rank.FIRST_OF_NEW, Rank.FIRST_OF_TOLD)


class WrittenReason(NamedTuple):
    """A reason, and the pod as it was seen before it was written; None = it may not be."""

    message: str
    seen: Pod | None


UNSEEN = 4_096
"""Reasons that were written last, which may not be seen on their pods yet."""


class Sayings:
    """The queue of pods whose reasons are to be written.

    Args:
        pod_of: a pod as it was last seen, by UID.
    """

    def __init__(self, pod_of: Callable[[str], Pod | None]) -> None:
        self._pod_of = pod_of
        self._waiting: dict[Rank, dict[str, str]] = {rank: {} for rank in Rank}
        self._messages: dict[str, str] = {}
        self._ranks: dict[str, Rank] = {}
        self._first: dict[tuple[str, bool], str] = {}
        self._under_way: dict[str, str] = {}
        self._said: dict[str, WrittenReason] = {}

    def __len__(self) -> int:
        """How many are in line, with those that are out of date."""
        return len(self._ranks)

    def put(self, gang: str, pods: Iterable[Identity], message: str) -> None:
        """Queue reasons for pods of a gang, in place of those queued before.

        That of a pod with a reason under way waits for its `end`.
        """
        for each in pods:
            self._drop(each.uid)
            if each.uid in self._under_way:
                self._under_way[each.uid] = message
                continue
            pod = self._pod_of(each.uid)
            if pod is not None and self._is_due(pod, message):
                self._line_up(gang, pod, message)

    def take(self) -> Saying | None:
        """The next that is not out of date, under way until its `end`; None = there is none."""
        for rank, waiting in self._waiting.items():
            while waiting:
                uid = next(iter(waiting))
                gang, message = waiting[uid], self._messages[uid]
                self._drop(uid)
                pod = self._pod_of(uid)
                if pod is not None and self._is_due(pod, message):
                    self._under_way[uid] = message
                    return Saying(pod, message, gang, rank)
        return None

    def newest(self, saying: Saying) -> str:
        """What is to be said by now on the pod of a reason that is under way."""
        return self._under_way[saying.pod.metadata.uid]

    def end(self, saying: Saying, said: WrittenReason | None) -> None:
        """A reason is under way no more: what is to be said by now and was not is queued.

        Args:
            saying: as it was taken.
            said: what was tried; None = it is to be tried again.
        """
        who = saying.pod.metadata
        message = self._under_way.pop(who.uid)
        if said is not None and said.seen is not None:
            self._said.pop(who.uid, None)
            self._said[who.uid] = said
            if len(self._said) > UNSEEN:
                del self._said[next(iter(self._said))]
        if said is None or said.message != message:
            self.put(saying.gang, [who], message)

    def _is_due(self, pod: Pod, message: str) -> bool:
        """Whether a pod waits and does not say so, by what is seen or was written since."""
        said = self._said.get(pod.metadata.uid)
        if said is not None and said.seen is pod:
            return said.message != message
        return unschedulable(pod, message, 0) is not None

    def _line_up(self, gang: str, pod: Pod, message: str) -> None:
        uid, was_told = pod.metadata.uid, is_told(pod)
        is_first = self._first.setdefault((gang, was_told), uid) == uid
        rank = Rank(2 * was_told + (not is_first))
        self._waiting[rank][uid] = gang
        self._messages[uid], self._ranks[uid] = message, rank

    def _drop(self, uid: str) -> None:
        rank = self._ranks.pop(uid, None)
        if rank is not None:
            gang = self._waiting[rank].pop(uid)
            del self._messages[uid]
            key = (gang, rank >= Rank.FIRST_OF_TOLD)
            if self._first.get(key) == uid:
                del self._first[key]
