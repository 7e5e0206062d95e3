"""Gangs that wait as equals share an answer only where it is the same for all of them."""

from collections.abc import Hashable

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import GangStarted
from ganglion.model.placement import Placement
from ganglion.model.policy import Entitlement, Policy
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang
from tests.engine.build import gang, node, state_of, submit


class Ticket:
    """Lets gangs start whose name begins with `ticket`."""

    name = "ticket"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def permit(self, gang: Gang, placement: Placement, now: int) -> Reason | None:
        self.asked.append(gang.workload)
        return None if gang.workload.startswith("ticket") else Reason(Token.POLICY, "no ticket")

    def may_stop(self, victim: Gang, favoured: Gang, now: int) -> bool:
        return favoured.workload.startswith("ticket")


class Closed(Ticket):
    """Lets no gang start, whatever it is called."""

    def gang_key(self, gang: Gang) -> Hashable:
        return None

    def permit(self, gang: Gang, placement: Placement, now: int) -> Reason | None:
        self.asked.append(gang.workload)
        return Reason(Token.POLICY, "closed")


def _state(policy: Policy, permit: Ticket | None, preempt: Ticket | None) -> ClusterState:
    made = builtin_plugins(policy)
    permits, preempts = ((each,) if each else () for each in (permit, preempt))
    plugins = Plugins(made.scores, made.filters, permits, preempts)
    return state_of(node("n0"), policy=policy, plugins=plugins)


@pytest.mark.parametrize("entitlement", Entitlement)
def test_a_permit_that_forbids_one_gang_lets_its_equal_start(entitlement: Entitlement) -> None:
    state = _state(Policy(entitlement=entitlement), Ticket(), None)

    plan = submit(state, gang("hurry", gpus=8), gang("ticket-42", gpus=8), now=1)

    started = [each.gang.workload for each in plan.starts]
    later = cycle(state, [], 2)
    assert started + [each.gang.workload for each in later.starts] == ["ticket-42"]
    told = [each.reason.message for each in (*plan.waits, *later.waits)]
    assert "no ticket" in told
    state.validate()


def test_a_permit_whose_answer_is_shared_is_asked_once_for_all_equals() -> None:
    permit = Closed()
    state = _state(Policy(), permit, None)

    submit(state, *(gang(f"job-{number}", gpus=8) for number in range(20)), now=1)

    assert permit.asked == ["job-0"]


def test_a_preempt_plugin_that_spares_all_from_one_gang_does_not_from_its_equal() -> None:
    state = _state(Policy(), None, Ticket())
    plan = submit(state, gang("low", gpus=8), now=1)
    cycle(state, [GangStarted(1, each.gang.id, each.attempt) for each in plan.starts], 1)
    later = 3_600_000

    askers = (gang(name, gpus=8, priority=80) for name in ("hurry", "ticket-42"))
    plan = submit(state, *askers, now=later)

    assert [each.gang for each in plan.stops] == ["low/0"]
    assert list(state.holdings.promised) == ["ticket-42/0"]
