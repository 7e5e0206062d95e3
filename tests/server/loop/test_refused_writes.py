"""A write that the disk refuses is undone in memory, at once, and nothing is lost."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from random import Random

import pytest
from tools.big_ledger import fill

from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import EnvironmentFault, GanglionError
from ganglion.model.events import GangEnded, MetricReported, Outcome
from ganglion.model.policy import Policy
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.written import BEHIND
from ganglion.server.state.transaction import Mind
from tests.server.conftest import Rig
from tests.server.recovery.test_checkpoint_snapshots import everything, keepers, work

EVENTS, WAITING = 20_000, 1_000


@contextmanager
def full_disk(ledger: Ledger) -> Iterator[None]:
    """The database cannot grow: SQLite raises SQLITE_FULL."""
    _limit(ledger, _limit(ledger, 0))
    yield
    _limit(ledger, 1 << 30)


def _limit(ledger: Ledger, pages: int) -> int:
    with ledger._writer.begin():
        query = f"PRAGMA max_page_count={pages}" if pages else "PRAGMA page_count"
        return int(ledger._writer.exec_driver_sql(query).scalar() or 0)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("large") / "home"
    home.mkdir()
    fill(home / "ledger.db", EVENTS, live=WAITING)
    return home


BIG = {"run": "true # " + "x" * 40_000}
"""A job whose file needs new pages."""


def test_a_refused_write_delays_the_next_read_by_less_than_50_ms(large: Path) -> None:
    rig = Rig(large)
    rig.turn(2)
    assert rig.ledger.head > EVENTS
    with rig.service.read() as mind:
        before = set(mind.state.gangs.records)
    delays = []
    go_back, copy = rig.service._copy.go_back, rig.service._copy

    def timed() -> Mind:
        begun = time.process_time()
        mind = go_back()
        delays.append(time.process_time() - begun)
        return mind

    with full_disk(rig.ledger), pytest.MonkeyPatch.context() as patch:
        patch.setattr(copy, "go_back", timed)
        for number in range(4):
            begun = time.process_time()
            with pytest.raises(GanglionError, match="the disk is full"):
                rig.submit(f"big{number}", **BIG)
            failed = time.process_time()
            with rig.service.read() as mind:
                assert set(mind.state.gangs.records) == before
            delays.append(time.process_time() - failed)
            if number:  # the database is asked first, and nothing is begun that cannot be written
                delays.append(failed - begun)
    assert max(delays) < 0.05, delays
    assert rig.submit("big", **BIG)
    rig.ledger.close()


def as_it_is(mind: Mind) -> dict[str, object]:
    """All but why gangs wait: that is what cycles found out, which nothing records."""
    found = everything(mind)
    return deepcopy({key: each for key, each in found.items() if key in SAME})


SAME = ("nodes", "usage", "queues", "promised", "trails", "entries", "gangs", "spent", "alarms")


@pytest.mark.parametrize("seed", range(6))
def test_after_a_refused_write_everything_is_as_it_was_and_goes_on(
    tmp_path: Path, seed: int
) -> None:
    rng, rig = Random(seed), Rig(tmp_path / "home", keepers)
    for _ in range(4):
        work(rig, rng, 4)
        with rig.service.read() as mind:
            before = as_it_is(mind)
        with full_disk(rig.ledger):
            with pytest.raises(GanglionError, match="the disk is full"):
                rig.submit("big", **BIG)
            with rig.service.read() as mind:
                after = as_it_is(mind)
        assert after == before
        rig.turn(2)
        with rig.service.read() as mind:
            assert everything(mind)["trails"] == replayed(rig.ledger, Policy()).book.trails
    assert rig.service.trouble == ""
    rig.ledger.close()


def test_an_end_that_the_disk_refused_is_written_once_it_has_space(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home")
    job = rig.submit("a")
    rig.turn()
    rig.machine.end(f"{job}/0")
    rig.world.facts = [MetricReported(n, f"{job}/0", 1, "loss", n, 0.5) for n in range(1, 3_000)]
    with full_disk(rig.ledger):
        rig.turn(3)
        assert "the disk is full" in rig.service.trouble
        assert rig.state(job) == "RUNNING"
    rig.turn()
    assert (rig.service.trouble, rig.state(job)) == ("", "SUCCEEDED")
    ends = [each for each in rig.ledger.replay() if isinstance(each, GangEnded)]
    assert [each.outcome for each in ends] == [Outcome.SUCCEEDED]
    rig.ledger.close()


def test_a_commit_whose_answer_was_lost_is_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path / "home")
    append = rig.ledger.append

    def lost(batch: object) -> None:
        append(batch)  # type: ignore[arg-type]
        raise EnvironmentFault("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "append", lost)
        with pytest.raises(EnvironmentFault):
            rig.submit("a")
    rig.turn(2)
    assert rig.service.trouble == ""
    assert rig.state("a-1") in ("STARTING", "RUNNING")
    assert rig.submit("b") == "b-2"
    rig.turn(2)
    assert sorted(rig.machine.began) == [("a-1/0", 1), ("b-2/0", 1)]
    rig.ledger.close()


def test_turns_in_which_nothing_happens_leave_nothing_behind(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home")
    rig.submit("a")
    rig.turn(3)
    before, head = len(rig.service._copy._turns), rig.ledger.head
    rig.turn(500)
    assert rig.ledger.head == head
    assert len(rig.service._copy._turns) == before
    rig.ledger.close()


def test_turns_that_only_change_descriptions_are_taken_in_as_well(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home")
    job = rig.submit("a")
    rig.turn(2)
    for number in range(2 * BEHIND):
        labels = {"number": str(number)}
        rig.do(lambda draft, to=labels: draft.change(draft.book.entries[job], labels=to))
    assert len(rig.service._copy._turns) <= BEHIND
    rig.ledger.close()
