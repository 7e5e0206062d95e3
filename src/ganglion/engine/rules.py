"""The rules of victims that a policy asks for."""

from ganglion.engine.rules_share import ShareRules
from ganglion.engine.timeshare import TurnRules
from ganglion.engine.victims import Rules
from ganglion.model.policy import Policy


def rules_for(policy: Policy) -> Rules:
    """Who may take from whom under a policy."""
    return TurnRules(ShareRules())
