"""The difference between two replays, next to their distance from what really happened."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from ganglion.api.whatif.report import WhatIfFigure, WhatIfGroup, WhatIfMover
from ganglion.whatif.fates import Fates, GangFate
from ganglion.whatif.figures import RESOLUTION, Figures, GroupedBy, Key, Measure, Own, nearest

MOVERS = 10
"""Most winners, and most losers, that are named."""
_ORDER = tuple(GroupedBy)

Waits = Mapping[str, int]
"""Workload -> how long it waited, in ms."""


class Three(Struct, frozen=True):
    """The same of what happened, of the replay and of the changed replay."""

    past: dict[Key, Figures]
    replay: dict[Key, Figures]
    changed: dict[Key, Figures]


def groups_of(
    found: Three, unknown: Mapping[Measure, int] = MappingProxyType({})
) -> tuple[WhatIfGroup, ...]:
    """Every group that is in all three, with the figures that all three have.

    Args:
        found: the figures.
        unknown: by how much more a figure may be wrong, as records of the past are missing.
    """
    keys = [key for key in found.replay if key in found.past and key in found.changed]
    keys.sort(key=lambda key: (_ORDER.index(key[0]), key[1]))
    return tuple(_group(found, key, unknown) for key in keys)


def _group(found: Three, key: Key, unknown: Mapping[Measure, int]) -> WhatIfGroup:
    past, replay, changed = (each[key] for each in (found.past, found.replay, found.changed))
    figures = {
        name.value: figure(
            past.values[name],
            replay.values[name],
            changed.values[name],
            RESOLUTION[name],
            unknown.get(name, 0),
        )
        for name in Measure
        if all(name in each.values for each in (past, replay, changed))
    }
    return WhatIfGroup(key[0].value, key[1], past.jobs, changed.waiting, figures)


def figure(past: int, replay: int, changed: int, least: int, unknown: int = 0) -> WhatIfFigure:
    """One figure with its error bar; a difference of `least` or less is no difference.

    What is not known of the past is added to the distance of the replay from it.
    """
    bar = abs(replay - past) + unknown
    return WhatIfFigure(past, replay, changed, bar, abs(changed - replay) > max(bar, least))


class Moved(Struct, frozen=True):
    """Workloads whose wait changes.

    Attributes:
        shorter, longer: those whose wait becomes shorter, and longer, most first.
        others_shorter, others_longer: how many more there are of queues that are not shown.
    """

    shorter: tuple[WhatIfMover, ...]
    longer: tuple[WhatIfMover, ...]
    others_shorter: int
    others_longer: int


def movers(
    past: Fates,
    replay: Waits,
    changed: Waits,
    until: int,
    missing_ms: int = 0,
    own: Own = None,
) -> Moved:
    """The workloads whose wait becomes shorter, and those whose wait becomes longer.

    A difference counts where it is larger than the error of that very wait, and than the error of
    half of all waits.

    Args:
        past: what really happened.
        replay: waits without a change.
        changed: with it.
        until: the end of the period, in ms.
        missing_ms: by how much a wait of the past may be known wrong.
        own: queues whose workloads are named; those of others are counted.
    """
    there = waits_of(past, until)
    errors = {name: abs(wait - there[name]) for name, wait in replay.items() if name in there}
    usual = nearest(sorted(errors.values()), 50) if errors else 0
    usual = max(usual, RESOLUTION[Measure.WAIT_P50])
    names: Mapping[str, GangFate] = {each.gang.workload: each for each in past.of.values()}
    found = [
        _mover(names[name], replay[name], changed[name], max(error, usual) + missing_ms)
        for name, error in errors.items()
        if name in changed
    ]
    seen = [each for each in found if abs(each.changed_ms - each.replay_ms) > each.bar_ms]
    seen.sort(key=lambda each: (each.changed_ms - each.replay_ms, each.workload))
    shorter = [each for each in seen if each.changed_ms < each.replay_ms]
    longer = [each for each in reversed(seen) if each.changed_ms > each.replay_ms]
    less, more = ([e for e in each if own is None or e.queue in own] for each in (shorter, longer))
    others = len(shorter) - len(less), len(longer) - len(more)
    return Moved(tuple(less[:MOVERS]), tuple(more[:MOVERS]), *others)


def waits_of(fates: Fates, until: int) -> Waits:
    """How long each workload waited, the longest of its gangs; those that waited before are not."""
    found: dict[str, int] = {}
    for each in fates.of.values():
        wait = each.wait_ms(until)
        if wait is not None:
            found[each.gang.workload] = max(found.get(each.gang.workload, 0), wait)
    return found


def _mover(fate: GangFate, before: int, after: int, bar: int) -> WhatIfMover:
    gang = fate.gang
    return WhatIfMover(
        gang.workload, gang.name or gang.workload, gang.queue, gang.user, before, after, bar
    )
