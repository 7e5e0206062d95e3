"""How a pod says that it has to go, and for which gang."""

import re

from ganglion.worlds.causes import BUDGET_OF
from ganglion.worlds.kubernetes.names import BY_SCHEDULER, DISRUPTION_TARGET, VICTIM_OF
from ganglion.worlds.kubernetes.types.pod import Pod

INCOMPLETE = "GangIncomplete"
"""Reason of pods that go because their gang cannot be completed; no gang benefits."""

_MESSAGE = 'Stopped to make room for "{}"'
_SPENT = 'Suspended for "{}", which is spent'

_PARSED = re.compile(r'for "([^"]+)"$')


def message_for(beneficiary: str) -> str:
    """The message of the condition; takes the key of the gang, or the budget, that benefits."""
    is_budget = beneficiary.startswith(BUDGET_OF)
    return (_SPENT if is_budget else _MESSAGE).format(beneficiary)


def victim_of(pod: Pod) -> str | None:
    """Return the gang that a pod has to go for, as it was marked; None = no victim of ours."""
    condition = pod.condition(DISRUPTION_TARGET)
    if condition is None or condition.status != "True" or condition.reason == INCOMPLETE:
        return None
    if noted := pod.metadata.annotations.get(VICTIM_OF):
        return noted
    by_us = condition.reason == BY_SCHEDULER
    found = _PARSED.search(condition.message) if by_us else None
    return found[1] if found else None
