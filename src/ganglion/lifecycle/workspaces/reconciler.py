"""What is done about workspaces by what was seen of them; every host of workspaces runs it.

A host observes its workspaces and carries out what is decided: the server of a home by events and
orders to its world, the scheduler of a cluster by writes to the objects.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from ganglion.lifecycle.workspaces.look import Look, Loss
from ganglion.lifecycle.workspaces.observations import Witness, WitnessMemory
from ganglion.lifecycle.workspaces.rule import GAP_MS, Act, LookPace, Step, Warned, step
from ganglion.lifecycle.workspaces.verdict import IdleAnswer, IdleFinding
from ganglion.lifecycle.workspaces.words import span
from ganglion.model.workload import Workload

Key = tuple[str, int]
"""A workspace's id and the number of its attempt."""


class ObservedWorkspace(Struct, frozen=True):
    """A workspace that runs, as its host finds it.

    Attributes:
        workload: with its timeout and its rules of idleness.
        required: the witnesses that have to vouch.
        look: the last look at it; None = there was none.
        warned: the warning that stands; None = there is none.
    """

    workload: Workload
    required: frozenset[Witness]
    look: Look | None = None
    warned: Warned | None = None


class Action(Struct, frozen=True):
    """What a host does about a workspace.

    Attributes:
        act: what; NOTHING is never returned.
        found: on what grounds, one sentence for people.
        message: of a warning, what its user gets to read; else empty.
        warned: the warning that stands from now on; None = none.
    """

    act: Act
    found: str
    message: str = ""
    warned: Warned | None = None


class _Watch(Struct):
    memory: WitnessMemory = field(default_factory=WitnessMemory)
    at: int = 0
    found: IdleFinding | None = None


class Workspaces:
    """Decides about all workspaces of a host that run. No clock, no I/O.

    What it remembers may be lost: how long workspaces were idle is found out anew.

    Args:
        pace: how long an observation holds.
    """

    def __init__(self, pace: LookPace | None = None) -> None:
        self._pace = pace or LookPace()
        self._watches: dict[Key, _Watch] = {}

    def finding(self, key: Key) -> str:
        """Whether an attempt is used, and what shows it; empty = it was not observed."""
        watch = self._watches.get(key)
        found = watch.found if watch else None
        if found is None:
            return ""
        return (
            found.message if found.answer is IdleAnswer.IDLE else f"{found.answer}: {found.message}"
        )

    def decide(self, observed: Mapping[Key, ObservedWorkspace], now: int) -> dict[Key, Action]:
        """What to do about each of them; others are forgotten.

        Args:
            observed: all that run and are observed.
            now: the time, in ms since 1970.
        """
        watches = {key: self._watches.get(key) or _Watch() for key in observed}
        # Replaced at once: another thread may ask for a finding meanwhile.
        self._watches = watches
        steps = {key: self._step(watches[key], each, now) for key, each in observed.items()}
        return {
            key: _action(found, observed[key].look, now)
            for key, found in steps.items()
            if found.act is not Act.NOTHING
        }

    def _step(self, watch: _Watch, seen: ObservedWorkspace, now: int) -> Step:
        if seen.look and seen.look.at > watch.at:
            watch.at = seen.look.at
            for sight in seen.look.sights:
                watch.memory.see(sight, GAP_MS)
        found = step(seen.workload, watch.memory, seen.required, seen.warned, now, self._pace)
        watch.found = found.finding
        return found


def _action(found: Step, look: Look | None, now: int) -> Action:
    said = found.finding.message
    if found.act is not Act.WARN:
        return Action(found.act, said)
    left = span(found.suspend_at - now)
    loss = (look.loss if look else Loss()).text
    message = f"{said}: it is suspended in {left} unless it is used; {loss}"
    return Action(found.act, said, message, Warned(now, found.suspend_at))
