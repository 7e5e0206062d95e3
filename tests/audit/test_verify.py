"""Exports that were changed in every way, and those that were not."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from tests.audit.trail import cut, lines_of, signed, write

from ganglion.audit.anchored import read_anchor
from ganglion.audit.export import ExportedEvent, ExportEnd, ExportHeader
from ganglion.audit.folder import AuditFolder
from ganglion.audit.merkle import Frontier
from ganglion.audit.notes import Signer
from ganglion.audit.verify import AuditVerdict, verified
from ganglion.ledger.chain import GENESIS, link
from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import FileError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """12 events: checkpoints after 4 and 10, and a tail of 2."""
    folder = tmp_path / "home"
    signed(folder, 2, 3)
    ledger = Ledger.open(folder / "ledger.db")
    write(ledger, 1)
    ledger.close()
    return folder


def problems(found: AuditVerdict) -> str:
    return "; ".join(each.problem for each in found.flaws)


def anchor(home: Path) -> Path:
    """All checkpoints of a home in a file of notes."""
    path = home.parent / "anchor"
    path.write_text("\n".join(each.note for each in AuditFolder(home).sealed()), "utf-8")
    return path


def test_a_file_that_begins_after_a_cut_is_sound_and_says_where_it_begins(home: Path) -> None:
    cut(home, 4)
    found = verified(lines_of(home), AuditFolder(home).public())
    assert problems(found) == ""
    assert (found.after, found.first, found.last) == (4, 5, 13)


def test_what_was_not_changed_is_sound_and_its_tail_is_called_unsigned(home: Path) -> None:
    key = AuditFolder(home).public()
    assert key
    held = [read_anchor(anchor(home), key)]
    found = verified(lines_of(home), key, held)
    assert problems(found) == ""
    assert (found.first, found.last, found.events) == (1, 12, 12)
    assert (found.checkpoints, found.signed, found.unsigned, found.anchored) == (2, 10, 2, 10)
    assert found.trusted
    assert not verified(lines_of(home), None).trusted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "the file is cut off after event 12"),
        (lambda lines: lines[:5], "the file is cut off after event 4"),
        (lambda lines: [*lines[:2], *lines[3:]], "events 2..2 are missing"),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "event 2 comes after event 3"),
        (lambda lines: [*lines[:3], *lines[2:]], "event 2 comes after event 2"),
        (lambda lines: [*lines[:5], *lines[6:]], "the file was changed"),
        (lambda lines: [*lines[:5], lines[12], *lines[6:]], "the checkpoint after event 4 is of"),
        (lambda lines: [*lines, lines[-1]], "something follows after the last line"),
        (lambda lines: [*lines[:3], b"{}\n", *lines[3:]], "is none of an audit export"),
        (
            lambda lines: [*lines[:3], lines[3].replace(b":", b": ", 1), *lines[4:]],
            "is not written as an export writes it",
        ),
        (lambda lines: [*lines[:3], lines[3][:40] + b"\n", *lines[4:]], "cannot be read"),
    ],
)
def test_a_change_of_lines_is_named(
    home: Path, change: Callable[[list[bytes]], list[bytes]], said: str
) -> None:
    assert said in problems(verified(change(lines_of(home)), None))


@pytest.mark.parametrize("lines", [[], [b"hello\n"], [b"{}\n"], [b'{"format":2}\n']])
def test_what_is_no_export_is_called_that(lines: list[bytes]) -> None:
    with pytest.raises(FileError, match="no audit export"):
        verified(lines, None)


def forged(
    home: Path, signer: Signer | None, change: Callable[[ExportedEvent], ExportedEvent]
) -> list[bytes]:
    """An export with other events, whose chain, tree and digest were made to fit.

    Args:
        home: whose export is changed.
        signer: signs it anew; None = the checkpoints stay.
        change: makes one event another.
    """
    out, checksum, tree, events, head = list[bytes](), GENESIS, Frontier(), 0, 0
    for written in lines_of(home)[:-1]:
        line = written
        if line.startswith(b'{"seq"'):
            event = change(msgspec.json.decode(line, type=ExportedEvent))
            row = (event.seq, event.at, event.cycle, event.kind, event.body.encode())
            checksum = link(checksum, row, event.cycle_at, event.incoming)
            tree.add(checksum)
            events, head = events + 1, event.seq
            event = msgspec.structs.replace(event, checksum=checksum.hex())
            line = msgspec.json.encode(event) + b"\n"
        elif line.startswith(b'{"checkpoint"') and signer:
            note = signer.signed(tree.size, tree.root())
            line = msgspec.json.encode({"checkpoint": note}) + b"\n"
        elif line.startswith(b'{"format"') and signer:
            named = msgspec.json.decode(line, type=ExportHeader)
            named = msgspec.structs.replace(named, key=str(signer.public))
            line = msgspec.json.encode(named) + b"\n"
        out.append(line)
    digest = sha256(b"".join(out)).hexdigest()
    return [*out, msgspec.json.encode(ExportEnd(events, head, checksum.hex(), digest)) + b"\n"]


def lied(event: ExportedEvent) -> ExportedEvent:
    return msgspec.structs.replace(event, body=event.body.replace("eu", "us"))


def test_a_forged_history_does_not_fit_what_was_signed(home: Path) -> None:
    found = verified(forged(home, None, lied), None)
    assert "events 1..4 are not those that were signed" in problems(found)


def test_a_history_signed_by_another_key_needs_the_right_one_to_be_found(home: Path) -> None:
    other = Signer("elsewhere/ganglion/00", bytes(32))
    lines, own = forged(home, other, lied), AuditFolder(home).public()
    assert verified(lines, None).sound  # nothing but the key distinguishes it
    assert "not of this key" in problems(verified(lines, own))
    assert own
    same_name = Signer(own.name, bytes(32))
    assert "signed by another key" in problems(verified(forged(home, same_name, lied), own))


def test_the_owner_of_the_key_who_writes_another_history_is_found_by_the_anchor(
    home: Path,
) -> None:
    folder = AuditFolder(home)
    held = read_anchor(anchor(home), folder.signer().public)
    lines = forged(home, folder.signer(), lied)
    assert verified(lines, folder.public()).sound  # who has key and database can do that
    found = verified(lines, folder.public(), [held])
    assert f"events 1..4 are not those that {held.where} holds" in problems(found)


def test_an_anchor_that_knows_more_says_that_the_end_is_missing(home: Path, tmp_path: Path) -> None:
    early = lines_of(home)
    ledger = Ledger.open(home / "ledger.db")
    write(ledger, 1)
    ledger.close()
    signed(home, 0)
    key = AuditFolder(home).public()
    assert key
    found = verified(early, key, [read_anchor(anchor(home), key)])
    assert "holds a checkpoint of event 14, and this ends at 12" in problems(found)


def test_an_anchor_of_another_log_is_refused(home: Path, tmp_path: Path) -> None:
    signed(tmp_path / "other", 1)
    key = AuditFolder(home).public()
    assert key
    with pytest.raises(FileError, match="no checkpoint of log"):
        read_anchor(anchor(tmp_path / "other"), key)
    with pytest.raises(FileError, match="cannot read the anchor"):
        read_anchor(tmp_path / "none", key)


def test_an_anchor_with_two_truths_is_a_flaw(home: Path) -> None:
    signer = AuditFolder(home).signer()
    path = anchor(home)
    path.write_text(path.read_text("utf-8") + "\n" + signer.signed(4, bytes(32)), "utf-8")
    found = verified(lines_of(home), None, [read_anchor(path, signer.public)])
    assert "two different checkpoints of 4 records" in problems(found)


def test_time_that_goes_back_is_named(home: Path) -> None:
    signer = AuditFolder(home).signer()

    def early(event: ExportedEvent) -> ExportedEvent:
        return msgspec.structs.replace(event, cycle_at=1) if event.seq > 6 else event

    assert "time goes back at event 7" in problems(verified(forged(home, signer, early), None))


def test_a_file_with_very_many_flaws_is_not_read_to_its_end(home: Path) -> None:
    lines = lines_of(home)
    assert len(verified([lines[0], *[b"x\n"] * 1_000], None).flaws) == 50
