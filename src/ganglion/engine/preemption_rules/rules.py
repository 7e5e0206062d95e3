"""The rules of victims where queues are compared by share."""

from ganglion.engine.preemption_rules.share_rules import ShareRules
from ganglion.engine.preemption_rules.timeshare import TurnRules
from ganglion.engine.store.victims import VictimRules


def rules() -> VictimRules:
    """Who may take from whom: by priority and share, then by turns."""
    return TurnRules(ShareRules())
