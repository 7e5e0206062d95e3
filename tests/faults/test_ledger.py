"""A ledger on a disk that fails at one statement, whichever it is, or at some from a seed."""

import contextlib
import errno
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest

from ganglion.ledger.audit import audited
from ganglion.ledger.executors import depose
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch, Snapshot
from ganglion.ledger.transfer import backed_up, exported, imported
from ganglion.model.errors import EnvironmentFault, Superseded
from ganglion.model.events import NodeLost
from ganglion.model.executor import Executor
from ganglion.seams.effects import SYSTEM
from tests.effort import examples
from tests.faults.connections import FaultyConnections
from tests.faults.effects import failing
from tests.faults.plan import FaultPlan, Nth, at_every_call

T = TypeVar("T")


SEEDS = range(examples(2, nightly=80))


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Where a new, empty ledger may be made."""
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    return str(request.getfixturevalue("database"))


def events(ledger: Ledger) -> list[str]:
    return [each.name for each in ledger.replay() if isinstance(each, NodeLost)]


@pytest.mark.parametrize(("number", "stays"), [(errno.ENOSPC, False), (errno.EIO, True)])
def test_what_was_acknowledged_is_there_and_nothing_is_half(number: int, stays: bool) -> None:
    def story(plan: Nth) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder, "ledger.db")
            written, tried = list[str](), list[str]()
            try:
                ledger = Ledger.open(path, effects=failing(plan, number))
            except EnvironmentFault as error:
                assert str(path) in error.message
                ledger = None
            for at in range(1, 4) if ledger else ():
                nodes = [f"{at}-{i}" for i in range(3)]
                try:
                    ledger.append(Batch(at, [NodeLost(at, n) for n in nodes]))
                    written += nodes
                except EnvironmentFault as error:
                    assert str(path) in error.message
                    tried = nodes
                    break
            if ledger:
                ledger.close()
            sound = Ledger.open(path)
            assert events(sound) in (written, written + tried)
            assert audited(sound).flaws == []
            assert sound.append(Batch(9, [NodeLost(9, "last")]))
            sound.close()

    assert at_every_call(story, stays=stays) > 30


@pytest.mark.parametrize("seed", SEEDS)
def test_one_that_reads_again_after_each_failure_goes_on_without_a_gap(
    seed: int, target: str | Path
) -> None:
    chance, plan = random.Random(seed), FaultPlan(seed, 0.15)
    plan.calm = True
    ledger = Ledger.open(target, effects=failing(plan, chance.choice([errno.ENOSPC, errno.EIO])))
    plan.calm = False
    count, known = 0, list[str]()
    for at in range(1, 60):
        nodes = [f"{count + i}" for i in range(chance.randint(1, 4))]
        try:
            ledger.append(Batch(at, [NodeLost(at, n) for n in nodes]))
            if chance.random() < 0.3:
                body = b"x" * 100
                ledger.keep(Snapshot(ledger.head, ledger.cycle, at, "", ledger.checksum, body))
        except EnvironmentFault as error:
            assert ledger.where in error.message
            _read_again(ledger)
        count = ledger.head
        known += nodes if len(known) < count else []
        assert len(known) == count
    plan.calm = True
    assert events(ledger) == known
    assert audited(ledger).flaws == []
    assert plan.struck["committed"], "no answer was lost"
    ledger.close()


@pytest.mark.parametrize("number", range(1, 4))
def test_a_commit_that_fails_leaves_no_transaction_open(number: int, tmp_path: Path) -> None:
    plan = Nth(number, "commit")
    connections = FaultyConnections(Nth(0))
    ledger = Ledger.open(tmp_path / "ledger.db", effects=SYSTEM._replace(connections=connections))
    connections.plan = plan
    with pytest.raises(EnvironmentFault, match="full"):
        for _ in range(3):
            ledger.probe(10)
    ledger.append(Batch(1, [NodeLost(1, "a")]))
    ledger.probe(10)
    ledger.close()


def _read_again(ledger: Ledger) -> None:
    for _ in range(1_000):
        try:
            ledger.probe(100)  # connects again where the connection is lost
            ledger.refresh()
        except EnvironmentFault:
            continue
        return
    pytest.fail("the disk never recovers")


@pytest.mark.parametrize("seed", SEEDS)
def test_two_homes_on_one_ledger_never_write_in_each_others_term(seed: int, tmp_path: Path) -> None:
    path, plan, chance = tmp_path / "ledger.db", FaultPlan(seed, 0.05), random.Random(seed)
    homes = [Executor(f"home-{i}", f"/{i}", f"m{i}", "b", f"host-{i}") for i in range(2)]
    writers, known = list[int](), list[int]()
    for at in range(12):
        here, there = homes[at % 2], homes[1 - at % 2]
        ledger = _patiently(Ledger.open, path, effects=failing(plan))
        # Only in the first round has no other home executed it.
        term = _patiently(ledger.executors.claim, here, at, take_over=True)
        ledger.generation = term.generation
        known = [each.generation for each in _patiently(ledger.executors.terms)]
        deposed = False
        for _ in range(8):
            if chance.random() < 0.2 and not deposed:
                _patiently(depose, path, there, at, failing(plan))
                deposed = True
            try:
                ledger.append(Batch(at, [NodeLost(at, f"{term.generation}")]))
                assert not deposed
                writers.append(term.generation)
            except Superseded:
                assert deposed
                break
            except EnvironmentFault:
                _patiently(ledger.refresh)
        ledger.close()
    plan.calm = True
    sound = Ledger.open(path)
    found = [int(each) for each in events(sound)]
    assert found == sorted(found)
    assert not (set(writers) - set(found))
    assert known == list(range(1, len(known) + 1))
    assert audited(sound).flaws == []
    assert sum(plan.struck.values()), "nothing failed"
    sound.close()


def _patiently(call: Callable[..., T], *args: Any, **more: Any) -> T:
    """What a call returns at last; every failure names what failed."""
    for _ in range(1_000):
        with contextlib.suppress(EnvironmentFault):
            return call(*args, **more)
    pytest.fail("the disk never recovers")


def test_an_export_and_a_backup_are_whole_or_not_there(tmp_path: Path) -> None:
    source = tmp_path / "ledger.db"
    ledger = Ledger.open(source)
    ledger.append(Batch(1, [NodeLost(1, f"node-{i}") for i in range(50)]))

    def story(plan: Nth) -> None:
        with TemporaryDirectory() as name:
            folder, effects = Path(name), failing(plan)
            try:
                exported(ledger, folder / "all.jsonl.gz", effects=effects)
                backed_up(source, folder / "copy.db", effects)
            except EnvironmentFault:
                left = {each.name for each in folder.iterdir()}
                # What cannot be removed is no file that anyone would take for a whole one.
                assert all(each.startswith(".") for each in left - {"all.jsonl.gz", "copy.db"})
                assert plan.struck == "unlink" or not [n for n in left if n.startswith(".")]
            for made in folder.glob("all.*"):
                fresh = Ledger.open(folder / "fresh.db")
                assert imported(fresh, made).events == 50
                fresh.close()
            for made in folder.glob("copy.db"):
                fresh = Ledger.open(made)
                assert len(events(fresh)) == 50
                fresh.close()

    assert at_every_call(story) > 15
    ledger.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_power_cut_takes_nothing_that_was_acknowledged(seed: int, tmp_path: Path) -> None:
    """The log is cut at any byte beyond what was synced, and then has bytes that never were."""
    chance, path = random.Random(seed), tmp_path / "ledger.db"
    ledger = Ledger.open(path)
    synced = list[tuple[int, int]]()  # events and bytes of the log after each acknowledgement
    log = Path(f"{path}-wal")
    for at in range(1, 12):
        ledger.append(Batch(at, [NodeLost(at, f"{at}") for _ in range(chance.randint(1, 60))]))
        synced.append((ledger.head, log.stat().st_size))
    assert len({size for _, size in synced}) == len(synced), "the log was folded in"
    images = {each.suffix: each.read_bytes() for each in (path, log)}
    ledger.close()
    for number, (head, size) in enumerate(synced[:-1]):
        cut = chance.randint(size, synced[number + 1][1] - 1)
        whole = images[log.suffix]
        torn = chance.randbytes(chance.choice([0, 100, 5_000]))
        copy = tmp_path / f"{number}.db"
        copy.write_bytes(images[path.suffix])
        Path(f"{copy}-wal").write_bytes(whole[:cut] + torn)
        again = Ledger.open(copy)
        assert again.head == head
        assert audited(again).flaws == []
        again.append(Batch(99, [NodeLost(99, "on")]))
        assert len(events(again)) == head + 1
        again.close()
