"""How far a gang has come, as its pods on the cluster show."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from ganglion.worlds.kubernetes.act.conditions import victim_of
from ganglion.worlds.kubernetes.gangs.found import Found, Member


class Standing:
    """One gang.

    Args:
        found: the gang with its living pods.
        noted: pod uid -> node, as a note on a bound pod says where the others go.
    """

    def __init__(self, found: Found, noted: Mapping[str, str]) -> None:
        self.found, self._noted = found, noted
        seatless = (Member(pod, "", -1) for pod in found.spare if pod.spec.node_name)
        members = (*found.members, *seatless)
        self._living = [each for each in members if not each.pod.is_over]

    @property
    def living(self) -> Sequence[Member]:
        """Members that are not over; bound pods whose seat another one has are of pod set ""."""
        return self._living

    @cached_property
    def bound(self) -> list[Member]:
        """Members that run or are about to, and are not leaving."""
        return [m for m in self._living if m.pod.spec.node_name and not m.pod.is_leaving]

    @cached_property
    def unbound(self) -> list[Member]:
        """Members that wait for a node."""
        return [m for m in self._living if not m.pod.spec.node_name and not m.pod.is_leaving]

    @cached_property
    def leaving(self) -> list[Member]:
        """Members that were told to go and still hold what they have."""
        return [m for m in self._living if m.pod.spec.node_name and m.pod.is_leaving]

    @cached_property
    def victims(self) -> list[Member]:
        """Bound members that are marked but were not told to go."""
        return [m for m in self.bound if victim_of(m.pod) is not None]

    @cached_property
    def spared(self) -> list[Member]:
        """Bound members that are not marked."""
        return [m for m in self.bound if victim_of(m.pod) is None]

    @cached_property
    def promised(self) -> list[Member]:
        """Unbound members of which the cluster says where they go."""
        return [m for m in self.unbound if self.place_of(m)]

    @cached_property
    def nominated(self) -> list[Member]:
        """Unbound members that carry a nomination."""
        return [m for m in self.unbound if m.pod.status.nominated_node_name]

    def place_of(self, member: Member) -> str:
        """Return where an unbound member goes; "" = nothing says."""
        nominated = member.pod.status.nominated_node_name
        return nominated or self._noted.get(member.pod.metadata.uid, "")

    def whole(self, members: Iterable[Member]) -> bool:
        """Tell whether these members alone are enough for the gang to work."""
        have = Counter(each.pod_set for each in members)
        sets = self.found.sets
        return all(have[each.name] >= min(each.least, each.upfront) for each in sets)

    @cached_property
    def halves(self) -> list[Member]:
        """Bound members that are not marked, if they are too few to go on without the others."""
        return [] if self.whole(self.spared) else self.spared

    @property
    def is_broken(self) -> bool:
        """Whether some of it was told to go and what stays is too little, marked or not."""
        told = any(victim_of(m.pod) is not None for m in self.leaving)
        return told and not self.whole(self.bound)

    @property
    def is_victim(self) -> bool:
        """Whether some of it is marked or leaves: it is not to be completed now."""
        return bool(self.victims or self.leaving)

    @property
    def runs(self) -> bool:
        """Whether enough of it is bound."""
        return bool(self.bound) and self.whole(self.bound)
