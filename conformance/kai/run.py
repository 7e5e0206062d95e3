"""Scenarios in KAI-Scheduler's words: expectations, outcomes to beat, random clusters."""

from conformance.kai import schema as kai
from conformance.kai.check import check
from conformance.kai.drive import Drive, History
from conformance.kai.judge import differences
from conformance.kai.probe import beat
from conformance.kai.random_clusters import outlast
from ganglion.model.policy import Policy
from ganglion.scenarios.model import Result, Scenario
from ganglion.scenarios.source import typed
from ganglion.specs.policy.policy import PolicyFile

AFTER = 5
"""Cycles for which what has settled must stay as it is."""


def run(scenario: Scenario, given: PolicyFile) -> Result:
    """Run one scenario under a policy. Raises FieldError where its content makes no sense."""
    policy = given.policy
    case = typed(kai.Case, scenario.data, scenario.path, scenario.document)
    check(case, scenario)
    if case.expect:
        difference = _expected(case, case.expect, policy)
        return Result(scenario.id, scenario.tier, not difference, difference)
    if case.kai:
        return outlast(scenario, case, case.kai, policy)
    return beat(scenario, case, policy)


def _expected(case: kai.Case, expect: kai.Expectation, policy: Policy) -> str:
    drive = Drive(case, policy)
    if case.mode == "single_cycle":
        drive.cycle()
        return "; ".join(differences(case, expect, drive.sights(), settled=False))
    history = History()
    for number in range(1, case.settle_within_cycles + AFTER + 1):
        before = drive.sights()
        drive.cycle()
        history.note(before, drive.sights())
        drive.between()
        if number >= case.settle_within_cycles:
            found = list(differences(case, expect, drive.sights(), settled=True))
            if found:
                return f"after cycle {number}: {'; '.join(found)}"
    return ""
