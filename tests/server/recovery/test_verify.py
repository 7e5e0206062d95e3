"""Verifying names everything that is wrong with a ledger, and nothing that is right."""

import sqlite3
from pathlib import Path
from random import Random

import pytest

from ganglion import __version__
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch, Snapshot
from ganglion.model.events import GangStarted, NodeCordoned
from ganglion.model.policy import Policy
from ganglion.server.recovery import checkpoint, written
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import EQUAL, OTHER_VERSION, LedgerVerdict, verified
from tests.server.conftest import Rig
from tests.server.recovery.test_checkpoint_snapshots import keepers, work


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr(written, "SNAPSHOT", 15)
    return Rig(tmp_path / "home", keepers)


def verdict(rig: Rig) -> LedgerVerdict:
    reader = Reader.at_rest(rig.home.ledger)
    try:
        return verified(reader)
    finally:
        reader.leave()


@pytest.mark.parametrize("seed", range(4))
def test_a_ledger_of_a_server_at_work_is_sound(rig: Rig, seed: int) -> None:
    work(rig, Random(seed), 15)
    found = verdict(rig)
    assert (found.flaws, found.sound) == ([], True)
    assert found.snapshots
    assert {each.verdict for each in found.snapshots} == {EQUAL}
    assert (found.head, found.checksum) == (rig.ledger.head, rig.ledger.checksum.hex())
    with rig.service.read() as mind:
        assert found.live == len(mind.book.entries)
    rig.ledger.close()


def test_what_is_chained_and_makes_no_sense_is_named(rig: Rig) -> None:
    work(rig, Random(1), 5)
    (entry,) = rig.ledger.append(Batch(9, [GangStarted(9, "ghost-1/0", 1)]))
    found = verdict(rig)
    assert [(flaw.seq, flaw.kind) for flaw in found.flaws] == [(entry.seq, "gang_started")]
    assert not found.sound
    rig.ledger.close()


def test_an_edit_is_named_once_and_a_snapshot_made_before_it_differs(rig: Rig) -> None:
    rig.do(lambda draft: draft.apply(NodeCordoned(draft.now, "n1", "fan")))
    work(rig, Random(1), 10)
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        kind, why = "node_cordoned", ("fan", "fax")
        raw.execute(
            "UPDATE events SET body = replace(CAST(body AS TEXT), ?, ?) WHERE kind = ?"
            " AND seq = (SELECT min(seq) FROM events WHERE kind = ?)",
            (*why, kind, kind),
        )
    raw.close()
    found = verdict(rig)
    assert {flaw.kind for flaw in found.flaws} <= {kind, "snapshot"}
    assert sum(flaw.kind == kind for flaw in found.flaws) == 1


def test_a_snapshot_that_is_not_what_the_events_give_is_named(rig: Rig) -> None:
    rig.submit("a")
    rig.turn(2)
    mind = replayed(rig.ledger, Policy())
    mind.state.gangs.records["a-1/0"].attempt += 1
    ledger = rig.ledger
    for known, other in ((__version__, False), ("of last year", True)):
        body = checkpoint.written(mind, {})
        ledger.keep(Snapshot(ledger.head, ledger.cycle, 9, known, ledger.checksum, body))
        found = verdict(rig)
        (snapshot,) = found.snapshots
        wanted = f"{OTHER_VERSION}gangs" if other else "differs from the replay in gangs"
        assert snapshot.verdict == wanted
        assert found.sound is other
    rig.ledger.close()
