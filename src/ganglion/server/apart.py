"""Gangs that are set apart, as the engine failed over them: who they are, and in one sentence."""

from collections.abc import Mapping

from ganglion.model.events import Event, GangEnded, GangSetApart, GangUpdated, PolicySet

NAMED = 3
"""Gangs that are named; others are counted."""

Apart = dict[str, str]
"""Gang -> how the engine failed over it."""


def apart_after(apart: Apart, event: Event) -> Apart:
    """Who is set apart once an event has been taken in."""
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
