"""Scenarios in Kueue's words, run on the engine.

A scenario expects the outcome of one cycle (`expect`), of cycles until nothing changes
(`expect.settled`), or, where Kueue itself is to be outdone, a `better` end.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from conformance.kueue import schema as said
from conformance.kueue.check import end, first_pass
from conformance.kueue.play import play
from conformance.kueue.setup import setup
from ganglion.engine.kueue.cycle import SIDE_BY_SIDE
from ganglion.model.policy import Policy, VictimOrder
from ganglion.scenarios.model import Result, Scenario
from ganglion.scenarios.source import typed
from ganglion.specs.policy.policy import PolicyFile


def run(scenario: Scenario, given: PolicyFile) -> Result:
    """Run one scenario under a policy. Raises FieldError where its content makes no sense."""
    policy = given.policy
    case = typed(said.Case, scenario.data, scenario.path, scenario.document)
    shared = scenario.document.data.get("clusters", {})
    clusters = typed(dict[str, said.Cluster], shared, ("clusters",), scenario.document)
    differences = list(_differences(case, clusters, policy))
    tier = str(case.tier or scenario.section)
    return Result(scenario.id, tier, not differences, "; ".join(differences))


def _differences(
    case: said.Case, clusters: dict[str, said.Cluster], policy: Policy
) -> Iterator[str]:
    if case.better:
        yield from _outdone(case, clusters, policy)
        return
    begun = setup(case, clusters, policy)
    outcome = play(begun)
    yield from first_pass(case, outcome, begun.ground)
    if case.expect:
        yield from end(case.expect.settled, outcome, begun.ground, case)


def _outdone(case: said.Case, clusters: dict[str, said.Cluster], policy: Policy) -> Iterator[str]:
    """The end is the better one; a policy that decides as Kueue does may end as Kueue does."""
    begun = setup(case, clusters, policy)
    outcome = play(begun)
    theirs = case.kueue_settled
    alike = theirs is not None and policy.entitlement in SIDE_BY_SIDE
    if theirs and alike and not list(end(theirs, outcome, begun.ground, case)):
        return
    if isinstance(case.better, said.Settled):
        yield from end(case.better, outcome, begun.ground, case)
    else:
        yield from _priced(case, clusters, policy)


def _priced(case: said.Case, clusters: dict[str, said.Cluster], policy: Policy) -> Iterator[str]:
    """A better end given in prose is a choice of policy: the smallest loss goes first."""
    priced = replace(policy, evict=replace(policy.evict, victims=VictimOrder.PRICE_FIRST))
    outcome = play(setup(case, clusters, priced))
    theirs = case.kueue_settled.evicted if case.kueue_settled else ()
    if not outcome.settled:
        yield "it never settles"
    if not outcome.stopped or set(theirs or ()) & set(outcome.stopped):
        yield f"stopped for it: {', '.join(outcome.stopped) or 'none'}"
