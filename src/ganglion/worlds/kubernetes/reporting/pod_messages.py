"""Reasons for waiting that are still to be written on pods, the most urgent first.

Pods that have no reason yet go before those that have one, and of each the first of every gang
before its others. What is out of date is dropped when its turn comes, without a write.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum

from msgspec import Struct

from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.writes.conditions import SCHEDULED, unschedulable
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

    def __len__(self) -> int:
        """How many are in line, with those that are out of date."""
        return len(self._ranks)

    def put(self, gang: str, pods: Iterable[Identity], message: str) -> None:
        """Queue reasons for pods of a gang, in place of those queued before."""
        for each in pods:
            self._drop(each.uid)
            pod = self._pod_of(each.uid)
            if pod is not None and unschedulable(pod, message, 0) is not None:
                self._line_up(gang, pod, message)

    def take(self) -> Saying | None:
        """The next that is not out of date; it leaves the line. None = there is none."""
        for rank, waiting in self._waiting.items():
            while waiting:
                uid = next(iter(waiting))
                gang, message = waiting[uid], self._messages[uid]
                self._drop(uid)
                pod = self._pod_of(uid)
                if pod is not None and unschedulable(pod, message, 0) is not None:
                    return Saying(pod, message, gang, rank)
        return None

    def put_back(self, saying: Saying) -> None:
        """Queue the reason again after a failed write, unless a newer one is queued."""
        if saying.pod.metadata.uid not in self._ranks:
            self.put(saying.gang, [saying.pod.metadata], saying.message)

    def _line_up(self, gang: str, pod: Pod, message: str) -> None:
        uid, wait = pod.metadata.uid, pod.condition(SCHEDULED)
        is_told = wait is not None and wait.status == "False"
        is_first = self._first.setdefault((gang, is_told), uid) == uid
        rank = Rank(2 * is_told + (not is_first))
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
