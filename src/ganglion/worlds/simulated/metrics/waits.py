"""Why gangs waited, summed up over a run."""

from collections.abc import Hashable

from msgspec import Struct

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.plan import Plan
from ganglion.model.reasons import Reason, Token

NOT_SEEN = Reason(Token.ORDER, "others go first")


class WaitCause(Struct):
    """Everything that waited for one kind of reason.

    Attributes:
        gangs: how many waits ended, or were still on, with this reason given last.
        waited_ms: for how long in all.
        longest_ms: the longest of these waits.
        gang: which gang that was.
        message: the reason that it got.
    """

    gangs: int = 0
    waited_ms: int = 0
    longest_ms: int = -1
    gang: str = ""
    message: str = ""


class Waits:
    """Adds up waits by the reason that was given last before they ended.

    Equal gangs of one queue share a lane in the engine, and a plan names the reason of a lane
    once, when it changes.

    Attributes:
        causes: per token of a reason.
    """

    def __init__(self) -> None:
        self.causes: dict[Token, WaitCause] = {}
        self._lanes: dict[Hashable, Reason] = {}

    def learn(self, state: ClusterState, plan: Plan) -> None:
        """Remember the reasons given in a plan."""
        for wait in plan.waits:
            self._lanes[state.gangs.records[wait.first].lane] = wait.reason

    def over(self, record: GangRecord, waited_ms: int) -> None:
        """A gang's wait ended."""
        if waited_ms > 0:
            self._add(record, self._lanes.get(record.lane, NOT_SEEN), waited_ms)

    def still(self, record: GangRecord, reason: Reason | None, waited_ms: int) -> None:
        """A gang still waits at the end of the run."""
        self._add(record, reason or self._lanes.get(record.lane, NOT_SEEN), waited_ms)

    def _add(self, record: GangRecord, reason: Reason, waited_ms: int) -> None:
        cause = self.causes.setdefault(reason.token, WaitCause())
        cause.gangs += 1
        cause.waited_ms += waited_ms
        if waited_ms > cause.longest_ms:
            cause.longest_ms, cause.gang, cause.message = waited_ms, record.gang.id, reason.message
