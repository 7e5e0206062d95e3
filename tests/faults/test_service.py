"""A server whose ledger fails at statements from a seed: every job runs once."""

import contextlib
import random
from pathlib import Path

import pytest

from ganglion.ledger.audit import audited
from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import GanglionError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.recovery.recover import replayed
from tests.effort import examples
from tests.faults.connections import FaultyConnections
from tests.faults.plan import FaultPlan
from tests.server.conftest import Rig

JOBS = 12


class Failing(Rig):
    """A server over a ledger of which statements fail, once it has begun."""

    def __init__(self, folder: Path, plan: FaultPlan) -> None:
        plan.calm = True
        effects: Effects = SYSTEM._replace(connections=FaultyConnections(plan))
        super().__init__(folder, effects=effects)
        plan.calm = False


@pytest.mark.parametrize("seed", range(examples(6)))
def test_every_job_runs_once_and_the_state_is_that_of_a_replay(seed: int, tmp_path: Path) -> None:
    plan, chance = FaultPlan(seed, 0.03, commit=0.1, committed=0.2), random.Random(seed)
    rig = Failing(tmp_path / "home", plan)
    asked = list[str]()
    for _ in range(200):
        if len(asked) < JOBS and chance.random() < 0.5:
            name = f"job-{len(asked)}"
            with contextlib.suppress(GanglionError):  # asked again with the same key, as clients do
                rig.submit(name, key=name)
                asked.append(name)
        rig.turn()
        if rig.machine.live and chance.random() < 0.3:
            rig.machine.end(sorted(rig.machine.live)[0][0])
        if chance.random() < 0.05:
            plan.calm = True  # a server that cannot read its ledger does not start
            rig.crash()
            plan.calm = False
    plan.calm = True
    for name in (f"job-{n}" for n in range(len(asked), JOBS)):
        asked.append(name)
        rig.submit(name, key=name)
    rig.turn(3)
    while rig.machine.live:
        rig.machine.end(sorted(rig.machine.live)[0][0])
        rig.turn(2)
    assert rig.service.trouble == ""
    assert len(rig.machine.began) == len(set(rig.machine.began))
    states = {name: rig.ledger.history.latest(name) for name in asked}
    assert {each.state for each in states.values() if each} == {"SUCCEEDED"}
    assert len(asked) == JOBS
    assert plan.struck["execute"]
    assert plan.struck["committed"], "no answer was lost"
    with rig.service.read() as mind:
        mind.state.validate()
    assert audited(rig.ledger).flaws == []
    rig.ledger.close()
    again = Ledger.open(tmp_path / "home" / "ledger.db")
    replayed(again, rig.service._policy)
    again.close()
