"""Workspaces of a cluster: which of them are idle, and what is to be done about them."""

from collections.abc import Mapping

from msgspec import Struct, field

from ganglion.lifecycle.workspaces.look import Look
from ganglion.lifecycle.workspaces.observations import Memory
from ganglion.lifecycle.workspaces.rule import GAP_MS, Act, Pace, Step, Warned, every_ms, step
from ganglion.model.workload import Kind, Workload
from ganglion.server.cluster.controllers.mains import Kept
from ganglion.server.cluster.controllers.onlooker import ClusterOnlooker, Place
from ganglion.server.state.eyes import Eyes, Key
from ganglion.specs.grammar.times.durations import print_duration
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.types.pod import Pod


class Deed(Struct, frozen=True):
    """What is to be done about a workspace.

    Attributes:
        kept: the workspace.
        act: what.
        note: why, for people, with what is lost.
        warned: the warning that stands from now on; None = none.
    """

    kept: Kept
    act: Act
    note: str
    warned: Warned | None = None


class _Watch(Struct):
    memory: Memory = field(default_factory=Memory)
    at: int = 0


class Workspaces:
    """Decides for all workspaces of a cluster.

    Args:
        eyes: look at workspaces.
        pace: how long an observation holds.
    """

    def __init__(self, eyes: Eyes, pace: Pace | None = None) -> None:
        self._eyes, self._pace = eyes, pace or Pace()
        self._watches: dict[Key, _Watch] = {}

    def unmet(self, found: Mapping[str, tuple[Kept, Pod]]) -> list[str]:
        """UIDs of workspaces that are not observed yet; others are forgotten."""
        wanted = {_key(kept, pod) for kept, pod in found.values()}
        self._eyes.keep(wanted)
        self._watches = {key: each for key, each in self._watches.items() if key in wanted}
        return [uid for uid, each in found.items() if not self._eyes.knows(_key(*each))]

    def meet(self, kept: Kept, pod: Pod, place: Place, now: int) -> None:
        """Look at a workspace from now on."""
        often = every_ms(_workload(kept), now)
        self._eyes.meet(_key(kept, pod), ClusterOnlooker(place), often)

    def decide(self, found: Mapping[str, tuple[Kept, Pod]], now: int) -> list[Deed]:
        """What is to be done about workspaces that run."""
        deeds = [self._decide(kept, pod, now) for kept, pod in found.values()]
        return [each for each in deeds if each is not None and each.act is not Act.NOTHING]

    def _decide(self, kept: Kept, pod: Pod, now: int) -> Deed | None:
        seen = self._eyes.seen(_key(kept, pod))
        if seen is None:
            return None
        watch = self._watches.setdefault(_key(kept, pod), _Watch())
        look = seen.look
        if look and look.at > watch.at:
            watch.at = look.at
            for sight in look.sights:
                watch.memory.see(sight, GAP_MS)
        warned = warned_of(kept)
        found = step(_workload(kept), watch.memory, seen.required, warned, now, self._pace)
        return Deed(kept, found.act, _note(found, look, now), _warning(found, warned, now))


def warned_of(kept: Kept) -> Warned | None:
    """The warning that stands, as its object says; one that cannot be read does not stand."""
    at, _, until = kept.main.metadata.annotations.get(names.IDLE_WARNING, "").partition("/")
    return Warned(int(at), int(until)) if at.isdecimal() and until.isdecimal() else None


def _warning(found: Step, warned: Warned | None, now: int) -> Warned | None:
    if found.act is Act.WARN:
        return Warned(now, found.suspend_at)
    return warned if found.act is Act.NOTHING else None


def _note(found: Step, look: Look | None, now: int) -> str:
    said = found.finding.message
    lost = look.loss.text if look else ""
    match found.act:
        case Act.WARN:
            left = print_duration(max(0, found.suspend_at - now))
            return f"{said}: it is suspended in {left} unless it is used; {lost}"
        case Act.SUSPEND:
            return f"suspended: {said}"
        case _:
            return said


def _key(kept: Kept, pod: Pod) -> Key:
    return (f"{kept.uid}/{pod.metadata.uid}", 1)


def _workload(kept: Kept) -> Workload:
    life = kept.life
    return Workload(
        name=kept.main.metadata.name,
        kind=Kind.WORKSPACE,
        idle_timeout_ms=life.idle_timeout_ms,
        idle=life.idle,
    )
