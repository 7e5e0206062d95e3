"""A ledger that is signed, and the lines of its export."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from ganglion.audit.export import exported
from ganglion.audit.folder import AuditFolder
from ganglion.audit.sealing import Sealer
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch, Cut, Snapshot
from ganglion.model.events import Event, LedgerCut, NodeAdded, NodeCordoned
from ganglion.model.fleet.node import Node


def write(ledger: Ledger, cycles: int) -> None:
    """Append cycles of two events each."""
    for _ in range(cycles):
        at = 1_000 * (ledger.cycle + 1)
        facts: list[Event] = [NodeAdded(at, Node(f"n{at}", 1_000, 1_024, labels={"region": "eu"}))]
        ledger.append(Batch(at, facts, [NodeCordoned(at, f"n{at}", "Löschung")]))


def signed(home: Path, *parts: int) -> AuditFolder:
    """A home whose ledger got `parts` cycles, each followed by a checkpoint."""
    home.mkdir(exist_ok=True)
    ledger = Ledger.open(home / "ledger.db")
    folder = AuditFolder(home)
    sealer = Sealer(ledger, folder)
    for cycles in parts:
        write(ledger, cycles)
        sealer.seal(ledger.head, ledger.head, ending=True)
    ledger.close()
    return folder


@contextmanager
def at_rest(home: Path) -> Iterator[Reader]:
    """The ledger of a home."""
    reader = Reader.at_rest(home / "ledger.db")
    try:
        yield reader
    finally:
        reader.leave()


def lines_of(home: Path) -> list[bytes]:
    """The lines of an export."""
    with at_rest(home) as reader:
        return list(exported(reader, AuditFolder(home)))


def cut(home: Path, seq: int) -> None:
    """Cut the events up to one off, as retention does; a checkpoint has to cover it."""
    ledger = Ledger.open(home / "ledger.db")
    (entry,) = ledger.events(seq - 1, 1)
    checksum, body = entry.checksum or b"", b"state"
    ledger.keep(Snapshot(seq, entry.cycle, entry.at, "0", checksum, body))
    digest = sha256(body).digest()
    now = 1_000 * (ledger.cycle + 1)
    said = LedgerCut(now, seq, checksum.hex(), digest.hex())
    ledger.append(Batch(now, [said], [], cut=Cut(seq, now, checksum, digest)))
    ledger.drop_cut(seq)
    ledger.close()
