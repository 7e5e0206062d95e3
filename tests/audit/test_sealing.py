"""When a ledger is signed, and what a crash or another ledger does to that."""

import stat
from pathlib import Path

import pytest
from tests.audit.trail import signed, write

from ganglion.audit.folder import AuditFolder
from ganglion.audit.merkle import Frontier
from ganglion.audit.notes import note_of
from ganglion.audit.sealing import AGE_MS, EVENTS, Sealer
from ganglion.ledger.chain import ChainTail
from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import Conflict, EnvironmentFault


def test_a_checkpoint_comes_after_a_minute_or_many_events(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    sealer = Sealer(ledger, AuditFolder(tmp_path))
    assert sealer.seal(ledger.head, 0) is None
    write(ledger, 1)
    assert sealer.seal(ledger.head, 1_000) is None
    assert sealer.seal(ledger.head, 999 + AGE_MS) is None
    late = sealer.seal(ledger.head, 1_000 + AGE_MS)
    assert late
    assert (late.seq, late.size) == (2, 2)
    write(ledger, EVENTS // 2 - 1)
    assert sealer.seal(ledger.head, 70_000) is None
    write(ledger, 1)
    full = sealer.seal(ledger.head, 70_001)
    assert full
    assert full.seq == 2 + EVENTS
    assert sealer.seal(ledger.head, 10 * AGE_MS, ending=True) is None
    ledger.close()


def test_what_is_signed_follows_from_the_events_alone(tmp_path: Path) -> None:
    at_once = signed(tmp_path / "a", 5).newest()
    in_parts = signed(tmp_path / "b", 2, 3).newest()
    assert at_once
    assert in_parts
    assert at_once.hashes == in_parts.hashes
    ledger, tree = Ledger.open(tmp_path / "a" / "ledger.db"), Frontier()
    for _, checksum in ledger.checksums(0):
        tree.add(checksum)
    ledger.close()
    assert note_of(at_once.note).checkpoint.root == tree.root()


def test_what_was_committed_is_signed_whatever_the_database_says_by_then(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    sealer = Sealer(ledger, AuditFolder(tmp_path), ledger.tail)
    write(ledger, 3)
    committed = [checksum for _, checksum in ledger.checksums(0)]
    with ledger.writing() as connection:
        connection.exec_driver_sql("UPDATE events SET checksum = x'00' WHERE seq = 2")
    made = sealer.seal(ledger.head, 0, ending=True)
    tree = Frontier()
    tree.extend(committed)
    assert made
    assert note_of(made.note).checkpoint.root == tree.root()
    ledger.close()


def test_checksums_that_are_not_held_are_read(tmp_path: Path) -> None:
    ledger, tail = Ledger.open(tmp_path / "ledger.db"), ChainTail(most=2)
    write(ledger, 4)
    sums = [checksum for _, checksum in ledger.checksums(0)]
    for number, checksum in enumerate(sums, 1):
        tail.add(number, [checksum])
    assert tail.after(0) == []  # the first were let go
    assert tail.after(len(sums) - 1) == sums[-1:]
    assert tail.after(len(sums)) == []
    made = Sealer(ledger, AuditFolder(tmp_path), tail).seal(ledger.head, 0, ending=True)
    tail.add(100, [b"x"])  # a gap: what was held is none of this chain
    assert (tail.after(98), tail.after(99)) == ([], [b"x"])
    ledger.close()
    assert made
    assert made.size == len(sums)


def test_a_sealer_goes_on_where_another_was_killed_while_it_wrote(tmp_path: Path) -> None:
    folder = signed(tmp_path, 2)
    whole = folder.checkpoints.read_bytes()
    folder.checkpoints.write_bytes(whole + whole[:100])
    assert [each.seq for each in folder.sealed()] == [4]
    ledger = Ledger.open(tmp_path / "ledger.db")
    write(ledger, 1)
    sealer = Sealer(ledger, folder)
    assert sealer.seal(ledger.head, 0, ending=True)
    ledger.close()
    assert [each.seq for each in folder.sealed()] == [4, 6]
    assert [each.seq for each in folder.sealed(4)] == [6]


def test_a_file_of_one_line_that_was_cut_off_is_emptied(tmp_path: Path) -> None:
    folder = signed(tmp_path, 1)
    folder.checkpoints.write_bytes(folder.checkpoints.read_bytes()[:-1])
    folder.mend()
    assert folder.checkpoints.read_bytes() == b""
    assert folder.newest() is None


def test_a_ledger_that_does_not_hold_what_was_signed_is_not_signed(tmp_path: Path) -> None:
    folder = signed(tmp_path, 2)
    (tmp_path / "ledger.db").unlink()
    ledger = Ledger.open(tmp_path / "ledger.db")
    write(ledger, 1)
    with pytest.raises(Conflict, match="does not hold event 4 as it was signed"):
        Sealer(ledger, folder)
    ledger.close()


def test_the_key_is_for_its_owner_alone_and_is_made_once(tmp_path: Path) -> None:
    folder = signed(tmp_path, 1)
    key = tmp_path / "audit" / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert folder.signer().public == folder.public() == AuditFolder(tmp_path).signer().public
    key.chmod(0o640)
    with pytest.raises(EnvironmentFault, match="other users can read"):
        folder.signer()
    key.chmod(0o600)
    key.write_bytes(b"{}")
    with pytest.raises(EnvironmentFault, match="damaged") as caught:
        folder.signer()
    assert caught.value.__cause__ is None


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    folder = signed(tmp_path, 1, 1)
    lines = folder.checkpoints.read_bytes().splitlines(keepends=True)
    folder.checkpoints.write_bytes(b"{}\n" + lines[1])
    with pytest.raises(EnvironmentFault, match="line 1"):
        list(folder.sealed())
    folder.checkpoints.write_bytes(lines[0] + b"{}\n")
    with pytest.raises(EnvironmentFault, match="last line"):
        folder.newest()
