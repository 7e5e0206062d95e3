"""Groups that pods name themselves, in the words of whichever system they were written for."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct, structs

from ganglion.model.errors import FieldError, InputError
from ganglion.model.fleet.levels import Level
from ganglion.worlds.kubernetes import markers, names
from ganglion.worlds.kubernetes.pod_groups import upstream
from ganglion.worlds.kubernetes.pod_groups.terms import GroupTerms
from ganglion.worlds.kubernetes.requests import ask_of
from ganglion.worlds.kubernetes.types.meta import Anything, Meta, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    ANYWHERE,
    MAIN,
    ClaimedSeat,
    SetShape,
    label_index,
    of_count,
    ordinal,
)


class NamedPodGroup(Struct, frozen=True):
    """A group as a pod names it.

    Attributes:
        source: the label, annotation or field it is named by.
        name: its name within the namespace.
        api_version: of the PodGroup that describes it; empty = its pods do.
        kind: of the object that describes it.
    """

    source: str
    name: str
    api_version: str = ""
    kind: str = upstream.POD_GROUP

    @property
    def reference(self) -> OwnerReference | None:
        """The object that describes it; pods do not know its UID."""
        if not self.api_version:
            return None
        return OwnerReference(self.api_version, self.kind, self.name)

    @property
    def key(self) -> str:
        """Separates it from groups of the same name in other systems."""
        group = self.api_version.partition("/")[0]
        return f"{self.kind}.{group}/{self.name}" if group else f"{self.source}/{self.name}"


_DESCRIBED = (
    (markers.COSCHEDULING, "scheduling.x-k8s.io/v1alpha1"),
    (markers.VOLCANO, "scheduling.volcano.sh/v1beta1"),
    (markers.KAI, "scheduling.run.ai/v2alpha2"),
)


TIERS = (Level.RACK, Level.BLOCK, Level.ZONE, Level.REGION)
"""What the tiers of Volcano's networkTopology mean here, from 1 on."""


def group_of(pod: Pod) -> NamedPodGroup | None:
    """The group a pod says it is in; its own field first, then ours, then the others' marks."""
    if name := upstream.group_name(pod):
        return NamedPodGroup(upstream.FIELD, name, upstream.NOMINAL)
    for key in (names.GANG, markers.KUEUE_GROUP):
        if name := _mark(pod, key):
            return NamedPodGroup(key, name)
    for key, api_version in _DESCRIBED:
        if name := _mark(pod, key):
            return NamedPodGroup(key, name, api_version)
    return None


def _mark(pod: Pod, key: str) -> str:
    return pod.metadata.labels.get(key) or pod.metadata.annotations.get(key, "")


def terms_of(group: NamedPodGroup, pods: Sequence[Pod], described: Anything | None) -> GroupTerms:
    """What a group's pods and its PodGroup say, but for those of Kubernetes itself.

    Raises:
        InputError: they say nothing, or what cannot be.
    """
    if described is not None:
        return _TERMS[group.source](described.spec)
    total_key = names.GANG_SIZE if group.source == names.GANG else markers.KUEUE_TOTAL
    total = _agreed(group, pods, total_key)
    least = _agreed(group, pods, names.GANG_MIN) if group.source == names.GANG else 0
    if not total:
        raise InputError(
            f"no pod of group {group.name!r} says how many there are",
            f"give them the annotation {total_key}",
        )
    if least > total:
        raise FieldError(f"{least} is more than the {total} of {total_key}", key=names.GANG_MIN)
    if len(pods) > total:
        raise InputError(f"group {group.name!r} has {len(pods)} pods, but {total_key} is {total}")
    return GroupTerms(total, least)


def _agreed(group: NamedPodGroup, pods: Sequence[Pod], key: str) -> int:
    """The number that all pods give. Raises InputError when they differ."""
    given = {text: pod for pod in pods if (text := pod.metadata.annotations.get(key))}
    if len(given) > 1:
        (one, pod), (two, other) = sorted(given.items())[:2]
        raise InputError(
            f"the pods of group {group.name!r} disagree on {key}: "
            f"{pod.metadata.name} says {one}, {other.metadata.name} says {two}"
        )
    return reading.count(next(iter(given), "0"), key)


def _coscheduling(spec: dict[str, Any]) -> GroupTerms:
    return GroupTerms(least=reading.number(spec, "minMember", 1))


def _volcano(spec: dict[str, Any]) -> GroupTerms:
    tasks = reading.inside(spec, "spec", "minTaskMember")
    least = {name: reading.number(tasks, name, 0, "spec.minTaskMember") for name in sorted(tasks)}
    if reading.listing(spec.get("subGroupPolicy"), "spec.subGroupPolicy"):
        raise FieldError(
            "parts of a group are not read",
            key="spec.subGroupPolicy",
            hint="give its pods kueue.x-k8s.io/podset-slice-size instead",
        )
    said = Meta(annotations={names.QUEUE: reading.text(spec, "queue"), **_volcano_levels(spec)})
    return GroupTerms(least=reading.number(spec, "minMember", 1), sets=least, said=said)


def _volcano_levels(spec: dict[str, Any]) -> dict[str, str]:
    """The level that Volcano's tiers of the network amount to, as annotations.

    Soft is what the engine does anyway: the narrowest domain that holds the gang comes first.
    """
    if spec.get("networkTopology") is None:
        return {}
    where = "spec.networkTopology"
    found = reading.inside(spec, "spec", "networkTopology")
    mode = reading.text(found, "mode", where) or "hard"
    if mode not in ("hard", "soft"):
        raise FieldError(f"should be hard or soft, not {mode!r}", key=f"{where}.mode")
    level = reading.text(found, "highestTierName", where)
    tier = reading.number(found, "highestTierAllowed", 1, where)
    if not level and not 1 <= tier <= len(TIERS):
        raise FieldError(
            f"should be a tier from 1 (a rack) to {len(TIERS)} (a region), not {tier}",
            key=f"{where}.highestTierAllowed",
        )
    key = names.TOPOLOGY_REQUIRED if mode == "hard" else names.TOPOLOGY_PREFERRED
    return {key: level or TIERS[tier - 1].value}


def _kai(spec: dict[str, Any]) -> GroupTerms:
    groups = reading.listing(spec.get("subGroups"), "spec.subGroups")
    _check_tree(spec, groups)
    parents = {reading.text(each, "parent") for each in groups}
    least = {
        name: reading.number(each, "minMember", 0, "spec.subGroups")
        for each in groups
        if (name := reading.text(each, "name")) not in parents
    }
    levels = {reading.text(each, "name"): Meta(annotations=_kai_levels(each)) for each in groups}
    said = {names.QUEUE: reading.text(spec, "queue"), **_kai_levels(spec)}
    if reading.text(spec, "preemptibility") == "non-preemptible":
        said[names.PREEMPTIBLE] = "false"
    total = sum(least.values()) or 1
    return GroupTerms(
        least=reading.number(spec, "minMember", total) or 1,
        sets=least,
        said=Meta(annotations=said),
        levels=levels,
    )


def _check_tree(spec: dict[str, Any], groups: Sequence[dict[str, Any]]) -> None:
    """Refuse what of KAI's sub-groups a gang cannot be held to. Raises FieldError.

    Sub-groups are pod sets, all of which start together: k of n of them cannot be, and a level
    holds for one pod set or for all.
    """
    children = Counter(reading.text(each, "parent") for each in groups)
    named = {"": ("spec", spec)}
    for number, each in enumerate(groups):
        named[reading.text(each, "name")] = (f"spec.subGroups[{number}]", each)
    for parent in sorted(children):
        if parent not in named:
            raise FieldError(f"there is no sub-group {parent!r}", key="spec.subGroups.parent")
    for name, (where, each) in named.items():
        wanted = reading.number(each, "minSubGroup", children[name], where)
        if wanted != children[name]:
            raise FieldError(
                f"{wanted} of {children[name]} sub-groups is not supported: all start together",
                key=f"{where}.minSubGroup",
                hint="ask for all of them, or make a PodGroup of each",
            )
        if name and children[name] and any(_kai_levels(each).values()):
            raise FieldError(
                "a level for sub-groups of a sub-group is not read",
                key=f"{where}.topologyConstraint",
                hint="name the level in each of them, or in the PodGroup",
            )


def _kai_levels(found: dict[str, Any]) -> dict[str, str]:
    limits = reading.inside(found, "spec", "topologyConstraint")
    return {
        names.TOPOLOGY_REQUIRED: reading.text(limits, "requiredTopologyLevel"),
        names.TOPOLOGY_PREFERRED: reading.text(limits, "preferredTopologyLevel"),
    }


_TERMS: Mapping[str, Callable[[dict[str, Any]], GroupTerms]] = {
    markers.COSCHEDULING: _coscheduling,
    markers.VOLCANO: _volcano,
    markers.KAI: _kai,
}


def seat(pod: Pod, made: ClaimedSeat | None) -> ClaimedSeat:
    """Where a pod of a group belongs.

    Args:
        pod: the pod.
        made: where the rule for what made it puts it; None = nothing is known about that.
    """
    known = made if made is not None and made.pod_set != MAIN else None
    name = _mark(pod, names.POD_SET) or _mark(pod, markers.KAI_SUBGROUP)
    name = name or _mark(pod, markers.VOLCANO_TASK) or (known.pod_set if known else "")
    index = _index(pod)
    if index == ANYWHERE and made is not None:
        return ClaimedSeat(name or _alike(pod), made.index, made.block)
    return ClaimedSeat(name or _alike(pod), ordinal(pod) if index == ANYWHERE else index)


def _index(pod: Pod) -> int:
    label = pod.metadata.annotations.get(markers.KUEUE_INDEX_LABEL, markers.KUEUE_INDEX)
    found = (label_index(pod, key) for key in (names.INDEX, label, markers.VOLCANO_INDEX))
    return next((each for each in found if each != ANYWHERE), ANYWHERE)


def _alike(pod: Pod) -> str:
    """A name that pods of the same needs share, now and when they are made anew."""
    spec = pod.spec
    needs = (ask_of(pod), spec.node_selector, spec.affinity, spec.tolerations)
    return f"pods-{sha256(msgspec.json.encode(needs, order='deterministic')).hexdigest()[:6]}"


def sets(
    terms: GroupTerms, pods: Sequence[Pod], seat_of: Callable[[Pod], ClaimedSeat]
) -> list[SetShape]:
    """Sets of the pods that exist, with the fewest of each that may start. Raises InputError."""
    if terms.parts:
        mine = upstream.members(pods)
        return [
            each for name, part in terms.parts.items() for each in sets(part, mine[name], seat_of)
        ]
    by_set: dict[str, list[Pod]] = {}
    for pod in pods:
        by_set.setdefault(seat_of(pod).pod_set, []).append(pod)
    for name, alike in by_set.items():
        _equal(name, alike)
    wanted = terms.least or terms.total
    least = _leasts({name: len(alike) for name, alike in by_set.items()}, terms.sets, wanted)
    return [
        structs.replace(
            of_count(name, len(by_set[name]), by_set[name][0], least[name]), strict=False
        )
        for name in sorted(by_set)
    ]


def levels(terms: GroupTerms, shapes: Sequence[SetShape]) -> dict[str, Meta]:
    """Set -> what constrains it. Raises FieldError."""
    found = dict(terms.levels)
    for name, part in terms.parts.items():
        mine = [each.name for each in shapes if each.name.startswith(in_group(name))]
        if len(mine) > 1 and part.said.annotations:
            raise FieldError(
                f"pods of {len(mine)} kinds cannot be held to one domain within others",
                key=f"{upstream.POD_GROUP} {name} {markers.UPSTREAM_LEVEL}",
                hint="make a PodGroup of each kind",
            )
        found.update((each, part.said) for each in mine)
    return found


def in_group(name: str) -> str:
    """What the sets of a PodGroup begin with that starts together with others."""
    return f"{name}/"


def _equal(name: str, pods: Sequence[Pod]) -> None:
    first = ask_of(pods[0])
    for pod in pods[1:]:
        if ask_of(pod) != first:
            raise InputError(
                f"pods of one set ask for different things: {pods[0].metadata.name} and "
                f"{pod.metadata.name} of {name!r}",
                f"distinguish them by the annotation {names.POD_SET}",
            )


def _leasts(counts: dict[str, int], given: dict[str, int], wanted: int) -> dict[str, int]:
    """Fewest pods by set, so that all together are `wanted`; large sets spare the rest."""
    least = {name: min(given.get(name, 0), count) for name, count in counts.items()}
    for name in sorted(counts, key=lambda each: (counts[each], each)):
        more = min(counts[name] - least[name], max(wanted - sum(least.values()), 0))
        least[name] += more
    return least
