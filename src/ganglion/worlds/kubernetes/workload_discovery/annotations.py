"""What labels and annotations say about a gang, no matter which tool's they are."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.plan import SavePoint
from ganglion.model.workload import Checkpoint, Kind, Topology
from ganglion.specs.grammar.times.deadlines import parse_deadline
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.specs.grammar.times.instants import parse_instant
from ganglion.worlds.kubernetes import markers, names
from ganglion.worlds.kubernetes.types.meta import Meta

Levels = Callable[[str], Level | None]
"""Node label -> its level in this cluster; None = it is no topology label."""

STANDARD_LABELS: Mapping[str, Level] = {
    names.HOSTNAME: Level.NODE,
    "topology.kubernetes.io/zone": Level.ZONE,
    "topology.kubernetes.io/region": Level.REGION,
}
"""Topology labels that Kubernetes itself defines."""

HIGHEST = 100
"""Of the priorities that any user may write; beyond it only a PriorityClass leads."""

_DIGITS = 6
"""Of numbers of replicas."""
_STEP_DIGITS = 15
"""Of numbers of steps."""

_INDEXES = re.compile(r"-|\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*", re.ASCII)
"""Of trials; `-` = none."""

_TRUTH: Mapping[str, bool] = {"true": True, "false": False}
_CONTRACT = (
    names.CHECKPOINT_INTERVAL,
    names.CHECKPOINT_GRACE,
    names.CHECKPOINT_SIGNAL,
    names.CHECKPOINTED_AT,
)


class Said(Struct, frozen=True):
    """Labels and annotations by what they are attached to; the nearest to the pod comes first."""

    layers: tuple[Meta, ...]

    def get(self, *keys: str) -> tuple[str, str]:
        """Key and text of the nearest of several labels or annotations; empty when none is set."""
        for layer in self.layers:
            notes, labels = layer.annotations, layer.labels
            for key in keys if notes or labels else ():
                text = notes.get(key) or labels.get(key)
                if text:
                    return key, text
        return "", ""

    def queue(self) -> str:
        """The queue it names."""
        return self.get(*markers.QUEUES)[1]

    def kind(self, otherwise: Kind) -> Kind:
        """What sort of workload it says it is. Raises FieldError."""
        key, text = self.get(markers.KIND)
        if not text:
            return otherwise
        if text not in set(Kind):
            raise FieldError(f"{text!r} is none of {', '.join(Kind)}", key=key)
        return Kind(text)

    def truth(self, name: str, otherwise: bool) -> bool:
        """A truth value. Raises FieldError."""
        key, text = self.get(name)
        if text and text.lower() not in _TRUTH:
            raise FieldError(f"should be true or false, not {text!r}", key=key)
        return _TRUTH[text.lower()] if text else otherwise

    def duration(self, name: str) -> int:
        """A duration in ms; 0 when there is none. Raises FieldError."""
        key, text = self.get(name)
        try:
            return parse_duration(text) if text else 0
        except FieldError as error:
            raise FieldError(error.problem, key=key, hint=error.hint) from None

    def ready_within(self) -> int | None:
        """How long it has to become ready, in ms; None when it is not given. Raises FieldError."""
        is_said = bool(self.get(names.READY_WITHIN)[1])
        return self.duration(names.READY_WITHIN) if is_said else None

    def seconds(self, name: str) -> int:
        """A number of seconds in ms; 0 when there is none. Raises FieldError."""
        key, text = self.get(name)
        if text and (not text.isdecimal() or len(text) > 10):
            raise FieldError(f"should be a number of seconds, not {text!r}", key=key)
        return int(text) * 1000 if text else 0

    def priority(self) -> int:
        """A priority from 0 to 100; 0 when there is none. Raises FieldError."""
        key, text = self.get(names.PRIORITY)
        if text and not (text.isdecimal() and len(text) <= 3 and int(text) <= HIGHEST):
            raise FieldError(f"should be a number from 0 to {HIGHEST}, not {text!r}", key=key)
        return int(text) if text else 0

    def is_spare(self, index: int) -> bool:
        """Whether the trial of that index is spare. Raises FieldError."""
        key, text = self.get(names.OWN_TRIALS)
        if not text:
            return False
        if not _INDEXES.fullmatch(text):
            raise FieldError(f"should be indexes like 0-3,7, not {text[:80]!r}", key=key)
        parts = [part.partition("-") for part in text.split(",") if text != "-"]
        return not any(int(low) <= index <= int(high or low) for low, _, high in parts)

    def floor(self) -> int:
        """Minimum siblings that a preemption leaves running; 0 by default. Raises FieldError."""
        key, text = self.get(names.FLOOR)
        if text and not (text.isdecimal() and len(text) <= _DIGITS):
            raise FieldError(f"should be a number of replicas, not {text!r}", key=key)
        return int(text) if text else 0

    def deadline(self, created_ms: int) -> int:
        """When it should have ended, in ms since 1970; 0 = no matter when. Raises FieldError."""
        key, text = self.get(names.DEADLINE)
        try:
            return parse_deadline(text).of(created_ms) if text else 0
        except FieldError as error:
            raise FieldError(error.problem, key=key, hint=error.hint) from None

    def instant(self, name: str) -> int:
        """A point in time in ms since 1970; 0 when there is none. Raises FieldError."""
        key, text = self.get(name)
        try:
            return parse_instant(text) if text else 0
        except FieldError as error:
            raise FieldError(error.problem, key=key, hint=error.hint) from None

    def checkpoint(self, grace_s: int | None) -> Checkpoint | None:
        """The contract; None when there is none. Raises FieldError.

        Args:
            grace_s: how long the pods have between SIGTERM and SIGKILL; None = Kubernetes' 30.
        """
        if not self.get(*_CONTRACT)[0]:
            return None
        otherwise = 1000 * (30 if grace_s is None else grace_s)
        return Checkpoint(
            interval_ms=self.duration(names.CHECKPOINT_INTERVAL),
            signal=self.get(names.CHECKPOINT_SIGNAL)[1] or "SIGTERM",
            grace_ms=self.duration(names.CHECKPOINT_GRACE) or otherwise,
        )

    def saved(self) -> SavePoint | None:
        """The checkpoint that the workload wrote down last; None = none. Raises FieldError."""
        at = self.instant(names.CHECKPOINTED_AT)
        if not at:
            return None
        key, step = self.get(names.CHECKPOINT_STEP)
        if step and not (step.isdecimal() and len(step) <= _STEP_DIGITS):
            raise FieldError(f"should be the number of a step, not {step!r}", key=key)
        return SavePoint(at, int(step or 0), self.get(names.CHECKPOINT_PATH)[1])

    def topology(self, levels: Levels) -> Topology:
        """The levels that pods must or should share. Raises FieldError."""
        return Topology(
            required=self._level(markers.REQUIRED, levels),
            preferred=self._level(markers.PREFERRED, levels),
        )

    def _level(self, keys: tuple[str, ...], levels: Levels) -> Level | None:
        key, text = self.get(*keys)
        return resolve(text, key, levels) if text else None


def resolve(text: str, key: str, levels: Levels) -> Level:
    """The level that a name or a node label means. Raises FieldError."""
    if text in set(Level):
        return Level(text)
    level = levels(text)
    if level is None:
        raise FieldError(
            f"{text!r} is neither a level nor a topology label of this cluster's nodes", key=key
        )
    return level


def created_ms(meta: Meta) -> int:
    """When an object was made, in ms since 1970; 0 when unknown."""
    text = meta.creation_timestamp
    if not text:
        return 0
    return round(datetime.fromisoformat(text).timestamp()) * 1000
