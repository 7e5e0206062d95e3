"""Gangs that sleep: they wait for their owner's word, and a place may be kept for them."""

from ganglion.engine.record import GangRecord
from ganglion.model.plan import Phase
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.resources import decimal
from ganglion.model.workload import Gang

RECALL = "recall_ms"
"""Evidence by which the wait of a gang that sleeps is known."""


def asleep(gang: Gang) -> Reason | None:
    """Why a gang that sleeps is not started; None = it does not sleep."""
    if not gang.recall_ms:
        return None
    return Reason(
        Token.HELD,
        f"it sleeps; its place is lent to gangs that leave within {decimal(gang.recall_ms)} s",
        evidence={RECALL: gang.recall_ms},
        remedy=Remedy.CHANGE,
    )


def sleeps(record: GangRecord) -> bool:
    """Whether nothing keeps a gang from starting but that it sleeps."""
    reason = record.reason
    return record.phase is Phase.PENDING and reason is not None and RECALL in reason.evidence
