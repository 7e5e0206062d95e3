"""Kubernetes' own PodGroups, and the CompositePodGroups that gather them.

Fields are read by their form, so that every version that a server may have is understood: v1alpha2
of Kubernetes 1.36 knows no groups of groups and writes `disruptionMode` as a word; v1alpha3 and
v1beta1 of 1.37 write it as an object.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.pod_groups.terms import GroupTerms
from ganglion.worlds.kubernetes.types.meta import Anything, Meta, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.kinds import UPSTREAM_COMPOSITE, UPSTREAM_GROUP

NOMINAL = f"{UPSTREAM_GROUP[0]}/v1beta1"
"""Version by which objects are named until discovery has found which one the server has."""

POD_GROUP, COMPOSITE = UPSTREAM_GROUP[1], UPSTREAM_COMPOSITE[1]
DEEPEST = 4
"""Levels of groups that the API allows, the PodGroup among them."""
FIELD = "schedulingGroup"
"""Field of a pod that names its PodGroup."""
_LOWER = "PreemptLowerPriority"
_WORDS: Mapping[str, bool] = {"Pod": False, "PodGroup": True}

Look = Callable[[OwnerReference, str], Anything | None]
"""(reference by name, namespace) -> the object; None = not known, and wanted from now on."""


class GroupLine(Struct, frozen=True):
    """A PodGroup and the CompositePodGroups it is part of.

    Attributes:
        name: of the PodGroup.
        group: the PodGroup; None = not known.
        above: its CompositePodGroups, the nearest first, as far as they are known.
        missing: the next one of these that is not known, for people; empty = all are.
        too_deep: whether there are more of them than the API allows, as in a circle.
    """

    name: str
    group: Anything | None = None
    above: tuple[Anything, ...] = ()
    missing: str = ""
    too_deep: bool = False

    @property
    def depth(self) -> int:
        """How many of `above` start together with the PodGroup; 0 = it starts alone."""
        gangs = [index for index, each in enumerate(self.above, 1) if not is_basic(each)]
        return gangs[-1] if gangs and not self.too_deep else 0

    @property
    def head(self) -> Anything | None:
        """The topmost CompositePodGroup whose groups start together; None = there is none."""
        return self.above[self.depth - 1] if self.depth else None

    @property
    def things(self) -> tuple[Anything, ...]:
        """The PodGroup, and what gathers it to start with others."""
        return (*((self.group,) if self.group else ()), *self.above[: self.depth])


def is_basic(thing: Anything) -> bool:
    """Whether what a group gathers starts independently."""
    policy = thing.spec.get("schedulingPolicy")
    return isinstance(policy, dict) and policy.get("basic") is not None


def by_name(kind: str, name: str) -> OwnerReference:
    """A reference to a group, in whichever version the server has it."""
    return OwnerReference(NOMINAL, kind, name)


def line_of(name: str, namespace: str, look: Look) -> GroupLine:
    """Follow a PodGroup up."""
    group = look(by_name(POD_GROUP, name), namespace)
    if group is None:
        return GroupLine(name, missing=f"{POD_GROUP} {namespace}/{name}")
    above: list[Anything] = []
    parent = _parent(group)
    while parent and len(above) < DEEPEST - 1:
        thing = look(by_name(COMPOSITE, parent), namespace)
        if thing is None:
            return GroupLine(name, group, tuple(above), f"{COMPOSITE} {namespace}/{parent}")
        above.append(thing)
        parent = _parent(thing)
    return GroupLine(name, group, tuple(above), too_deep=bool(parent))


def _parent(thing: Anything) -> str:
    name = thing.spec.get("parentCompositePodGroupName")
    return name if isinstance(name, str) else ""


def group_name(pod: Pod) -> str:
    """The PodGroup that a pod names; empty = none."""
    group = pod.spec.scheduling_group
    return group.pod_group_name if group else ""


def members(pods: Sequence[Pod]) -> dict[str, list[Pod]]:
    """PodGroup -> pods that name it."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        found.setdefault(group_name(pod), []).append(pod)
    return {name: found[name] for name in sorted(found)}


def terms_of(lines: Mapping[str, GroupLine], pods: Mapping[str, Sequence[Pod]]) -> GroupTerms:
    """What the groups of one gang say.

    Args:
        lines: its PodGroups by name: several if a CompositePodGroup gathers them.
        pods: living pods by PodGroup; each has at least one.

    Raises:
        FieldError: a field asks for what cannot be; names the object and the field.
    """
    for name, line in lines.items():
        _check(line, pods[name])
    first = next(iter(lines.values()))
    parts = {name: _part(line, len(pods[name])) for name, line in lines.items()}
    if first.head is None:
        return parts[first.name]
    lacking = [*_absent_groups(lines.values()), *_absent_pods(parts, pods)]
    return GroupTerms(
        least=sum(each.least for each in parts.values()),
        said=_level(first.head),
        parts=parts,
        lacking=next(iter(lacking), ""),
    )


def _part(line: GroupLine, count: int) -> GroupTerms:
    """What one PodGroup says. `all` of `disruptionMode` leaves no pod to be taken alone."""
    assert line.group
    where = _where(line.group, "schedulingPolicy", "gang")
    least = reading.number(_gang(line.group), "minCount", 1, where)
    if any(_goes_whole(each) for each in (line.group, *line.above[: line.depth])):
        least = max(least, count)
    is_gang = not is_basic(line.group) or line.depth > 0
    return GroupTerms(least=least, is_gang=is_gang, said=_level(line.group))


def _gang(thing: Anything) -> dict[str, Any]:
    return reading.inside(thing.spec, _where(thing), "schedulingPolicy", "gang")


def _level(thing: Anything) -> Meta:
    """The level that all pods below a group must share, as an annotation."""
    key = _topology(thing)
    return Meta(annotations={markers.UPSTREAM_LEVEL: key} if key else {})


def _topology(thing: Anything) -> str:
    limits = reading.inside(thing.spec, _where(thing), "schedulingConstraints")
    where = _where(thing, "schedulingConstraints", "topology")
    keys = reading.listing(limits.get("topology"), where)
    if len(keys) > 1:
        raise FieldError("only one of them is read", key=where)
    return reading.text(keys[0], "key", f"{where}[0]") if keys else ""


def _goes_whole(thing: Anything) -> bool:
    """Whether what a group gathers may be stopped together only."""
    mode, where = thing.spec.get("disruptionMode"), _where(thing, "disruptionMode")
    if isinstance(mode, str):
        if mode not in _WORDS:
            raise FieldError(f"should be {' or '.join(_WORDS)}, not {mode!r}", key=where)
        return _WORDS[mode]
    return reading.mapping(mode, where).get("all") is not None


def _check(line: GroupLine, pods: Sequence[Pod]) -> None:
    """Refuse what a gang cannot be held to. Raises FieldError."""
    assert line.group
    if line.too_deep:
        raise FieldError(
            f"there are more than {DEEPEST} levels of groups, or they are in a circle",
            key=_where(line.above[-1], "parentCompositePodGroupName"),
        )
    if line.group.spec.get("resourceClaims"):
        raise FieldError(
            "claims that the pods of a group share are not allocated",
            key=_where(line.group, "resourceClaims"),
            hint="give each pod its own claim, or leave the group to kube-scheduler",
        )
    for level, each in enumerate(line.above, 1):
        if level < line.depth:
            _check_inner(each)
        elif level > line.depth:
            _check_loose(each)
    _check_pods((line.group, *line.above)[-1], pods)


def _check_inner(thing: Anything) -> None:
    """A CompositePodGroup within one whose groups start together."""
    if is_basic(thing):
        raise FieldError(
            "groups that start independently cannot be part of ones that start together",
            key=_where(thing, "schedulingPolicy", "basic"),
        )
    if _topology(thing):
        raise FieldError(
            "a level for groups of groups is not read",
            key=_where(thing, "schedulingConstraints", "topology"),
            hint="name the level in each PodGroup, or in the topmost CompositePodGroup",
        )


def _check_loose(thing: Anything) -> None:
    """A CompositePodGroup whose groups start independently."""
    what = "groups that start independently cannot"
    if _topology(thing):
        where = _where(thing, "schedulingConstraints", "topology")
        raise FieldError(f"{what} be held to one domain", key=where)
    if _goes_whole(thing):
        raise FieldError(f"{what} be stopped together", key=_where(thing, "disruptionMode", "all"))


def _check_pods(top: Anything, pods: Sequence[Pod]) -> None:
    """Pods have the priority of their topmost group, as kube-scheduler demands it."""
    priority, policy = top.spec.get("priority"), top.spec.get("preemptionPolicy")
    for pod in pods:
        own = pod.spec.priority or 0
        if priority is not None and own != priority:
            raise FieldError(
                f"it is {priority}, and that of pod {pod.metadata.name} is {own}",
                key=_where(top, "priority"),
                hint="give the group and its pods the same priorityClassName",
            )
        said = pod.spec.preemption_policy or _LOWER
        if policy is not None and said != policy:
            raise FieldError(
                f"it is {policy}, and that of pod {pod.metadata.name} is {said}",
                key=_where(top, "preemptionPolicy"),
            )


def _absent_groups(lines: Iterable[GroupLine]) -> Iterator[str]:
    """CompositePodGroups of which not enough groups have pods. Raises FieldError."""
    below: dict[str, set[tuple[str, str]]] = {}
    things: dict[str, Anything] = {}
    for line in lines:
        under = (POD_GROUP, line.name)
        for each in line.above[: line.depth]:
            name = each.metadata.name
            things[name] = each
            below.setdefault(name, set()).add(under)
            under = (COMPOSITE, name)
    for name in sorted(things):
        where = _where(things[name], "schedulingPolicy", "gang")
        wanted = reading.number(_gang(things[name]), "minGroupCount", 1, where)
        have = len(below[name])
        if have > wanted:
            raise FieldError(
                f"{wanted} of {have} groups is not supported: all of them start together",
                key=f"{where}.minGroupCount",
                hint="ask for all of them",
            )
        if have < wanted:
            yield f"{have} of {wanted} groups of {COMPOSITE} {name} have pods"


def _absent_pods(
    parts: Mapping[str, GroupTerms], pods: Mapping[str, Sequence[Pod]]
) -> Iterator[str]:
    for name, part in parts.items():
        have = len(pods[name])
        if have < part.least:
            yield f"{have} of at least {part.least} pods of {POD_GROUP} {name} exist"


def _where(thing: Anything, *fields: str) -> str:
    return ".".join((f"{thing.kind} {thing.metadata.name} spec", *fields))
