"""Intervals are written once, with the events that close them, whenever the server is killed."""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from ganglion import __version__
from ganglion.ledger import metering
from ganglion.ledger.intervals import closed_supply, closed_usage
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted, supply_sums, usage_sums
from ganglion.ledger.reader import Reader
from ganglion.ledger.transfer import exported, imported
from ganglion.metering.sums import SupplySum, UsageBy, UsageSum, add_supply, add_usage
from ganglion.model.errors import GanglionError
from ganglion.model.events import ServerStarted
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.server.commands import live
from ganglion.server.recovery import written
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import verified
from ganglion.server.views.usage import lent_rows, opened
from tests.server.conftest import Rig
from tests.server.loop.test_refused_writes import full_disk
from tests.server.recovery.test_checkpoint_snapshots import keepers, work

FOR_EVER, HOUR_MS = 1 << 60, 3_600_000


def started(rig: Rig, *, metered: bool = True, version: str = __version__) -> None:
    """What a server writes when it starts."""
    rig.do(
        lambda draft: draft.record(
            ServerStarted(draft.now, version, metered=metered, meters_lending=metered)
        )
    )


@pytest.fixture(params=["sqlite", "postgresql"])
def rig(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rig]:
    monkeypatch.setattr(written, "SNAPSHOT", 15)
    monkeypatch.setattr(written, "BEHIND", 3)
    monkeypatch.setattr(metering, "AT_ONCE", 7)
    url = "" if request.param == "sqlite" else str(request.getfixturevalue("database"))
    made = Rig(tmp_path / "home", keepers, url)
    yield made
    made.ledger.close()


def since(rig: Rig) -> int:
    """When metering began."""
    with rig.service.read() as mind:
        begun = mind.book.meter.since
    assert begun is not None
    return begun


def flaws(ledger: Ledger) -> list[str]:
    with ledger.still() as reader:
        return [f"{each.kind}: {each.problem}" for each in verified(reader).flaws]


def closed(
    rig: Rig, by: Sequence[UsageBy], since: int = 0, until: int = FOR_EVER
) -> dict[tuple[str, ...], UsageSum]:
    return usage_sums(rig.ledger, UsageWanted(by, since, until, FOR_EVER))


def whole(rig: Rig, since: int = 0, until: int = FOR_EVER) -> dict[str, tuple[int, int, int]]:
    """Flavor -> what was held, there, and unavailable, closed and open together."""
    usage = closed(rig, [UsageBy.FLAVOR], since, until)
    supply = supply_sums(rig.ledger, since, until, FOR_EVER)
    with rig.service.read() as mind:
        meter, now = mind.book.meter, rig.machine.time
        add_usage(usage, meter.open_usage(now), [UsageBy.FLAVOR], since, until)
        add_supply(supply, meter.open_supply(now), since, until)
    return {
        flavor: (
            usage.get((flavor,), UsageSum()).held_gpu_us,
            each.capacity_gpu_us,
            each.unavailable_gpu_us,
        )
        for flavor, each in supply.items()
    }


@pytest.mark.parametrize("seed", range(3))
def test_intervals_follow_from_the_events_whenever_the_server_is_killed(
    rig: Rig, seed: int
) -> None:
    rng = Random(seed)
    started(rig)
    for _ in range(6):
        work(rig, rng, 4)
        if rng.random() < 0.5:
            rig.crash()
            started(rig)
    assert flaws(rig.ledger) == []
    assert [*closed_usage(rig.ledger, 0)]
    held, capacity, unavailable = whole(rig)["H100"]
    assert capacity == (rig.machine.time - since(rig)) * 16_000
    assert 0 < held <= capacity - unavailable
    with rig.service.read() as mind:
        spent = sum(each.gpu_ms for each in mind.book.spending.of.values())
        slow = replayed(rig.ledger, Policy()).book.meter
        assert vars(slow) == vars(mind.book.meter)
    assert spent * 1000 <= held


def lending(rig: Rig) -> None:
    """A queue borrows 4 GPUs of another one for hours."""
    quota = {"H100": Amount(gpu_milli=8_000)}
    queues = (Queue("vision", quota=quota), Queue("text", quota=quota))
    rig.do(lambda draft: live.keep_queues(draft, queues))
    started(rig)
    for name in ("a", "b", "c"):
        rig.submit(name, queue="text", resources={"gpus": 4})
    rig.turn(2)


def test_what_queues_lent_follows_from_the_events_whenever_the_server_is_killed(rig: Rig) -> None:
    lending(rig)
    for hours in (1, 2, 30):
        rig.machine.time += hours * HOUR_MS
        rig.crash()
        started(rig)
    rig.machine.end("a-1/0")
    rig.turn(2)
    now = rig.machine.time
    with rig.service.read() as mind:
        slow = replayed(rig.ledger, Policy()).book.lending
        assert slow == mind.book.lending
        found = opened(mind, rig.ledger, now)
    cut = now - 7 * HOUR_MS // 2
    text, vision = lent_rows(rig.ledger, found, (0, now), None)
    assert (text.borrowed_gpu_us, text.lent_gpu_us) == (vision.lent_gpu_us, 0)
    assert 0 <= vision.lent_gpu_us - 33 * 4 * HOUR_MS * 1000 < 4 * 1000 * 1000
    parts = [lent_rows(rig.ledger, found, each, {"vision"}) for each in ((0, cut), (cut, now))]
    assert sum(part[0].lent_gpu_us for part in parts) == vision.lent_gpu_us
    exported(rig.ledger, rig.home.root / "out.jsonl")
    copy = Ledger.open(rig.home.root / "copy.db")
    imported(copy, rig.home.root / "out.jsonl")
    assert lent_rows(copy, found, (0, now), None) == (text, vision)
    assert flaws(rig.ledger) == flaws(copy) == []
    copy.close()


def test_a_turn_that_is_not_written_leaves_no_interval_and_loses_none(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home")
    started(rig)
    rig.submit("a", resources={"gpus": 4})
    rig.turn(2)
    rig.machine.time += 60_000
    rig.machine.end("a-1/0")
    with full_disk(rig.ledger):
        with pytest.raises(GanglionError, match="the disk is full"):
            rig.submit("big", run="true # " + "x" * 20_000)
        assert not [*closed_usage(rig.ledger, 0)]
    rig.turn(2)
    (row,) = closed_usage(rig.ledger, 0)
    assert row.interval.end_ms - row.interval.begin_ms >= 60_000
    assert flaws(rig.ledger) == []
    rig.ledger.close()


def test_a_ledger_of_an_earlier_version_is_metered_from_its_upgrade_on(rig: Rig) -> None:
    started(rig, metered=False, version="0.1")
    rig.submit("a", resources={"gpus": 4})
    rig.submit("b", resources={"gpus": 2})
    rig.turn(2)
    rig.machine.time += 60_000
    rig.crash()
    upgraded = rig.machine.time
    started(rig)
    rig.machine.time += 30_000
    rig.machine.end("a-1/0")
    rig.turn(2)
    rig.crash()
    started(rig)
    rig.machine.time += 1_000
    begin, now = since(rig), rig.machine.time
    assert 0 <= begin - upgraded < 100
    (row,) = (each.interval for each in closed_usage(rig.ledger, 0))
    assert (row.begin_ms, row.begun) == (begin, False)
    lasted = row.end_ms - row.begin_ms
    assert lasted >= 30_000
    held = lasted * 4_000 + (now - begin) * 2_000
    assert whole(rig) == {"H100": (held, (now - begin) * 16_000, 0)}
    assert flaws(rig.ledger) == []


def test_intervals_of_any_period_sum_to_the_whole(rig: Rig) -> None:
    started(rig)
    begin = rig.machine.time
    work(rig, Random(7), 20)
    (total,) = whole(rig).values()
    split = (begin + rig.machine.time) // 2
    parts = [whole(rig, 0, split)["H100"], whole(rig, split)["H100"]]
    assert tuple(map(sum, zip(*parts, strict=True))) == total
    for by in UsageBy:
        groups = closed(rig, [by])
        (every,) = closed(rig, ()).values()
        assert sum(each.held_gpu_us for each in groups.values()) == every.held_gpu_us
        assert sum(each.attempts for each in groups.values()) == every.attempts
        expected: dict[tuple[str, ...], UsageSum] = {}
        rows = [each.interval for each in closed_usage(rig.ledger, 0)]
        add_usage(expected, rows, [by], begin, split)
        wanted = {
            name: each for name, each in expected.items() if each.held_gpu_us or each.attempts
        }
        assert closed(rig, [by], begin, split) == wanted
    supply: dict[str, SupplySum] = {}
    add_supply(supply, [each.interval for each in closed_supply(rig.ledger, 0)], begin, split)
    assert supply_sums(rig.ledger, begin, split, FOR_EVER) == supply


def test_a_ledger_that_is_moved_has_its_intervals(rig: Rig, tmp_path: Path) -> None:
    started(rig)
    work(rig, Random(3), 20)
    end = exported(rig.ledger, tmp_path / "file.gz")
    other = Ledger.open(tmp_path / "other.db")
    assert imported(other, tmp_path / "file.gz") == end
    assert end.intervals
    assert [*closed_usage(other, 0)] == [*closed_usage(rig.ledger, 0)]
    assert [*closed_supply(other, 0)] == [*closed_supply(rig.ledger, 0)]
    assert flaws(other) == []
    other.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE usage SET held_milli = held_milli + 1 WHERE number = 2",
        "UPDATE usage SET queue = 'other' WHERE number = 1",
        "DELETE FROM usage WHERE number = 1",
        "DELETE FROM usage WHERE number = (SELECT max(number) FROM usage)",
    ],
)
def test_an_interval_that_was_edited_is_found_out(tmp_path: Path, damage: str) -> None:
    rig = Rig(tmp_path / "home", keepers)
    started(rig)
    work(rig, Random(5), 15)
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        assert raw.execute(damage).rowcount == 1
    raw.close()
    reader = Reader.at_rest(rig.home.ledger)
    (flaw,) = verified(reader).flaws
    assert flaw.kind == "usage"
    assert "are not those of its events" in flaw.problem
    reader.leave()


@pytest.mark.parametrize(
    ("damage", "wrong"),
    [
        ("UPDATE lent SET lent_gpu_us = lent_gpu_us + 1 WHERE number = 4", "events: row 4"),
        ("UPDATE lent SET begin_ms = begin_ms - 1 WHERE number = 4", "events: row 4"),
        ("DELETE FROM lent WHERE number = 3", "events: row 4"),
        ("DELETE FROM lent", "events: a row is missing"),
        ("UPDATE lent SET cycle = 1000000 WHERE number = (SELECT max(number) FROM lent)", "events"),
    ],
)
def test_a_row_of_lending_that_was_edited_is_found_out(
    tmp_path: Path, damage: str, wrong: str
) -> None:
    rig = Rig(tmp_path / "home")
    lending(rig)
    for hours in (1, 2, 3):
        rig.machine.time += hours * HOUR_MS
        started(rig)
    assert flaws(rig.ledger) == []
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        assert raw.execute(damage).rowcount
    raw.close()
    reader = Reader.at_rest(rig.home.ledger)
    (flaw,) = verified(reader).flaws
    reader.leave()
    assert flaw.kind == "lent"
    assert wrong in flaw.problem


def test_what_another_version_lent_stays_and_has_to_be_borrowed(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home")
    lending(rig)
    rig.do(lambda draft: draft.record(ServerStarted(draft.now, "0.1")))
    rig.machine.time += HOUR_MS
    started(rig)
    rig.ledger.close()
    edits = {
        "lent_gpu_us = 2 * lent_gpu_us, borrowed_gpu_us = 2 * borrowed_gpu_us": "",
        "lent_gpu_us = 7": "row",
    }
    for edit, wrong in edits.items():
        with sqlite3.connect(rig.home.ledger) as raw:
            raw.execute(f"UPDATE lent SET {edit}")
        raw.close()
        reader = Reader.at_rest(rig.home.ledger)
        assert [each.problem[:3] for each in verified(reader).flaws] == [wrong] * bool(wrong)
        reader.leave()


def test_what_another_version_metered_otherwise_stays(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home", keepers)
    started(rig, version="0.1")
    work(rig, Random(5), 15)
    started(rig)
    work(rig, Random(6), 5)
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        raw.execute("UPDATE usage SET held_milli = held_milli + 1 WHERE number = 1")
    raw.close()
    reader = Reader.at_rest(rig.home.ledger)
    assert verified(reader).flaws == []
    reader.leave()


@pytest.mark.parametrize("kind", ["gang_ended", "gang_stopping", "node_cordoned", "gang_placed"])
def test_an_event_that_is_damaged_has_nothing_charged_twice(tmp_path: Path, kind: str) -> None:
    rig = Rig(tmp_path / "home")
    started(rig)
    for name in ("a", "b"):
        job = rig.submit(name, resources={"gpus": 4})
        rig.turn(2)
        rig.machine.time += 60_000
        rig.do(lambda draft: live.cordon(draft, "n1", "fan"))
        rig.do(lambda draft, job=job: live.cancel(draft, job, "ada"))
        rig.turn(2)
        rig.machine.time += 30_000
        rig.do(lambda draft: live.cordon(draft, "n1", ""))
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        first = "SELECT min(seq) FROM events WHERE kind = ?"
        raw.execute(f"UPDATE events SET body = ? WHERE seq = ({first})", (b"{", kind))
    raw.close()
    rig.start()
    started(rig)
    rig.machine.time += 60_000
    rig.turn(3)
    rows = [each.interval for each in closed_usage(rig.ledger, 0)]
    with rig.service.read() as mind:
        assert mind.book.flaws
        rows += mind.book.meter.open_usage(rig.machine.time)
    for one, two in combinations(rows, 2):
        same = (one.gang, one.attempt, one.node) == (two.gang, two.attempt, two.node)
        assert not same or min(one.end_ms, two.end_ms) <= max(one.begin_ms, two.begin_ms)
    held, capacity, unavailable = whole(rig)["H100"]
    assert 0 < held <= capacity - unavailable
    assert capacity <= (rig.machine.time - since(rig)) * 16_000
    rig.ledger.close()
