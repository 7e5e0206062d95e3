"""Idle, busy or unknown: what all witnesses together amount to."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from ganglion.lifecycle.workspaces.observations import Vouch, Witness, WitnessMemory
from ganglion.lifecycle.workspaces.words import span


class IdleAnswer(StrEnum):
    """Whether a workspace was used within a time that is over."""

    IDLE = "idle"
    """Every required witness vouches for all of that time, and nothing moved."""
    BUSY = "busy"
    """A witness saw something move."""
    UNKNOWN = "unknown"
    """No witness saw anything move, but not all can vouch for that. Never acted upon."""


class IdleFinding(Struct, frozen=True):
    """An answer with its grounds.

    Attributes:
        answer: the answer.
        since: of an idle one, since when; of a busy one, when something last moved; else 0.
        witness: which one saw that, or has no evidence; None = all agree that it is idle.
        message: one sentence.
    """

    answer: IdleAnswer
    since: int = 0
    witness: Witness | None = None
    message: str = ""


def judge(
    memory: WitnessMemory, required: Iterable[Witness], now: int, window_ms: int, stale_ms: int
) -> IdleFinding:
    """Say whether a workspace was idle for the whole of `window_ms` up to now.

    Args:
        memory: what its witnesses saw.
        required: which witnesses have to vouch; any that has looked at all has to as well.
        now: the time in ms.
        window_ms: how long back, in ms.
        stale_ms: a look this old no longer speaks for the present.
    """
    begin = now - window_ms
    stirred = _stirred(memory, begin, now)
    if stirred:
        return stirred
    for witness in sorted({*required, *memory.vouches}):
        doubt = _doubt(memory.vouches.get(witness), witness, begin, now, stale_ms)
        if doubt:
            return IdleFinding(IdleAnswer.UNKNOWN, 0, witness, doubt)
    if not any(witness is not Witness.PROGRAM for witness in memory.vouches):
        return IdleFinding(IdleAnswer.UNKNOWN, 0, None, "not observed yet")
    since = max(_quiet_since(witness, each) for witness, each in memory.vouches.items())
    return IdleFinding(IdleAnswer.IDLE, since, None, f"idle for {span(now - since)}")


def _quiet_since(witness: Witness, vouch: Vouch) -> int:
    return vouch.moved if witness is Witness.PROGRAM else vouch.quiet_since


def _stirred(memory: WitnessMemory, begin: int, now: int) -> IdleFinding | None:
    """What moved last, within the window."""
    moved = [(each.moved, witness) for witness, each in memory.vouches.items() if each.moved]
    if not moved:
        return None
    last, witness = max(moved)
    if last <= begin:
        return None
    said = memory.vouches[witness].said
    what = f"{witness}: {said}" if said else str(witness)
    return IdleFinding(IdleAnswer.BUSY, last, witness, f"{what}, {span(max(now - last, 0))} ago")


def _doubt(vouch: Vouch | None, witness: Witness, begin: int, now: int, stale_ms: int) -> str:
    """Why a witness cannot vouch for the window; empty = it does.

    A program that reports itself is believed when it says that it works. When it says nothing
    it may as well have been killed, so that its silence neither vouches nor casts doubt.
    """
    if witness is Witness.PROGRAM:
        return ""
    if vouch is None:
        return f"{witness}: not observed yet"
    if vouch.doubt:
        return f"{witness}: {vouch.doubt}"
    if now - vouch.at >= stale_ms:
        return f"{witness}: no report for {span(now - vouch.at)}"
    if vouch.since > begin:
        return f"{witness}: watched for {span(max(now - vouch.since, 0))} only"
    return ""
