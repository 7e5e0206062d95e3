"""The garbage collector, set for a process that keeps many records for long."""

import gc

THRESHOLDS = (100_000, 50, 100)
"""Collecting as often as by default costs a decision more than the decision itself."""


def relax() -> tuple[int, int, int]:
    """Collect rarely from now on; returns the thresholds in force before."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    return before
