"""What was lost and what was useful adds up to what was held, whenever the server is killed."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from ganglion import __version__
from ganglion.api.money.usage import UsageRow
from ganglion.api.use import Report
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.transfer import exported, imported
from ganglion.metering.activity import ActivityInterval, AttemptLook, DeviceCounters
from ganglion.metering.intervals import DAY_MS, devices_in
from ganglion.metering.sums import UsageBy
from ganglion.model.events import Event, GangEnded, Outcome, ServerStarted
from ganglion.model.policy import Policy
from ganglion.server.recovery import written
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import verified
from ganglion.server.telemetry.activity import GpuActivity
from ganglion.server.views.report import OpenWaits, ReportWanted, SchedulerFigures, report
from ganglion.server.views.usage import OpenIntervals, UsageReport, opened, usage_report
from tests.server.conftest import Rig
from tests.server.recovery.test_checkpoint_snapshots import keepers

LOOK_MS = 20_000


class Lossy(Rig):
    """A server whose GPUs are looked at, and whose jobs fail and are tried again."""

    def __init__(self, folder: Path) -> None:
        self.activity, self._seen, self.knows_losses = GpuActivity(), 0, True
        super().__init__(folder, keepers)
        self.machine.time = 20_000 * DAY_MS - 200_000

    def began(self) -> None:
        """What a server writes when it starts."""
        losses = self.knows_losses
        event = ServerStarted(self.machine.time, __version__, metered=True, meters_losses=losses)
        self.do(lambda draft: draft.record(event))

    def crash(self) -> None:
        super().crash()
        self.activity = GpuActivity()

    def look(self, chance: Random) -> None:
        """GPUs are looked at; ends that were written before cut what is known."""
        for entry in self.ledger.events(self._seen, 10_000):
            self._seen = entry.seq
            event: Event = msgspec.json.decode(entry.body, type=Event)
            if isinstance(event, GangEnded):
                self.activity.ended(event.gang, event.attempt, event.at)
        looks = []
        with self.service.read() as mind:
            at = self.machine.time
            for each in mind.book.meter.attempts.values():
                names = (each.queue, each.user, each.workload, each.gang, each.attempt, each.kind)
                for node, held in each.open.items():
                    place = (held.share.flavor, node, "nvml")
                    busy = DeviceCounters(chance.randrange(1_001), None)
                    devices = {f"{node}-{d}": busy for d in devices_in(held.devices)}
                    of = ActivityInterval(held.since, held.since, *names, *place)
                    looks.append(AttemptLook(of, devices))
        self.activity.look(at, looks)

    def work(self, chance: Random, steps: int) -> None:
        for number in range(steps):
            match chance.randrange(8):
                case 0 | 1 | 2:
                    more: dict[str, Any] = {"checkpoint": {"interval": "15s"}}
                    more = more if chance.random() < 0.3 else {}
                    gpus, retry = chance.randint(1, 8), {"limit": 3, "backoff": "1s"}
                    name = f"w{self.ledger.head}-{number}"
                    self.submit(name, resources={"gpus": gpus}, retry=retry, **more)
                case 3 | 4 | 5 if self.machine.live:
                    gang = chance.choice(sorted(self.machine.live))[0]
                    ends = [(Outcome.SUCCEEDED, 0), *[(Outcome.FAILED, 1)] * 3]
                    self.machine.end(gang, *chance.choice(ends))
                case 6:
                    self.activity.flush(self.do, everything=chance.random() < 0.5)
                case 7 if chance.random() < 0.4:
                    self.crash()
                    self.began()
            self.turn(2)
            self.machine.time += chance.randint(1, LOOK_MS)
            self.look(chance)

    def opened(self) -> OpenIntervals:
        with self.service.read() as mind:
            now = self.machine.time
            return opened(mind, self.ledger, now, self.activity.unwritten)

    def usage(self, *by: UsageBy, since: int = 0, until: int = 0) -> UsageReport:
        period = (since, until or self.machine.time)
        return usage_report(self.ledger, self.opened(), by, period, None, fleet=True)

    def report(self, since: int = 0) -> Report:
        wanted = ReportWanted(since, self.machine.time, None, fleet=True)
        waits = OpenWaits((), {})
        figures = SchedulerFigures((), None)
        return report(self.ledger, self.opened(), waits, (), figures, wanted, self.machine.time)


@pytest.fixture
def lossy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lossy]:
    monkeypatch.setattr(written, "SNAPSHOT", 25)
    monkeypatch.setattr(written, "BEHIND", 3)
    made = Lossy(tmp_path / "home")
    yield made
    made.ledger.close()


def amounts(row: UsageRow) -> tuple[int, ...]:
    """Useful, active, sampled, held and lost, in an order that is checked; unknown is 0."""
    useful, active, lost = row.useful_gpu_us or 0, row.active_gpu_us or 0, row.lost_gpu_us or 0
    assert 0 <= useful <= active <= row.sampled_gpu_us <= row.held_gpu_us
    assert 0 <= lost <= row.held_gpu_us
    assert active - useful <= lost
    assert (row.useful_gpu_us is None) == (row.active_gpu_us is None) == (not row.sampled_gpu_us)
    return useful, active, row.sampled_gpu_us, row.held_gpu_us, lost


def added(*rows: UsageRow) -> tuple[int, ...]:
    return tuple(map(sum, zip(*map(amounts, rows), strict=True)))


@pytest.mark.parametrize("seed", range(2))
def test_lost_and_useful_work_add_up_over_groups_and_periods_whatever_is_killed(
    lossy: Lossy, seed: int
) -> None:
    chance = Random(seed)
    lossy.began()
    begin = lossy.machine.time
    lossy.work(chance, 40)
    now, total = lossy.machine.time, lossy.usage().total
    assert begin < 20_000 * DAY_MS < now
    useful, active, sampled, held, lost = amounts(total)
    assert 0 < useful < active < sampled < held
    assert 0 < lost < held
    for by in UsageBy:
        assert added(*lossy.usage(by).rows) == amounts(total)
    cut = chance.randint(begin, now)
    parts = (lossy.usage(until=cut).total, lossy.usage(since=cut).total)
    assert added(*parts) == amounts(total)
    shown = lossy.report()
    whole, queue = shown.utilisation
    assert (whole.useful_gpu_us, whole.lost_gpu_us) == (useful, lost)
    assert (queue.useful_gpu_us, queue.lost_gpu_us) == (useful, lost)
    assert sum(each.useful_gpu_us or 0 for each in shown.spans) == useful
    assert sum(each.lost_gpu_us or 0 for each in shown.spans) == lost
    lossy.activity.flush(lossy.do, everything=True)
    assert amounts(lossy.usage(until=now).total)[2:] == (sampled, held, lost)
    with lossy.ledger.still() as reader:
        assert verified(reader).flaws == []
    with lossy.service.read() as mind:
        slow = replayed(lossy.ledger, Policy()).book.meter
        assert vars(slow) == vars(mind.book.meter)


def test_what_was_lost_is_the_last_part_of_an_attempt_on_what_it_held_then(lossy: Lossy) -> None:
    lossy.began()
    job = lossy.submit("a", resources={"gpus": 2}, retry={"limit": 1, "backoff": "1s"})
    lossy.turn(2)
    lossy.machine.time += 30_000
    assert lossy.usage().total.lost_gpu_us == 0
    lossy.machine.end(f"{job}/0", Outcome.FAILED, 1)
    lossy.turn(1)
    ended = [e for e in lossy.ledger.events(0, 1_000) if e.kind == "gang_ended"]
    event = msgspec.json.decode(ended[0].body)
    assert lossy.usage().total.lost_gpu_us == event["lost_gpu_ms"] * 1_000 > 59_000_000
    lossy.machine.time += 2_000  # the backoff
    lossy.turn(3)
    lossy.machine.time += 30_000
    lossy.machine.end(f"{job}/0")  # well, this time
    lossy.turn(2)
    total = lossy.usage().total
    assert total.lost_gpu_us == event["lost_gpu_ms"] * 1_000 < total.held_gpu_us // 2 + 100_000
    exported(lossy.ledger, lossy.home.root / "out.jsonl")
    copy = Ledger.open(lossy.home.root / "copy.db")
    imported(copy, lossy.home.root / "out.jsonl")
    period = (0, lossy.machine.time)
    moved = usage_report(copy, lossy.opened(), (), period, None, fleet=True)
    assert moved.total == total
    copy.close()


def test_lost_work_of_before_it_was_metered_is_unknown(lossy: Lossy) -> None:
    lossy.knows_losses = False
    lossy.began()
    begin = lossy.machine.time
    lossy.work(Random(4), 30)
    assert (lossy.usage().total.lost_gpu_us, lossy.usage().total.useful_gpu_us) == (None, None)
    assert lossy.report().utilisation[0].lost_gpu_us is None
    assert {each.lost_gpu_us for each in lossy.report().spans} == {None}
    lossy.activity.flush(lossy.do, everything=True)
    lossy.machine.time = max(lossy.machine.time, 20_000 * DAY_MS + 5_000)
    lossy.crash()
    lossy.knows_losses = True
    lossy.began()
    since = lossy.opened().lost_since
    assert since is not None
    before = lossy.usage(until=since).total
    assert (before.lost_gpu_us, before.useful_gpu_us) == (None, None)
    assert before.active_gpu_us
    lossy.work(Random(5), 40)
    total, later = lossy.usage().total, lossy.usage(since=since).total
    assert (total.lost_gpu_us, total.useful_gpu_us) == (later.lost_gpu_us, later.useful_gpu_us)
    assert total.lost_gpu_us
    assert later.useful_gpu_us
    assert total.active_gpu_us == (later.active_gpu_us or 0) + before.active_gpu_us
    shown = lossy.report(begin)
    assert shown.lost_since == since
    assert [each.lost_gpu_us is None for each in shown.spans] == [True, False]
    with lossy.ledger.still() as reader:
        assert verified(reader).flaws == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE lost SET begin_ms = begin_ms - 1",
        "DELETE FROM lost",
        "UPDATE lost SET cycle = 1000000",
        "UPDATE lost SET attempt = 2",
    ],
)
def test_a_row_of_lost_work_that_was_edited_is_found_out(lossy: Lossy, damage: str) -> None:
    lossy.began()
    job = lossy.submit("a", resources={"gpus": 2}, retry={"limit": 1, "backoff": "1s"})
    lossy.turn(2)
    lossy.machine.time += 30_000
    lossy.machine.end(f"{job}/0", Outcome.FAILED, 1)
    lossy.turn(1)
    with sqlite3.connect(lossy.home.ledger) as raw:
        assert raw.execute(damage).rowcount == 1
    raw.close()
    with lossy.ledger.still() as reader:
        (flaw,) = verified(reader).flaws
    assert flaw.kind == "lost"
    assert "lost" in flaw.problem
