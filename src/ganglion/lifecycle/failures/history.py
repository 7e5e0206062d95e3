"""What is remembered of a gang's attempts to decide about the next one."""

from collections.abc import Mapping

from msgspec import Struct, field

from ganglion.lifecycle.failures.causes import CRASH_LOOP, GPU, NODE, OOM
from ganglion.model.events import GangEnded, Outcome

__all__ = ["CRASH_LOOP", "GPU", "NODE", "OOM", "FailureHistory", "cause_of"]

QUICK_MS = 10_000
"""An attempt that fails within this time of its start has not begun to work."""

BY_OUTCOME: Mapping[Outcome, str] = {
    Outcome.FAILED: "failure",
    Outcome.NODE_LOST: "node_failure",
    Outcome.PREEMPTED: "preemption",
    Outcome.START_FAILED: "start_failure",
}
"""Words of `Retry.on` and `Retry.limits`."""


def cause_of(event: GangEnded) -> str:
    """What ended an attempt, in the words of `Retry.limits`; empty = nothing went wrong."""
    if event.outcome is Outcome.FAILED and event.cause == OOM:
        return OOM
    return BY_OUTCOME.get(event.outcome, "")


class FailureHistory(Struct):
    """Ends of a gang so far.

    Attributes:
        ends: cause -> attempts that it ended.
        starts_failed: starts in a row that failed.
        crashes: failures in a row with one exit code, each right after the start.
        exit_code: that exit code.
        started: when the present attempt had all its pods, in ms; 0 = not yet.
    """

    ends: dict[str, int] = field(default_factory=dict)
    starts_failed: int = 0
    crashes: int = 0
    exit_code: int | None = None
    started: int = 0

    def begun(self, at: int) -> None:
        """An attempt has all its pods."""
        self.started, self.starts_failed = at, 0

    def ended(self, event: GangEnded) -> None:
        """An attempt is over."""
        self.crashes = self.crashes_with(event)
        self.exit_code = event.exit_code
        cause = cause_of(event)
        if cause:
            self.ends[cause] = self.ends.get(cause, 0) + 1
        self.starts_failed += event.outcome is Outcome.START_FAILED
        self.started = 0

    def crashes_with(self, event: GangEnded) -> int:
        """How many such failures there are in a row once this end counts."""
        ran = event.at - self.started
        if event.outcome is not Outcome.FAILED or not self.started or ran > QUICK_MS:
            return 0
        again = self.crashes and event.exit_code == self.exit_code
        return self.crashes + 1 if again else 1
