"""Compares what came of a scenario in Kueue's words with what is expected."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.kueue import schema as said
from conformance.kueue.nodes import Ground
from conformance.kueue.play import Outcome
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.placement import Placement
from ganglion.specs.wording import listed

CAUSES = {
    "within_queue": CauseKind.PREEMPTED,
    "reclaim": CauseKind.RECLAIMED,
    "reclaim_while_borrowing": CauseKind.RECLAIMED_BORROWING,
    "fair_share": CauseKind.SHARED,
}

_NUMBER = re.compile(r"\d+")

Places = Mapping[str, Mapping[str, Mapping[str, int]]]
"""gang -> pod set -> place -> pods."""


def first_pass(case: said.Case, outcome: Outcome, ground: Ground) -> Iterator[str]:
    """What the first cycle did otherwise than expected."""
    expect = case.expect
    if expect is None:
        return
    evicted = [gang for gang, cause in outcome.stopped.items() if _word(cause) is None]
    yield from _names("started", outcome.admitted, expect.admitted)
    yield from _names("evicted", evicted, expect.evicted)
    yield from _causes(outcome, expect)
    if expect.pending is not None:
        yield from _names("waiting", outcome.pending, expect.pending)
    yield from places(expect.placement, outcome.first, ground, case)
    yield from _reason(expect, outcome)
    yield from _counts(expect, outcome)
    yield from _flavors(expect, outcome, ground)


def end(expected: said.Settled, outcome: Outcome, ground: Ground, case: said.Case) -> Iterator[str]:
    """What the end is otherwise than expected."""
    if not outcome.settled:
        yield "it never settles"
    if expected.running is not None:
        yield from _names("running in the end", outcome.running, expected.running)
    if expected.pending is not None:
        yield from _names("waiting in the end", outcome.waiting, expected.pending)
    if expected.evicted is not None:
        yield from _names("evicted", dict.fromkeys(outcome.ever_stopped), expected.evicted)
    yield from places(expected.placement, outcome.last, ground, case)


def places(
    expected: Places, placements: dict[str, Placement], ground: Ground, case: said.Case
) -> Iterator[str]:
    """Where the pods are otherwise than expected; where the file names ties, up to symmetry."""
    found = {
        gang: {
            name: place
            for name, place in _place(placements.get(gang), ground).items()
            if name in sets
        }
        for gang, sets in expected.items()
    }
    if found == expected:
        return
    if case.ties and _shape(found, ground) == _shape(expected, ground):
        return
    for gang, sets in expected.items():
        if found[gang] != sets:
            yield f"{gang} is at {found[gang] or 'no place'} instead of {sets}"


def _place(placement: Placement | None, ground: Ground) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for pod in placement.pods if placement else ():
        where = found.setdefault(pod.pod_set, {})
        key = ground.key(pod.node)
        where[key] = where.get(key, 0) + 1
    return found


def _shape(where: Places, ground: Ground) -> object:
    """The cluster with the pods in it, equal for placements that mirror each other."""
    tree: dict[str, Any] = {}
    for name, node in ground.cluster.nodes.items() if ground.cluster else ():
        key = ground.key(name)
        pods = tuple(
            (gang, pod_set, count)
            for gang, sets in sorted(where.items())
            for pod_set, each in sorted(sets.items())
            if (count := each.get(key))
        )
        leaf = (node.gpu, node.cpu, tuple(sorted(node.labels.items())), pods)
        _hang(tree, (*node.at, f"node {name}"), leaf)
    return _sorted(tree)


def _hang(tree: dict[str, Any], path: tuple[str, ...], leaf: object) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = leaf


def _sorted(tree: object) -> object:
    if not isinstance(tree, dict):
        return tree
    return tuple(sorted((_sorted(each) for each in tree.values()), key=repr))


def _names(
    what: str, found: Sequence[str] | dict[str, None], expected: Sequence[str]
) -> Iterator[str]:
    if set(found) != set(expected):
        yield f"{what}: {_list(found)} instead of {_list(expected)}"


def _list(names: Sequence[str] | dict[str, None]) -> str:
    return listed(sorted(names)) if names else "nobody"


def _word(cause: Cause) -> str | None:
    """The file's word for a cause; None = it has none."""
    return next((word for word, each in CAUSES.items() if cause.kind is each), None)


def _causes(outcome: Outcome, expect: said.Expect) -> Iterator[str]:
    found = {gang: word for gang, cause in outcome.stopped.items() if (word := _word(cause))}
    if found != expect.preempted:
        yield f"preempted: {found or 'none'} instead of {expect.preempted or 'none'}"


def _reason(expect: said.Expect, outcome: Outcome) -> Iterator[str]:
    """Words differ, but the reason of a gang that waits has the same numbers."""
    numbers = set(_NUMBER.findall(expect.reason))
    told = [set(_NUMBER.findall(reason)) for reason in outcome.reasons.values()]
    if not any(numbers <= each for each in told) and numbers:
        reasons = "; ".join(outcome.reasons.values()) or "no gang waits"
        yield f"the reason is {reasons!r}, with other numbers than {expect.reason!r}"


def _counts(expect: said.Expect, outcome: Outcome) -> Iterator[str]:
    for gang, sets in expect.pod_counts.items():
        pods = outcome.first[gang].pods if gang in outcome.first else ()
        found = {name: sum(pod.pod_set == name for pod in pods) for name in sets}
        if found != sets:
            yield f"{gang} has {found} pods instead of {sets}"


def _flavors(expect: said.Expect, outcome: Outcome, ground: Ground) -> Iterator[str]:
    for gang, sets in expect.flavors.items():
        pods = outcome.first[gang].pods if gang in outcome.first else ()
        for name, resources in sets.items():
            nodes = [pod.node for pod in pods if pod.pod_set == name]
            for resource, flavor in resources.items():
                found = {ground.flavor(node, resource) for node in nodes}
                if found != {flavor}:
                    yield f"{gang} {name} {resource} is of {listed(sorted(found))}, not {flavor}"
