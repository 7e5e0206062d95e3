"""For what work waited, and on which GPUs it ran, as the server shows it: also after a crash."""

from pathlib import Path

import pytest

from ganglion.api.past.timeline import TimelineSpan
from ganglion.api.workloads import WorkloadDetail
from ganglion.model.events import ServerStarted
from ganglion.server.views.past.timeline import attempts, timeline_present
from ganglion.server.views.workloads import detail, filed_detail, history_item
from tests.server.conftest import Rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def spans(rig: Rig, workload: str) -> list[tuple[str, tuple[int, ...], bool]]:
    with rig.service.read() as mind:
        present = timeline_present(mind, rig.ledger, rig.machine.time, None)
        found: tuple[TimelineSpan, ...] = attempts(rig.ledger, present, workload).items
    return [(each.node, each.devices, each.open) for each in found]


def live(rig: Rig, workload: str) -> WorkloadDetail:
    with rig.service.read() as mind:
        return detail(mind, workload, now=rig.machine.time)


def test_waits_and_gpus_outlive_the_server_and_the_work(rig: Rig) -> None:
    rig.do(lambda draft: draft.record(ServerStarted(draft.now, "", metered=True)))
    big = rig.submit("big", nodes=2, resources={"gpus": 8})
    small = rig.submit("small", resources={"gpus": 2})
    rig.turn(2)
    rig.machine.time += 60_000
    rig.turn()
    told = live(rig, small).gangs[0].waited
    assert [(each.reason, each.attempt, each.times) for each in told] == [("capacity", 1, 1)]
    rig.crash()
    assert live(rig, small).gangs[0].waited[0].total_ms >= 60_000
    rig.machine.end(f"{big}/0")
    rig.turn(3)
    [place] = spans(rig, small)
    assert place[1:] == ((0, 1), True)
    rig.machine.end(f"{small}/0")
    rig.turn(2)
    [ended] = spans(rig, small)
    assert ended == (place[0], (0, 1), False)
    assert sorted(spans(rig, big)) == [(name, tuple(range(8)), False) for name in ("n0", "n1")]
    filed = rig.ledger.history.by_id(small)
    assert filed
    found = filed_detail(filed)
    [part] = found.gangs[0].waited
    placed = found.gangs[0].placed
    assert placed and part.reason == "capacity"
    assert part.total_ms == placed - found.submitted >= 60_000
    spent = history_item(filed).spent
    assert spent and spent.waited == {"capacity": part.total_ms}
    assert filed_detail(rig.ledger.history.by_id(big) or filed).gangs[0].waited == ()
