"""Why something was decided, as data; sentences that earlier versions wrote are in `former`."""

from ganglion.model.causes.cause import (
    CANCELS,
    MOVES,
    RECLAIMS,
    SUSPENDS,
    Cause,
    CauseKind,
    CordonKind,
    Standing,
    cancels,
    sentence,
    suspends,
)

__all__ = [
    "CANCELS",
    "MOVES",
    "RECLAIMS",
    "SUSPENDS",
    "Cause",
    "CauseKind",
    "CordonKind",
    "Standing",
    "cancels",
    "sentence",
    "suspends",
]
