"""Cuts a ledger, in a process that may be killed: python -m tests.server.cutting PATH."""

import sys
from pathlib import Path

import msgspec

from ganglion import __version__
from ganglion.ledger.audit import audited
from ganglion.ledger.history import WantedWorkloads
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch, Cut, Flaw, Snapshot
from ganglion.model.events import Outcome
from ganglion.model.policy import Policy
from ganglion.server.recovery import checkpoint, retention
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.retention import LedgerRetention
from ganglion.server.state.transaction import Transaction
from ganglion.worlds.local.run_files.retention import DAY_MS, FILE
from ganglion.worlds.local.run_files.secret_store import SecretStore

FAILED = (Outcome.FAILED, 1)
ANY = WantedWorkloads()


def audit(reader: Reader) -> list[Flaw]:
    return audited(reader).flaws


def finish(ledger: Ledger) -> None:
    """What the next sweep does first."""
    while ledger.drop_cut(retention.AT_ONCE):
        pass


def cut(ledger: Ledger, home: Path) -> Cut:
    """Write a snapshot of all there is, and cut the ledger at it a year later."""
    home.mkdir(exist_ok=True)
    (home / FILE).write_bytes(msgspec.json.encode({"event_days": 30}))
    mind = replayed(ledger, Policy())
    body, at = checkpoint.written(mind, {}), mind.state.progress.clock
    ledger.keep(Snapshot(ledger.head, ledger.cycle, at, __version__, ledger.checksum, body))

    def ask(command: retention.Command) -> object:
        draft = Transaction(mind, ledger, SecretStore(home), at)
        answer = command(draft)
        ledger.append(draft.batch)
        return answer

    def now() -> int:
        return at + 400 * DAY_MS

    # A ledger has newer events than those that leave.
    ledger.append(Batch(at))
    found = LedgerRetention(home, ledger, ask, now).sweep()
    assert found is not None
    return found


def main(path: Path) -> None:
    """Cut it, a few rows at once."""
    retention.AT_ONCE = 9
    ledger = Ledger.open(path)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    cut(ledger, path.parent)
    ledger.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
