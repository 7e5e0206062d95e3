"""From the turns of schedulers to the ledger of a server, with everything between them failing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    DeliveryRecord,
    RecordLoss,
    RecordsLost,
    SchedulerEnded,
)
from ganglion.seams.clock import SYSTEM_CLOCK
from ganglion.seams.files import SYSTEM_FILES, Files
from ganglion.seams.randomness import SYSTEM_RANDOMNESS
from ganglion.server.cluster.outbox import folder as folders
from ganglion.server.cluster.outbox import writer as writers
from ganglion.server.cluster.outbox.folder import OutboxFolder
from ganglion.server.cluster.outbox.lines import line_of, lines_in
from ganglion.server.cluster.outbox.sender import Sender
from ganglion.server.cluster.outbox.turns import TurnPart
from ganglion.server.cluster.outbox.writer import OutboxWriter
from ganglion.server.delivered.receive import receive
from ganglion.server.recovery.verify import verified
from tests.effort import sample
from tests.faults.files import FaultyFiles
from tests.faults.plan import FaultPlan
from tests.server.conftest import Rig
from tests.server.delivered.stories import submitted

PLENTY = 1 << 30


def refusing(seed: int, rate: float) -> FaultPlan:
    """A disk that refuses some writes."""
    return FaultPlan(seed, 0.0, write=rate, open=rate, truncate=rate)


class Scheduler:
    """The outbox of one process.

    Args:
        root: the folder of the outbox.
        post: sends.
        files: the file system.
        limit: bytes of the outbox.
    """

    def __init__(
        self,
        root: Path,
        post: Callable[[str, Sequence[DeliveryRecord]], int],
        files: Files = SYSTEM_FILES,
        limit: int = PLENTY,
    ) -> None:
        self.folder = OutboxFolder(root, files, SYSTEM_CLOCK, SYSTEM_RANDOMNESS)
        self.size = self.folder.size()
        self.writer = OutboxWriter(self.folder.path, files, lambda: limit - self.size, self._grown)
        self.sender = Sender(self.folder, post, lambda freed: self._grown(-freed))
        self.handed: list[TurnPart] = []

    def _grown(self, by: int) -> None:
        self.size += by

    @property
    def id(self) -> str:
        return self.folder.own

    def turn(self, number: int, *more: Delivered) -> None:
        part = TurnPart(number, (submitted(number, f"job-{number}"), *more), ())
        self.handed.append(part)
        self.writer.write([part])

    def kill(self) -> None:
        """SIGKILL: the kernel closes what was open, and nothing else happens."""
        self.folder.close()
        self.writer._shut()

    def drain(self) -> None:
        while self.sender.step():
            pass


class Network:
    """Between schedulers and a server: requests and answers get lost, and come twice.

    Args:
        rig: the server, with a real ledger.
        dice: chance.
    """

    def __init__(self, rig: Rig, dice: Random) -> None:
        self.rig, self._dice, self.trouble = rig, dice, 0.0

    def post(self, scheduler: str, records: Sequence[DeliveryRecord]) -> int:
        if self._dice.random() < self.trouble:
            raise EnvironmentFault("the request was lost")
        found = self._receive(scheduler, records)
        if self._dice.random() < self.trouble:
            found = self._receive(scheduler, records)
        if self._dice.random() < self.trouble / 2:
            self.rig.crash()
        if self._dice.random() < self.trouble:
            raise EnvironmentFault("the answer was lost")
        return found

    def _receive(self, scheduler: str, records: Sequence[DeliveryRecord]) -> int:
        return int(self.rig.do(lambda draft: receive(draft, "east", scheduler, records)))


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "home")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and batches of a few records."""
    monkeypatch.setattr(writers, "SEGMENT", 2_000)
    monkeypatch.setattr(folders, "MOST_RECORDS", 3)
    monkeypatch.setattr(folders, "MOST_BYTES", 2_500)


def arrived(rig: Rig, scheduler: str) -> list[DeliveredEvent]:
    return [
        event
        for cycle in rig.ledger.cycles(0)
        for event in cycle.incoming
        if isinstance(event, DeliveredEvent) and event.scheduler == scheduler
    ]


def check(rig: Rig, scheduler: Scheduler, *, killed: bool) -> int:
    """Every record of a scheduler is there once, in order, or is part of a gap; returns gaps."""
    position, gaps = 0, 0
    numbers = dict[int, list[Delivered]]()
    for event in arrived(rig, scheduler.id):
        numbers.setdefault(event.number, []).append(event.event)
    assert list(numbers) == sorted(numbers)
    for number, events in numbers.items():
        gap = events[0]
        if isinstance(gap, RecordsLost):
            assert gap.records == number - position
            gaps += gap.records
        else:
            assert number == position + 1
            assert tuple(events) == scheduler.handed[number - 1].facts
        position = number
    if not killed:
        assert position == len(scheduler.handed)
    return gaps


def torn(scheduler: Scheduler, dice: Random) -> None:
    """The process dies in the middle of a write."""
    part = TurnPart(1, (submitted(1, "half"),), ())
    record = DeliveryRecord(scheduler.writer.number + 1, 1, part.facts)
    line = line_of(record)
    logs = sorted(scheduler.folder.path.glob("*.log"))
    if logs:
        with logs[-1].open("ab") as file:
            file.write(line[: dice.randrange(1, len(line) - 1)])
        scheduler.handed.append(part)


@pytest.mark.parametrize("seed", sample(range(300), 10))
@pytest.mark.usefixtures("small")
def test_every_record_is_in_the_ledger_once_and_in_order_or_is_part_of_a_gap(
    rig: Rig, tmp_path: Path, seed: int
) -> None:
    """The network, the disk, the server and the schedulers fail at any point."""
    dice = Random(seed)
    network, plan = Network(rig, dice), refusing(seed, 0.2)
    files, root = FaultyFiles(plan), tmp_path / "outbox"
    limit = dice.choice([PLENTY, 12_000])
    lives, dead = list[Scheduler](), list[bool]()
    turn = 0
    for _ in range(4):
        plan.calm = True  # the folder of a scheduler can be made
        one = Scheduler(root, network.post, files, limit)
        lives.append(one)
        assert one.id == max(each.id for each in lives)
        plan.calm = dice.random() < 0.5
        network.trouble = dice.choice([0.0, 0.3, 1.0])
        for _ in range(dice.randrange(5, 25)):
            turn += 1
            one.turn(turn)
            if dice.random() < 0.4:
                try:
                    one.sender.step()
                except (EnvironmentFault, OSError):
                    continue
        if dice.random() < 0.5:
            torn(one, dice)
        dead.append(True)
        one.kill()
    plan.calm, network.trouble = True, 0.0
    last = Scheduler(root, network.post, files, PLENTY)
    last.turn(turn + 1, SchedulerEnded(turn))
    last.writer.close()
    last.drain()
    for each, killed in zip(lives, dead, strict=True):
        check(rig, each, killed=killed)
    assert check(rig, last, killed=False) == 0
    assert [each.name for each in root.iterdir()] == [last.id]
    assert verified(rig.ledger).sound


@pytest.mark.usefixtures("small")
def test_nothing_is_lost_where_only_schedulers_are_killed_and_the_server_is_down(
    rig: Rig, tmp_path: Path
) -> None:
    network = Network(rig, Random(1))
    lives = list[Scheduler]()
    for number in range(3):
        network.trouble = 1.0
        one = Scheduler(tmp_path / "outbox", network.post)
        lives.append(one)
        for turn in range(10):
            one.turn(100 * number + turn)
        with pytest.raises(EnvironmentFault):
            one.sender.step()
        if number < 2:
            one.kill()
    network.trouble = 0.0
    lives[-1].drain()
    for each in lives:
        assert check(rig, each, killed=False) == 0
        assert len({e.number for e in arrived(rig, each.id)}) == 10


def test_a_full_outbox_is_one_gap_with_its_count(rig: Rig, tmp_path: Path) -> None:
    network = Network(rig, Random(1))
    line = len(line_of(DeliveryRecord(1, 1, (submitted(1, "job-1"),))))
    one = Scheduler(tmp_path / "outbox", network.post, limit=3 * line + line // 2)
    for turn in range(1, 8):
        one.turn(turn)
    assert one.writer.dropped == 4
    assert one.writer.trouble
    one.size = 0  # as if all had been delivered and removed
    one.turn(8)
    one.drain()
    assert not one.writer.trouble
    (gap,) = [e.event for e in arrived(rig, one.id) if isinstance(e.event, RecordsLost)]
    assert (gap.loss, gap.records, gap.events) == (RecordLoss.FULL, 4, 4)
    assert (gap.since_ms, gap.until_ms) == (4, 7)
    assert check(rig, one, killed=False) == 4


def test_a_disk_that_refuses_drops_records_and_stops_nothing(rig: Rig, tmp_path: Path) -> None:
    dice = Random(1)
    plan = refusing(1, 1.0)
    plan.calm = True
    one = Scheduler(tmp_path / "outbox", Network(rig, dice).post, FaultyFiles(plan))
    one.turn(1)
    plan.calm = False
    one.turn(2)
    one.turn(3)
    assert "No space left" in one.writer.trouble
    plan.calm = True
    one.turn(4)
    one.drain()
    (gap,) = [e.event for e in arrived(rig, one.id) if isinstance(e.event, RecordsLost)]
    assert (gap.loss, gap.records) == (RecordLoss.DISK, 2)
    assert check(rig, one, killed=False) == 2


def test_a_server_that_forgot_records_which_are_gone_here_gets_a_gap(
    rig: Rig, tmp_path: Path, small: None
) -> None:
    """Its ledger was put back from a backup."""
    one = Scheduler(tmp_path / "outbox", Network(rig, Random(1)).post)
    for turn in range(30):
        one.turn(turn)
    one.drain()
    other = Rig(tmp_path / "other")
    one.sender._post = Network(other, Random(1)).post
    one.sender.positions.clear()
    one.turn(30)
    one.drain()
    first, *rest = arrived(other, one.id)
    assert isinstance(first.event, RecordsLost)
    assert first.event.loss is RecordLoss.GONE
    assert first.event.records == first.number
    assert rest[-1].number == 31


@pytest.mark.parametrize("cut", [1, 9, 40])
def test_a_damaged_line_is_no_record(cut: int) -> None:
    whole = [line_of(DeliveryRecord(n, n, (submitted(n, "a"),))) for n in (1, 2, 3)]
    bent = bytearray(whole[1])
    bent[cut] ^= 1
    found = list(lines_in(whole[0] + bytes(bent) + whole[2]))
    assert [each.record and each.record.number for each in found] == [1, None, 3]
    assert not list(lines_in(whole[0][:-1]))


def test_what_a_living_scheduler_writes_is_not_taken_from_it(tmp_path: Path) -> None:
    def never(_scheduler: str, _records: Sequence[DeliveryRecord]) -> int:
        raise AssertionError

    one = Scheduler(tmp_path, never)
    other = Scheduler(tmp_path, never)
    assert other.folder.left == []
    assert other.id > one.id
    one.kill()
    third = Scheduler(tmp_path, never)
    assert third.folder.left == [one.id]
    other.kill()
    third.kill()
    assert len(list(tmp_path.iterdir())) == 3
