"""The fence of a home: supervisors of generations that have ended stop their ranks.

`runs/.fence` names for every ledger the least generation whose supervisors may run. It is
raised when another home takes a ledger over. Only the standard library is imported here,
because supervisors read it.
"""

from pathlib import Path

from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.records import Record

NAME = ".fence"


def path_of(home: Path) -> Path:
    """The file of a home."""
    return home / "runs" / NAME


def least(home: Path, ledger: str) -> int:
    """Least generation of a ledger whose supervisors may run; 1 = all of them."""
    return int((records.read(path_of(home)) or {}).get(ledger, 1))


def raise_to(home: Path, ledger: str, generation: int) -> None:
    """End all generations of a ledger below this one; the fence is never lowered.

    Raises:
        OSError: the home cannot be written.
    """
    known = records.read(path_of(home)) or {}
    if int(known.get(ledger, 1)) < generation:
        records.write(path_of(home), known | {ledger: generation}, durable=True)


class Fence:
    """The fence as one supervisor sees it.

    Args:
        spec: the decoded spec; one of an older version names no term and is never fenced.
    """

    def __init__(self, spec: Record) -> None:
        self._term: Record = spec.get("term") or {}
        self._seen, self._closed = (0, 0), False

    @property
    def closed(self) -> bool:
        """Whether the generation of the supervisor has ended."""
        if self._term and not self._closed and self._changed():
            known = records.read(Path(self._term["fence"])) or {}
            self._closed = int(known.get(self._term["ledger"], 1)) > self._term["generation"]
        return self._closed

    def _changed(self) -> bool:
        """Whether the file is another one than at the last look; it is replaced as a whole."""
        try:
            found = host.stat(self._term["fence"])
        except OSError:  # it is looked at again
            return False
        if found is None:
            return False
        now = (found.st_ino, found.st_mtime_ns)
        seen, self._seen = self._seen, now
        return now != seen
