"""The past of ledgers that were cut, or are damaged."""

import sqlite3
from pathlib import Path

import pytest
from tests.server import cutting
from tests.whatif.samples import cycles_of
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.errors import GanglionError, InputError
from ganglion.model.events import DeliveredEvent, GangSubmitted, SchedulerStarted
from ganglion.server.whatif.answering import WhatIfTask, answer
from ganglion.whatif.changes import WhatIfChange
from ganglion.whatif.replay import at_once
from ganglion.whatif.wishes import OtherNodes

JOBS = 5
CYCLES = cycles_of(scenario(*(job(f"j{n}", at=10 * n, gpus=8) for n in range(JOBS))))
MORE = WhatIfChange(nodes=(OtherNodes(1, "GPU", 8),))


def written(path: Path) -> Ledger:
    ledger = Ledger.open(path)
    for each in CYCLES:
        ledger.append(Batch(each.at, list(each.incoming), list(each.decisions)))
    return ledger


def asked(path: Path) -> dict[str, tuple[int, ...]]:
    """Jobs, the begin, and whether the answer says that events are damaged."""
    report = answer(WhatIfTask(str(path), 0, 1_000 * S, MORE), beside=at_once)
    return {
        "jobs": (report.jobs,),
        "since": (report.since,),
        "damaged": tuple("cannot be taken in" in each for each in report.assumptions),
    }


def test_a_ledger_that_was_cut_answers_from_the_cut_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = written(path)
    before = ledger.head
    cut = cutting.cut(ledger, tmp_path)
    assert cut.seq == before
    jobs = [job(f"k{n}", at=3_000 + n, gpus=8) for n in range(3)]
    for each in jobs:
        submitted = GangSubmitted(each.gang.submitted, each.gang)
        ledger.append(Batch(submitted.at, [submitted]))
    ledger.close()
    report = answer(WhatIfTask(str(path), 0, 4_000 * S, WhatIfChange()), beside=at_once)
    # of what happened before the cut nothing is known but what it left: here, that all had ended
    assert report.jobs == len(jobs)
    assert report.since > 0
    assert {each.name for each in report.groups if each.by == "queue"} == {"q"}


def test_events_of_clusters_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger.open(path)
    delivered = [
        DeliveredEvent(5 + n, "east", "s-1", n + 1, SchedulerStarted(5, "0.1.0", "s-1"))
        for n in range(2)
    ]
    ledger.append(Batch(5, list(delivered)))
    ledger.close()
    with pytest.raises(InputError) as refused:
        answer(WhatIfTask(str(path), 0, 4_000 * S, WhatIfChange()))
    assert "name a cluster that delivers" in refused.value.hint
    ledger = written(path)
    ledger.close()
    report = answer(WhatIfTask(str(path), 0, 1_000 * S, WhatIfChange()))
    assert any("2 events of clusters are left out" in each for each in report.assumptions)


@pytest.mark.parametrize("cut", [False, True])
def test_a_ledger_without_jobs_says_so(tmp_path: Path, cut: bool) -> None:
    path = tmp_path / "ledger.db"
    ledger = written(path) if cut else Ledger.open(path)
    if cut:
        cutting.cut(ledger, tmp_path)
    ledger.close()
    with pytest.raises(GanglionError, match="holds no job of this period"):
        answer(WhatIfTask(str(path), 0, 4_000 * S, WhatIfChange()))


def test_each_event_that_cannot_be_read_is_counted_and_hides_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = written(path)
    kinds = [(entry.seq, entry.kind) for entry in ledger.events()]
    ledger.close()
    whole = asked(path)
    assert whole == {"jobs": (JOBS,), "since": (0,), "damaged": (False,)}
    for seq, kind in kinds:
        with sqlite3.connect(path) as raw:
            (body,) = raw.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()
            raw.execute("UPDATE events SET body = ? WHERE seq = ?", (b"{}", seq))
        try:
            found = asked(path)
        except GanglionError as error:  # the only node is gone, and cannot have ones like it
            assert kind == "node_added", error
        else:
            assert any(found["damaged"]), kind
            # without the queue, the engine refuses what was submitted at the very begin
            lost = kind in ("gang_submitted", "queue_set")
            assert found["jobs"] == (JOBS - lost,), kind
        finally:
            with sqlite3.connect(path) as raw:
                raw.execute("UPDATE events SET body = ? WHERE seq = ?", (body, seq))
            raw.close()
    assert asked(path) == whole
