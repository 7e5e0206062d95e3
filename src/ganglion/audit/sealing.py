"""Signing what a ledger holds: the tree grows by its checksums, and its root is signed.

The record of an event in the tree is its checksum in the chain, which covers the event and all
before it. So the tree follows from the ledger, and no turn of a server computes it.
"""

from base64 import b64encode
from collections.abc import Iterator

from ganglion.audit.folder import AuditFolder, Sealed
from ganglion.audit.merkle import Frontier
from ganglion.audit.notes import note_of
from ganglion.audit.verify import AuditFlaw
from ganglion.ledger.chain import GENESIS, ChainTail
from ganglion.ledger.reader import PAGE, Reader
from ganglion.model.errors import Conflict

EVENTS = 256
"""Events after which a checkpoint is due."""
AGE_MS = 60_000
"""Time after which one is due for any event."""


class Sealer:
    """Signs a ledger; for one thread.

    Args:
        reader: of the ledger.
        folder: of the home.
        tail: checksums that need not be read; None = all are.

    Raises:
        EnvironmentFault: the key or the checkpoints cannot be read.
        Conflict: the ledger does not hold what was signed.
        ValueError: the newest checkpoint was signed with another key.
    """

    def __init__(self, reader: Reader, folder: AuditFolder, tail: ChainTail | None = None) -> None:
        self._reader, self._folder, self._tail = reader, folder, tail
        self._signer = folder.signer()
        folder.mend()
        base = reader.base()
        self.newest = folder.newest()
        self._seq, self._checksum = (base.seq, base.checksum) if base else (0, GENESIS)
        self._tree, self._since = Frontier(), 0
        if self.newest:
            note_of(self.newest.note).check(self._signer.public)
            self._seq, self._tree = self.newest.seq, self.newest.frontier()
            self._checksum = bytes.fromhex(self.newest.checksum)
            self._check(base.seq if base else 0)

    def _check(self, base: int) -> None:
        """Raise Conflict: the newest event that was signed is not in the ledger."""
        if self._seq == base:
            return
        found = self._reader.checksums(self._seq - 1, 1)
        if found != [(self._seq, self._checksum)]:
            raise Conflict(
                f"the ledger does not hold event {self._seq} as it was signed",
                f"was a backup restored? To begin a new log, move {self._folder.path} away",
            )

    def seal(self, head: int, now: int, *, ending: bool = False) -> Sealed | None:
        """Sign what is new once it is due; returns the checkpoint, None = none is due.

        Args:
            head: number of the newest event in the ledger.
            now: the time in ms.
            ending: whether it is due whatever the time.

        Raises:
            EnvironmentFault: the database does not answer.
            Conflict: an event is missing.
            OSError: the disk refuses.
        """
        if head <= self._seq:
            self._since = 0
            return None
        self._since = self._since or now
        if not ending and head - self._seq < EVENTS and now - self._since < AGE_MS:
            return None
        self._grow()
        tree = self._tree
        sealed = Sealed(
            self._seq,
            self._signer.signed(tree.size, tree.root()),
            self._checksum.hex(),
            b64encode(b"".join(tree.hashes)).decode(),
            tree.size,
        )
        self._folder.append(sealed)
        self.newest, self._since = sealed, 0
        return sealed

    def _grow(self) -> None:
        """Take in all that the ledger holds."""
        held = self._tail.after(self._seq) if self._tail else []
        if held:
            self._tree.extend(held)
            self._seq, self._checksum = self._seq + len(held), held[-1]
            return
        is_last = False
        while not is_last:
            page = self._reader.checksums(self._seq, PAGE)
            is_last = len(page) < PAGE
            for seq, checksum in page:
                if seq != self._seq + 1:
                    raise Conflict(
                        f"event {self._seq + 1} is missing in the ledger", "ganglion ledger verify"
                    )
                self._tree.add(checksum)
                self._seq, self._checksum = seq, checksum


def contradicted(reader: Reader, folder: AuditFolder) -> Iterator[AuditFlaw]:
    """Checkpoints in the folder that name another event than the ledger holds, and changed names.

    What they signed is compared by `verified`; this is about the columns beside that.

    Raises:
        EnvironmentFault: the database does not answer, or a line is not as it was written.
    """
    base = reader.base()
    for each in folder.sealed(base.seq - 1 if base else 0):
        held = dict(reader.checksums(each.seq - 1, 1))
        if base:
            held[base.seq] = base.checksum
        if held.get(each.seq, b"").hex() != each.checksum:
            said = f"the checkpoint of {each.size} records names event {each.seq}"
            yield AuditFlaw(each.seq, f"{said}, which the ledger does not hold like that")
    for person in reader.people():
        if person.name and not person.fits:
            yield AuditFlaw(0, f"the name of {person.token} was changed")
