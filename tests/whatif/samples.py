"""A past that was simulated, as a ledger would hold it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from tests.worlds.simulated.samples import S

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import Event, PriceSet
from ganglion.model.plan import Plan
from ganglion.whatif.past import PastPeriod, PastReader
from ganglion.worlds.simulated.run import simulate
from ganglion.worlds.simulated.scenario import SimulatedScenario


class Happened(Struct, frozen=True):
    """One cycle: what came from outside, and what was decided."""

    at: int
    incoming: list[Event]
    decisions: list[Event]


def cycles_of(scenario: SimulatedScenario) -> list[Happened]:
    """Let a scenario happen."""
    found: list[Happened] = []

    def note(events: list[Event], plan: Plan) -> None:
        at = max((each.at for each in (*events, *plan.decisions)), default=0)
        found.append(Happened(at, list(events), list(plan.decisions)))

    simulate(scenario, observe=note, check=True)
    return found


def past_of(
    cycles: Sequence[Happened],
    since: int,
    until: int,
    scenario: SimulatedScenario,
    prices: Sequence[PriceSet] = (),
    spent_since: Mapping[str, int] | None = None,
) -> PastPeriod:
    """The period from `since` to `until`, in s, of what happened; `spent_since`: see its reader."""
    state = ClusterState(scenario.policy)
    rest = list(cycles)
    while rest and rest[0].at < since * S:
        first = rest.pop(0)
        for event in (*first.incoming, *first.decisions):
            state.fleet.settle()
            state.apply(event)
    state.fleet.settle()
    reader = PastReader(state, (since * S, until * S), prices, 0, spent_since)
    for each in rest:
        reader.take(each.incoming, each.decisions)
    return reader.past()
