"""Who reclaimed from whom, by the causes in a ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, text

from ganglion.api.queues import ReclaimPage
from ganglion.ledger.records import Cut
from ganglion.ledger.sql.tables import STOPS, events
from ganglion.model.events import ServerStarted
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.server.views.past.reclaims import ReclaimReader, reclaims_present
from tests.server.conftest import Rig

EVER = (0, 1 << 60)


class Reclaimed(Rig):
    """Red runs on both nodes; then blue asks for its quota, which one of them has to give back."""

    def start(self) -> None:
        quota = {"*": Amount(gpu_milli=8_000)}
        self.queues = Queue("org"), Queue("red", "org", quota), Queue("blue", "org", quota)
        super().start()
        self.do(lambda draft: draft.record(ServerStarted(draft.now, "1", metered=True)))
        self.work()

    def work(self) -> None:
        self.reds = [
            self.submit(name, queue="red", resources={"gpus": 8}) for name in ("one", "two")
        ]
        self.turn(3)
        self.machine.time += 60_000
        self.asked_at = self.machine.time
        self.blue = self.submit("three", queue="blue", resources={"gpus": 8})
        self.turn(4)

    def page(self, *seen: str, queues: frozenset[str] | None = None) -> ReclaimPage:
        with self.service.read() as mind:
            present = reclaims_present(mind, self.machine.time)
        return ReclaimReader(self.ledger, present, seen.__contains__).page(EVER, queues)


class Elastic(Reclaimed):
    """Red runs on both nodes as one attempt, which goes on with fewer pods."""

    def work(self) -> None:
        self.red = self.submit("wide", queue="red", nodes="2..16", resources={"gpus": 1})
        self.turn(3)
        self.machine.time += 60_000
        self.submit("three", queue="blue", resources={"gpus": 8})
        self.turn(4)


@pytest.fixture(scope="module")
def reclaimed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reclaimed]:
    folder: Path = tmp_path_factory.mktemp("reclaimed")
    made = Reclaimed(folder / "home")
    yield made
    made.ledger.close()


def test_a_reclaim_says_who_took_what_from_whom_and_why(reclaimed: Reclaimed) -> None:
    assert reclaimed.state(reclaimed.blue) == "RUNNING"
    (row,) = reclaimed.page("red", "blue").items
    assert (row.taker, row.giver, row.cause) == ("blue", "red", "reclaimed")
    assert row.why == "the giver used more than it is entitled to"
    assert (row.count, row.gpu_milli, row.unknown) == (1, 8_000, 0)
    assert row.last_at >= reclaimed.asked_at
    (last,) = row.last
    assert last.workload in reclaimed.reds
    assert (last.for_workload, last.gpu_milli, last.at) == (reclaimed.blue, 8_000, row.last_at)


def test_of_queues_that_the_caller_may_not_see_neither_name_nor_work_is_shown(
    reclaimed: Reclaimed,
) -> None:
    (giver,) = reclaimed.page("red").items
    assert (giver.taker, giver.giver, giver.gpu_milli) == ("", "red", 8_000)
    assert [(each.for_workload, bool(each.workload)) for each in giver.last] == [("", True)]
    (taker,) = reclaimed.page("blue").items
    assert (taker.taker, taker.giver) == ("blue", "")
    assert [(each.workload, each.for_workload) for each in taker.last] == [("", reclaimed.blue)]
    assert reclaimed.page("org").items == ()


def test_a_filter_counts_what_a_queue_gave_and_what_it_took(reclaimed: Reclaimed) -> None:
    seen = ("red", "blue", "other")
    for queue, rows in (("red", 1), ("blue", 1), ("other", 0)):
        assert len(reclaimed.page(*seen, queues=frozenset({queue})).items) == rows


def test_an_attempt_that_is_made_smaller_gave_up_what_it_had_more(tmp_path: Path) -> None:
    elastic = Elastic(tmp_path / "home")
    with elastic.service.read() as mind:
        placed = mind.state.gangs.record(f"{elastic.red}/0").placement
    assert placed
    kept = sum(pod.milli * len(pod.devices) for pod in placed.pods)
    assert elastic.state(elastic.red) == "RUNNING"
    (row,) = elastic.page("red", "blue").items
    assert (row.taker, row.giver, row.count) == ("blue", "red", 1)
    assert row.gpu_milli == 16_000 - kept > 0
    elastic.ledger.close()


def test_of_events_that_left_the_ledger_it_is_said_since_when_there_are_others(
    reclaimed: Reclaimed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reclaimed.page("red").known_since is None
    first = reclaimed.ledger.events(5, 1)[0]
    monkeypatch.setattr(reclaimed.ledger, "base", lambda: Cut(5, 0, b"", b""))
    assert reclaimed.page("red").known_since == first.at


def test_stops_are_found_by_an_index(reclaimed: Reclaimed) -> None:
    query = select(events.c.seq).where(STOPS, events.c.at.between(*EVER))
    words = query.compile(compile_kwargs={"literal_binds": True})
    with reclaimed.ledger.writing() as connection:
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN {words}")).all()
    assert any("events_stops" in str(row) for row in plan), plan
