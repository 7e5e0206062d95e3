"""Gangs that are set apart, as the engine failed over them: their ids, and one sentence."""

import os
from collections.abc import Mapping

from ganglion.ledger.records import Flaw
from ganglion.model.events import Event, GangEnded, GangSetApart, GangUpdated, PolicySet

STRICT = "GANGLION_STRICT"
"""Environment variable that lets such failures fail the whole turn, as tests want it."""
NAMED = 3
"""Gangs that are named; others are counted."""

Apart = dict[str, str]
"""Gang -> how the engine failed over it."""


def isolates() -> bool:
    """Whether what the engine fails over is undone and set apart, and servers go on."""
    return not os.environ.get(STRICT)


def apart_after(apart: Apart, event: Event) -> Apart:
    """The gangs set apart once an event has been taken in."""
    if isinstance(event, GangSetApart):
        return apart | {event.gang: f"{event.stage}: {event.error}"}
    if isinstance(event, PolicySet):
        return {}
    if isinstance(event, GangUpdated | GangEnded) and event.gang in apart:
        return {gang: fault for gang, fault in apart.items() if gang != event.gang}
    return apart


def told_apart(apart: Mapping[str, str]) -> str:
    """The first few of them, for people; empty = there are none."""
    if not apart:
        return ""
    named = [f"{gang} ({fault})" for gang, fault in apart.items()][:NAMED]
    more = [f"{len(apart) - NAMED} more"] if len(apart) > NAMED else []
    return f"set apart, as the scheduler failed over them: {', '.join([*named, *more])}"


def told_flaws(flaws: Mapping[int, Flaw]) -> list[str]:
    """Events of the ledger that could not be taken in, for people: the first few, one a line."""
    lines = [_told_flaw(flaw) for flaw in flaws.values()][:NAMED]
    if len(flaws) > NAMED:
        lines.append(f"{len(flaws) - NAMED} more events were set apart: ganglion ledger verify")
    return lines


def _told_flaw(flaw: Flaw) -> str:
    about = f" (gang {flaw.gang})" if flaw.gang else ""
    if flaw.seq <= 0:
        return flaw.problem + about
    kind = f", {flaw.kind}," if flaw.kind else ""
    return f"event {flaw.seq} of the ledger{kind} was set apart: {flaw.problem}{about}"
