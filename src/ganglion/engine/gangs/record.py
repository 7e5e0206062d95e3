"""What the engine knows about one gang."""

from collections.abc import Hashable

from msgspec import Struct

from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.causes import Cause
from ganglion.model.events import Outcome
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.reasons import Reason
from ganglion.model.resources import Usage
from ganglion.model.workload import Gang

HOLDING = (Phase.STARTING, Phase.RUNNING, Phase.STOPPING)
"""Phases in which pods of a gang are physically there."""

WAITING = (Phase.PENDING, Phase.RESERVED)
"""Phases in which a gang has no pods."""

SETTLED = (Phase.STARTING, Phase.RUNNING)
"""Phases in which a gang's placement counts in the tree and in the use of its queue."""


class GangRecord(Struct):
    """One gang's life so far.

    Attributes:
        gang: as submitted, with later updates.
        shapes: shape of each pod set.
        lane: key of the lane of its equals.
        phase: where in its life it is.
        attempt: number of the present or last attempt; 0 = none yet.
        placement: where the present attempt runs; None when it holds nothing.
        leaving: pods that were asked to stop and are still there; the tree counts them no more.
        promise: the place it starts in once all that leaves there has left; the tree counts
            it, and no other gang gets it.
        reason: why it waits apart from its lane (held, dependency, back-off); None = no such.
        not_before: time before which it may not start.
        placed_at, started, ended_at: times in ms; 0 = not yet.
        committed_at: up to when the present attempt's work is safe; 0 = none of it.
        stopping_at: when it was asked to stop; 0 = it was not.
        preempted: how often it was stopped for others.
        moved_at: when it was last asked to stop to go on elsewhere; 0 = never.
        resized_at: when it last grew or shrank, growth in place apart; 0 = never in this attempt.
        attained: service in attempts that are over, in thousandths of GPUs x ms.
        outcome: how it ended for good; None until then.
        failures: attempts that failed by themselves.
        exit_code: exit code of the last attempt.
        message: what its world reported of the last attempt.
        cause: why it is being stopped; None = it is not.
        held_for: why it is held; None = not given.
        charged: what its placement uses, by flavor.
        pledged: what its promise uses, by flavor.
        number: gangs that were submitted up to it.
        fault: how the engine failed over it, which is why it is set apart; empty = it did not.
        raised: (when in ms, priority before, priority after) of each time that waiting raised it.
        waits_since: when it was submitted, or last had to wait again, in ms.
        turn_ms: time that the fleet needed at its submission for all work ahead of it.
        relocated: whether a node that it runs on came to lie in other domains, or its place was
            taken over as it was. It goes on there, even where its topology would not let it start.
    """

    gang: Gang
    shapes: tuple[Shape, ...]
    lane: Hashable
    phase: Phase = Phase.PENDING
    attempt: int = 0
    placement: Placement | None = None
    reason: Reason | None = None
    not_before: int = 0
    placed_at: int = 0
    started: int = 0
    ended_at: int = 0
    outcome: Outcome | None = None
    failures: int = 0
    exit_code: int | None = None
    message: str = ""
    cause: Cause | None = None
    held_for: Cause | None = None
    charged: tuple[tuple[str, Usage], ...] = ()
    pledged: tuple[tuple[str, Usage], ...] = ()
    leaving: tuple[PodPlacement, ...] = ()
    promise: Placement | None = None
    committed_at: int = 0
    stopping_at: int = 0
    preempted: int = 0
    moved_at: int = 0
    resized_at: int = 0
    attained: int = 0
    number: int = 0
    fault: str = ""
    waits_since: int = 0
    raised: tuple[tuple[int, int, int], ...] = ()
    turn_ms: int = 0
    relocated: bool = False
