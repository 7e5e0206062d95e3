"""Whether a GPU may be given to a gang, by what its driver reports of it.

Sources: NVIDIA's catalogue of Xid errors; the errors that its device plugin for Kubernetes
takes for the programs' own; NVML's flags of row remapping.
"""

from collections.abc import Mapping

from msgspec import Struct

PROGRAMS_OWN = frozenset({13, 31, 43, 45, 68, 94, 109})
"""Xid errors that say something about a program, or that the GPU got over by itself."""

WORDS: Mapping[int, str] = {
    48: "uncorrectable memory error",
    62: "its controller halted",
    64: "rows of its memory could not be remapped",
    74: "NVLink error",
    79: "it fell off the bus",
    92: "many corrected memory errors",
    95: "memory error that spread",
    119: "its controller does not answer",
    120: "its controller failed",
    140: "unrecovered memory error",
}


class DriverReading(Struct, frozen=True):
    """What a driver reported of one GPU.

    Attributes:
        present: whether it answers.
        xids: Xid errors since the reading before.
        uncorrected: uncorrectable memory errors since the driver was loaded.
        remap_failed: whether a broken row of its memory could not be replaced by another one.
        throttled: what slows it down although it should not, as `heat`; empty = nothing.
    """

    present: bool = True
    xids: tuple[int, ...] = ()
    uncorrected: int = 0
    remap_failed: bool = False
    throttled: str = ""


class GpuCondition(Struct):
    """What is remembered of one GPU.

    Attributes:
        sick: why no gang gets it; empty = it is well.
        uncorrected: uncorrectable memory errors that were seen.
        since: when it was last seen sick, in ms.
    """

    sick: str = ""
    uncorrected: int = 0
    since: int = 0


def fault_of(reading: DriverReading, before: GpuCondition) -> str:
    """What is wrong with a GPU by this reading; empty = nothing is."""
    if not reading.present:
        return "it does not answer"
    serious = [xid for xid in reading.xids if xid not in PROGRAMS_OWN and xid in WORDS]
    if serious:
        return f"Xid {serious[0]}: {WORDS[serious[0]]}"
    if reading.remap_failed:
        return "a broken row of its memory cannot be replaced"
    if reading.uncorrected > before.uncorrected:
        more = reading.uncorrected - before.uncorrected
        return f"{more} uncorrectable memory errors"
    return ""


def judge(reading: DriverReading, before: GpuCondition, now: int, settle_ms: int) -> GpuCondition:
    """What to think of a GPU after a reading.

    A sick GPU is well again once nothing was wrong for `settle_ms`: an error that the
    next program would meet again comes back, and the quarantine of its node counts that.
    """
    fault = fault_of(reading, before)
    seen = max(reading.uncorrected, before.uncorrected) if reading.present else before.uncorrected
    if fault:
        return GpuCondition(fault, seen, now)
    if before.sick and now - before.since < settle_ms:
        return GpuCondition(before.sick, seen, before.since)
    return GpuCondition("", seen, 0)
