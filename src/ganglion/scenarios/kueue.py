"""Scenarios in Kueue's words, run on the engine.

A scenario expects the outcome of one cycle (`expect`), of cycles until nothing changes
(`expect.settled`), or, where Kueue itself is to be outdone, a `better` end.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from ganglion.model.policy import Policy, VictimOrder
from ganglion.scenarios import kueue_schema as said
from ganglion.scenarios.kueue_check import end, first_pass
from ganglion.scenarios.kueue_play import play
from ganglion.scenarios.kueue_setup import setup
from ganglion.scenarios.model import Result, Scenario
from ganglion.scenarios.source import typed


def run(scenario: Scenario, policy: Policy) -> Result:
    """Run one scenario under a policy. Raises FieldError where its content makes no sense."""
    case = typed(said.Case, scenario.data, scenario.path, scenario.document)
    shared = scenario.document.data.get("clusters", {})
    clusters = typed(dict[str, said.Cluster], shared, ("clusters",), scenario.document)
    differences = list(_differences(case, clusters, policy))
    tier = str(case.tier or scenario.section)
    return Result(scenario.id, tier, not differences, "; ".join(differences))


def _differences(
    case: said.Case, clusters: dict[str, said.Cluster], policy: Policy
) -> Iterator[str]:
    if isinstance(case.better, str) and case.better:
        yield from _priced(case, clusters, policy)
        return
    begun = setup(case, clusters, policy)
    outcome = play(begun)
    if isinstance(case.better, said.Settled):
        yield from end(case.better, outcome, begun.ground, case)
        return
    yield from first_pass(case, outcome, begun.ground)
    if case.expect:
        yield from end(case.expect.settled, outcome, begun.ground, case)


def _priced(case: said.Case, clusters: dict[str, said.Cluster], policy: Policy) -> Iterator[str]:
    """A better end told in prose is a choice of policy: whose loss is smallest goes first."""
    priced = replace(policy, evict=replace(policy.evict, victims=VictimOrder.PRICE_FIRST))
    outcome = play(setup(case, clusters, priced))
    theirs = case.kueue_settled.evicted if case.kueue_settled else ()
    if not outcome.settled:
        yield "it never settles"
    if not outcome.stopped or set(theirs or ()) & set(outcome.stopped):
        yield f"stopped for it: {', '.join(outcome.stopped) or 'nobody'}"
