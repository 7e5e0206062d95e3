"""How long runs and their logs are kept: by age and by size, never those of live attempts.

`retention.json` in the home may say otherwise than the defaults, as `{"days": 90, "megabytes":
50000}`; it is read at every sweep. Supervisors' records of an attempt are removed as soon as its
end is in the ledger. What is left is how it was started, how it ended, and what it wrote.
"""

import contextlib
import stat
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import msgspec
import structlog

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import paths, records

FILE, PRUNED = "retention.json", ".pruned"
EVERY_S = 600.0
"""How often runs are looked through."""
NAMED = 5_000
"""Pruned attempts of which it is known by which rule."""
DAY_MS, MB = 86_400_000, 1_000_000
BLOCK = 512
"""Bytes in a block, as the file system counts them."""
AGE, SIZE = "age", "size"

_OURS = frozenset(
    {
        *(records.START, records.RUNNING, records.STOP, records.LIMIT, records.RESIZE),
        *(records.LEFT, records.LOCK, records.PIDS, records.STOP_NOTE, records.LEAVE),
        *(records.CHECKPOINT, records.HOSTFILE, records.REPLACED, records.RESUMED, "warning"),
        *(records.CALLERS, records.TERMINAL),
    }
)
"""Records that say nothing more once an attempt has ended."""
_FOLDERS = (records.REPORTS, records.EXCHANGE, "bin")

Key = tuple[str, int]
"""Gang id and number of the attempt."""

log = structlog.get_logger(__name__)


class RetentionRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept.

    Attributes:
        days: an attempt that ended longer ago is removed; 0 = at any age it is kept.
        megabytes: disk space of all ended attempts, the newest first; 0 = any.
        event_days: events of the ledger from longer ago leave it; 0 = at any age they stay.
        event_megabytes: size of all events of the ledger, the newest first; 0 = any.
        archive: whether events are written to a file in the home before they leave.
        detail_days: of a workload that ended longer ago only what lists show is kept; 0 = all.
    """

    days: int = 30
    megabytes: int = 10_000
    event_days: int = 0
    event_megabytes: int = 0
    archive: bool = True
    detail_days: int = 0

    def __str__(self) -> str:
        """As messages say it."""
        parts = [f"{self.days} days"] if self.days else []
        parts += [f"{self.megabytes} MB in all"] if self.megabytes else []
        return " and ".join(parts) or "for ever"


class Swept(msgspec.Struct, frozen=True):
    """What one sweep removed.

    Attributes:
        attempts: each with the rule that removed it, `age` or `size`.
        freed: disk space in bytes.
        refused: attempts that are left as they are, each with what the machine refuses.
    """

    attempts: dict[Key, str]
    freed: int = 0
    refused: dict[Key, str] = msgspec.field(default_factory=dict)


def rule_of(home: Path) -> RetentionRule:
    """The rule in force.

    Raises:
        EnvironmentFault: the file cannot be read, or says something else than a rule.
    """
    path = home / FILE
    try:
        found = host.read(path)
        rule = RetentionRule() if found is None else msgspec.json.decode(found, type=RetentionRule)
    except (OSError, msgspec.MsgspecError) as error:
        raise EnvironmentFault(
            f"{path} cannot be used: {error}", 'write for example {"days": 30, "megabytes": 10000}'
        ) from error
    limits = (rule.days, rule.megabytes, rule.event_days, rule.event_megabytes, rule.detail_days)
    if min(limits) < 0:
        raise EnvironmentFault(f"{path}: days and megabytes are not below 0", "0 lifts a limit")
    return rule


def tidy(home: Path, gang: str, attempt: int) -> None:
    """Remove what is not needed any more of an attempt whose end is known for good.

    Raises:
        OSError: the disk refuses.
    """
    run = paths.run_dir(home, gang, attempt)
    if not host.exists(run / records.EXIT):
        return
    for name in host.names(run):
        found = host.stat(run / name, follow=False)
        is_empty = name == "supervisor.log" and found is not None and not found.st_size
        if name in _OURS or name.startswith(".") or is_empty:
            host.remove(run / name)
        elif name in _FOLDERS and found is not None and stat.S_ISDIR(found.st_mode):
            host.files.remove_tree(run / name)
    _remove_empty(paths.checkpoint_dir(home, gang), home)


def _remove_empty(folder: Path, top: Path) -> None:
    """Remove a folder and those above it, as far as they are empty."""
    with contextlib.suppress(OSError):
        while folder.parent != top:
            host.files.rmdir(folder)
            folder = folder.parent


def sweep(home: Path, rule: RetentionRule, live: Collection[Key], now: int) -> Swept:
    """Remove ended attempts by the rule, the oldest first.

    Args:
        home: Ganglion's home directory.
        rule: what is kept.
        live: attempts that are not looked at.
        now: the wall clock in ms.

    Raises:
        OSError: the machine does not say which attempts there are, or a note of those that are gone
            cannot be written.
    """
    refused = dict[Key, str]()
    ended = sorted(_ended(home, live, refused), reverse=True)
    kept, freed, gone = 0, 0, dict[Key, str]()
    for at, key, size in ended:
        kept += size
        is_old = rule.days and now - at > rule.days * DAY_MS
        if is_old or (rule.megabytes and kept > rule.megabytes * MB):
            try:
                _remove(home, key)
            except OSError as error:
                refused[key] = str(error)
            else:
                gone[key] = AGE if is_old else SIZE
                freed += size
    if gone:
        _note(home, gone)
    return Swept(gone, freed, refused)


def _remove(home: Path, key: Key) -> None:
    """Remove an attempt; its end last, so that what is refused is tried again."""
    run, logs = paths.run_dir(home, *key), paths.log_dir(home, *key)
    for folder in (logs, run):
        for name in host.names(folder):
            found = host.stat(folder / name, follow=False)
            if found and stat.S_ISDIR(found.st_mode):
                host.files.remove_tree(folder / name)
            elif name != records.EXIT:
                host.remove(folder / name)
    for folder in (logs, run):
        host.files.remove_tree(folder)
        if folder.parent != home / paths.RUNS:
            _remove_empty(folder.parent, home)


def _ended(
    home: Path, live: Collection[Key], refused: dict[Key, str]
) -> Iterator[tuple[int, Key, int]]:
    """Every ended attempt: when it ended by the wall clock, its key, its disk space in bytes.

    Those of which the machine does not say that are put into `refused`.
    """
    for key in paths.attempts_on_disk(home):
        try:
            run = paths.run_dir(home, *key)
            end = None if key in live else records.read(run / records.EXIT)
            if end and isinstance(end.get("at"), int):
                folders = {run, paths.log_dir(home, *key)}
                yield end["at"], key, sum(map(_space, folders))
        except OSError as error:
            refused[key] = str(error)


def _space(folder: Path) -> int:
    found = (host.stat(folder / name, follow=False) for name in ("", *host.names(folder)))
    return sum(each.st_blocks * BLOCK for each in found if each)


def _note(home: Path, gone: dict[Key, str]) -> None:
    path = home / paths.RUNS / PRUNED
    known = records.read(path) or {}
    known |= {f"{gang}#{attempt}": why for (gang, attempt), why in gone.items()}
    records.write(path, dict(list(known.items())[-NAMED:]))


def pruned(home: Path, gang: str, attempt: int) -> str:
    """Why there is nothing left of an attempt, for a person; empty = it was not removed.

    Raises:
        OSError: the machine does not say.
        EnvironmentFault: the rule cannot be read.
    """
    if host.exists(paths.run_dir(home, gang, attempt)):
        return ""
    why = (records.read(home / paths.RUNS / PRUNED) or {}).get(f"{gang}#{attempt}")
    if why is None:
        return ""
    rule = rule_of(home)
    limit = f"{rule.days} days" if why == AGE else f"{rule.megabytes} MB in all"
    return f"attempt {attempt} of {gang} was removed by {why}: runs are kept for {limit}"


class Retention:
    """Sweeps again and again, in a thread of its own.

    Args:
        home: Ganglion's home directory.
        live: returns which attempts are not examined.
        clock: of their age.
    """

    def __init__(
        self, home: Path, live: Callable[[], Collection[Key]], clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._home, self._live, self._clock = home, live, clock
        self._end, self._tidied = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        """Begin to sweep."""
        self._thread.start()

    def stop(self) -> None:
        """Sweep no more."""
        self._end.set()

    def _run(self) -> None:
        while not self._end.is_set():
            self.sweep()
            self._end.wait(EVERY_S)

    def sweep(self) -> None:
        """Look through all runs once; what the machine refuses is named, and tried again later."""
        try:
            if not self._tidied:
                self._tidied = self._tidy_all()
            found = sweep(self._home, rule_of(self._home), self._live(), self._clock.now_ms())
        except (OSError, EnvironmentFault) as error:
            log.warning("runs cannot be pruned", error=str(error))
            return
        for (gang, attempt), said in found.refused.items():
            log.warning("run cannot be pruned", gang=gang, attempt=attempt, error=said)
        if found.attempts:
            log.info("pruned", attempts=len(found.attempts), bytes=found.freed)

    def _tidy_all(self) -> bool:
        """What a server that died, or one of an older version, left of attempts that ended.

        Returns:
            whether nothing was refused.
        """
        live, is_all = set(self._live()), True
        for key in paths.attempts_on_disk(self._home):
            if key not in live and not self._end.is_set():
                try:
                    tidy(self._home, *key)
                except OSError as error:
                    is_all = False
                    log.warning("cannot tidy", gang=key[0], attempt=key[1], error=str(error))
        return is_all
