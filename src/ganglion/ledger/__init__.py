"""What happened: the event store that every state is rebuilt from."""

from ganglion.ledger.ledger import Ledger
from ganglion.ledger.lock import FileLock
from ganglion.ledger.records import Batch, Changed, Cycle, Ended, Entry, Filed, Submitted

__all__ = [
    "Batch",
    "Changed",
    "Cycle",
    "Ended",
    "Entry",
    "FileLock",
    "Filed",
    "Ledger",
    "Submitted",
]
