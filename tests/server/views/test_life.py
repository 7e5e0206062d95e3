"""What happened to a gang, as the server shows it: also after a crash, and once it has ended."""

from pathlib import Path

import pytest

from ganglion.api.workloads import LifeChange, LifeEvent
from ganglion.model.events import CheckpointCommitted, Outcome, PodsLeft
from ganglion.server.commands import live
from ganglion.server.views.workloads import detail, filed_detail
from tests.server.conftest import Rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def life(rig: Rig, workload: str) -> tuple[LifeEvent, ...]:
    with rig.service.read() as mind:
        if workload in mind.book.entries:
            return detail(mind, workload).gangs[0].life
    filed = rig.ledger.history.by_id(workload)
    assert filed
    return filed_detail(filed).gangs[0].life


def test_a_life_outlives_the_server_and_the_work(rig: Rig) -> None:
    wide = rig.submit("wide", nodes="2..16", priority=10, checkpoint={"every": "10m"})
    rig.turn()
    rig.world.facts.append(CheckpointCommitted(rig.machine.time, f"{wide}/0", 1, 7, "/ck/7"))
    high = rig.submit("high", resources={"gpus": 8}, priority=90)
    rig.world.facts.append(PodsLeft(rig.machine.time, f"{wide}/0", 1))
    rig.turn(2)
    assert rig.state(high) == "RUNNING"
    rig.do(lambda draft: live.change(draft, wide, live.Changes(priority=20)))
    rig.machine.end(f"{wide}/0", Outcome.NODE_LOST)
    rig.turn(2)
    told = life(rig, wide)
    saved, changed, resumed = (
        next(each for each in told if each.kind == kind)
        for kind in ("checkpoint", "changed", "resumed")
    )
    resized, grown = (each for each in told if each.kind == "resized")
    assert (saved.kind, saved.step, saved.path, saved.attempt) == ("checkpoint", 7, "/ck/7", 1)
    assert resized.changes[0] == LifeChange("pods of main", "16", "8")
    assert (resized.kind, high in resized.why) == ("resized", True)
    assert changed.changes == (LifeChange("priority", "10", "20"),)
    assert (resumed.kind, resumed.attempt, resumed.saved_by) == ("resumed", 2, 1)
    assert (grown.attempt, grown.changes[0].name) == (2, "pods of main")
    rig.crash()
    assert life(rig, wide) == told
    rig.machine.end(f"{wide}/0")
    rig.turn(2)
    assert rig.state(wide) == "SUCCEEDED"
    assert life(rig, wide) == told
