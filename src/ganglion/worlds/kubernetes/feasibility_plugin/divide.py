"""Pods of one set that may use different nodes: for the engine they are sets of their own.

The pods of a StatefulSet have claims of their own, and each may go only where its volume is. The
engine knows one rule for a set, so a set is divided by the rules of its pods. It is left whole
where it could not be put together again: while some of its pods are yet to be made, where fewer
than all may start, and where its own topology holds for all of it. One rule that suits every pod
represents such a set.
"""

from collections.abc import Callable, Hashable

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.model.workload import Topology
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, FoundSet, Member

MARK = "~"
"""Between the name of a set and the number of a part; names of sets have none."""

Part = dict[tuple[str, int], str]
"""(set, index) of a member -> name of the part that it belongs to, for those with another name."""

RuleOf = Callable[[Pod], Hashable]


class Divisions(Struct):
    """How the sets of gangs are divided.

    Attributes:
        wholes: gang -> as it was found.
        parts: gang -> which of its members are in parts with other names.
    """

    wholes: dict[str, FoundGang] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)

    def divided(self, gang: str, found: FoundGang, rule_of: RuleOf, *, is_fixed: bool) -> FoundGang:
        """A gang with its sets divided.

        Args:
            gang: its id.
            found: as it was found.
            rule_of: pods with equal answers may stay in one set.
            is_fixed: whether it has a place, so that its parts have to stay what they are.
        """
        self.wholes[gang] = found
        if not is_fixed:
            self.parts[gang] = _parts(found, rule_of)
        parts = self.parts.get(gang)
        return _apply(found, parts) if parts else found

    def forget(self, gang: str) -> None:
        """A gang is no more."""
        self.wholes.pop(gang, None)
        self.parts.pop(gang, None)


def _parts(found: FoundGang, rule_of: RuleOf) -> Part:
    parts: Part = {}
    for each in found.sets:
        members = [member for member in found.members if member.pod_set == each.name]
        if _is_divisible(found, each, members):
            parts |= _parts_of(each, members, rule_of)
    return parts


def _is_divisible(found: FoundGang, each: FoundSet, members: list[Member]) -> bool:
    if each.least != each.count or each.upfront != each.count or each.slices:
        return False
    if each.topology != Topology() and (len(found.sets) > 1 or found.topology != Topology()):
        return False
    return len(members) == each.count > 1 and any(
        member.pod.spec != each.request.spec for member in members
    )


def _parts_of(each: FoundSet, members: list[Member], rule_of: RuleOf) -> Part:
    names: dict[Hashable, str] = {}
    parts: Part = {}
    for member in members:
        rule = rule_of(member.pod)
        name = names.setdefault(rule, f"{each.name}{MARK}{len(names)}" if names else each.name)
        if name != each.name:
            parts[each.name, member.index] = name
    return parts


def _apply(found: FoundGang, parts: Part) -> FoundGang:
    members = tuple(
        replace(each, pod_set=parts.get((each.pod_set, each.index), each.pod_set))
        for each in found.members
    )
    sets = tuple(part for each in found.sets for part in _sets(each, members, parts))
    order = {each.name: number for number, each in enumerate(sets)}
    members = tuple(sorted(members, key=lambda each: (order[each.pod_set], each.index)))
    if len(found.sets) > 1:
        return replace(found, sets=sets, members=members)
    own = found.sets[0].topology
    topology = found.topology if own == Topology() else own
    return replace(found, sets=sets, members=members, topology=topology)


def _sets(each: FoundSet, members: tuple[Member, ...], parts: Part) -> list[FoundSet]:
    names = [name for (pod_set, _), name in parts.items() if pod_set == each.name]
    if not names:
        return [each]
    rest = max(1, each.count - len(names))
    counts = {each.name: rest} | {name: names.count(name) for name in dict.fromkeys(names)}
    first = {member.pod_set: member.pod for member in reversed(members)}
    return [
        replace(
            each,
            name=name,
            count=count,
            least=count,
            upfront=count,
            request=first.get(name, each.request),
            topology=Topology(),
        )
        for name, count in counts.items()
    ]
