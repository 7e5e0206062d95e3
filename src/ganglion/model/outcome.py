"""How attempts end, and what the cause of a stop says about it."""

from enum import StrEnum


class Outcome(StrEnum):
    """How an attempt of a gang ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    SUSPENDED = "suspended"
    NODE_LOST = "node_lost"
    START_FAILED = "start_failed"
    STOPPED_EARLY = "stopped_early"
    """A trial that was given up for better ones: its sweep does well without it."""
