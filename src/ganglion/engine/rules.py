"""The rules of victims where queues are compared by share."""

from ganglion.engine.rules_share import ShareRules
from ganglion.engine.timeshare import TurnRules
from ganglion.engine.victims import Rules


def rules() -> Rules:
    """Who may take from whom: by priority and share, then by turns."""
    return TurnRules(ShareRules())
