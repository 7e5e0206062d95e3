"""The past of a cluster, from what its scheduler delivered."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.whatif.samples import cycles_of
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.api.whatif.report import WhatIfReport
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.errors import NotFound
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    GangPlaced,
    GangStarted,
    GangSubmitted,
    NodeAdded,
    PolicySet,
    PriceSet,
    QueueSet,
    RecordLoss,
    RecordsLost,
    SchedulerSettled,
    SchedulerStarted,
)
from ganglion.model.fleet.price import Price
from ganglion.model.plan import Phase
from ganglion.model.policy import Policy
from ganglion.server.whatif.answering import WhatIfTask, answer
from ganglion.whatif.changes import WhatIfChange
from ganglion.whatif.replay import at_once
from ganglion.whatif.wishes import OtherNodes

JOBS = 6
CYCLES = cycles_of(
    scenario(*(job(f"j{n}", at=10 * n, gpus=8, seconds=100 + 30 * n) for n in range(JOBS)))
)
PRICE = PriceSet(0, Price("GPU", 0, 2_500_000, currency="EUR"))
MORE = WhatIfChange(nodes=(OtherNodes(1, "GPU", 8),))
UNTIL = 1_000 * S


class Cluster:
    """What a server of a cluster writes."""

    def __init__(self, path: Path, name: str = "east") -> None:
        self.path, self._name = path, name
        self._ledger = Ledger.open(path)
        self._scheduler, self._number = "", 0
        self._ledger.append(Batch(0, [PRICE]))

    def begins(self, scheduler: str, at: int, *found: Delivered) -> None:
        """A scheduler begins, and says what it finds."""
        self._scheduler, self._number = scheduler, 0
        first = [SchedulerStarted(at, "1.2.3"), PolicySet(at, Policy()), *found]
        self.turn(at, [*first, SchedulerSettled(at)], [])

    def turn(self, at: int, facts: Sequence[Delivered], decisions: Sequence[Delivered]) -> None:
        self._number += 1
        self._ledger.append(
            Batch(
                at,
                [
                    DeliveredEvent(at, self._name, self._scheduler, self._number, each, decided)
                    for decided, events in ((False, facts), (True, decisions))
                    for each in events
                ],
            )
        )

    def whole(self, *, again: int = 0) -> None:
        """Everything that happened; with another scheduler from one turn on."""
        self.begins("s-1", 0)
        state = ClusterState()
        for number, each in enumerate(CYCLES):
            if number == again and again:
                self.begins("s-2", each.at, *found_in(state, each.at))
            for event in (*each.incoming, *each.decisions):
                state.fleet.settle()
                state.apply(event)
            self.turn(
                each.at,
                *(
                    [e for e in events if isinstance(e, Delivered)]
                    for events in (each.incoming, each.decisions)
                ),
            )

    def asked(
        self, change: WhatIfChange = MORE, since: int = 0, name: str = "east"
    ) -> WhatIfReport:
        self._ledger.close()
        task = WhatIfTask(str(self.path), since, UNTIL, change, cluster=name)
        return answer(task, beside=at_once)


def found_in(state: ClusterState, at: int) -> list[Delivered]:
    """What a scheduler that starts says of a cluster: attempts are counted anew."""
    found: list[Delivered] = [NodeAdded(at, each) for each in state.fleet.nodes.values()]
    found += [QueueSet(at, each) for each in state.queues.by_name.values()]
    for record in state.gangs.records.values():
        if record.phase is not Phase.ENDED:
            found.append(GangSubmitted(at, record.gang))
        if record.placement:
            found.append(GangPlaced(at, record.gang.id, 1, record.placement))
            found.append(GangStarted(at, record.gang.id, 1))
    return found


def own(path: Path) -> WhatIfReport:
    """The same past of a server's own nodes."""
    ledger = Ledger.open(path)
    ledger.append(Batch(0, [PRICE]))
    for each in CYCLES:
        ledger.append(Batch(each.at, list(each.incoming), list(each.decisions)))
    ledger.close()
    return answer(WhatIfTask(str(path), 0, UNTIL, MORE), beside=at_once)


def figures(report: WhatIfReport) -> list[object]:
    return [(each.by, each.jobs, each.figures) for each in report.groups]


@pytest.mark.parametrize("again", [0, 4, 7])
def test_a_cluster_is_answered_for_as_a_fleet_of_the_server_would_be(
    tmp_path: Path, again: int
) -> None:
    cluster = Cluster(tmp_path / "delivered.db")
    cluster.whole(again=again)
    expected, found = own(tmp_path / "own.db"), cluster.asked()
    assert found.jobs == JOBS
    assert figures(found) == figures(expected)
    assert {each.name for each in found.groups if each.by == "queue"} == {"east:q"}
    assert {each.queue for each in found.winners} == {"east:q"}
    assert [each.workload for each in found.winners] == [e.workload for e in expected.winners]
    assert any("Only what the scheduler of east delivered is known" in e for e in found.assumptions)


def test_a_period_begins_with_what_the_scheduler_knew(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "ledger.db")
    cluster.whole(again=4)
    since = CYCLES[-6].at
    found = cluster.asked(since=since)
    assert found.since == since
    assert 0 < found.jobs < JOBS
    assert found.groups[0].figures["wait_p50_ms"].bar == 0


def test_missing_records_widen_the_bars_and_are_said(tmp_path: Path) -> None:
    whole, torn = Cluster(tmp_path / "whole.db"), Cluster(tmp_path / "torn.db")
    whole.whole()
    torn.whole()
    lost = RecordsLost(900 * S, RecordLoss.FULL, 3, 7, 100 * S, 900 * S)
    torn.turn(900 * S, [lost], [])
    sound, found = whole.asked(), torn.asked()
    assert not any("are missing" in each for each in sound.assumptions)
    assert any("3 records of the period are missing, in 1 gaps" in e for e in found.assumptions)
    for name, before in sound.groups[0].figures.items():
        if name == "spend_micro":
            continue
        more = {"wait_p50_ms": 800 * S, "wait_p95_ms": 800 * S}.get(name, 800 * S * 8)
        after = found.groups[0].figures[name]
        assert after.bar - before.bar == more, name
    assert any(each.visible for each in sound.groups[0].figures.values())
    assert not any(each.visible for each in found.groups[0].figures.values())
    assert found.winners == ()
    assert "spend_micro" in sound.groups[0].figures
    assert "spend_micro" not in found.groups[0].figures


def test_a_cluster_that_delivered_nothing_is_refused(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "ledger.db")
    cluster.whole()
    with pytest.raises(NotFound, match="no records of a cluster west are known"):
        cluster.asked(name="west")
