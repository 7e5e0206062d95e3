"""The attempts of one home: those that are tracked, and those that lie on disk."""

import stat
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import structlog

from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import Event, GangEnded, Outcome
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.local.attempts.helping import clear
from ganglion.worlds.local.attempts.watch import TrackedAttempt
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import paths, records
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.run_files.retention import tidy

REMEMBER = 4096
"""How many reported ends are remembered, so that repeated orders stay silent."""
UNKNOWN = "the ledger knows no such attempt"
ORPHANS_S = 10.0
"""How long processes of unknown origin may take to be dead."""

Key = tuple[str, int]
"""Gang id and number of the attempt."""
log = structlog.get_logger(__name__)


class TrackedAttempts:
    """Tracks attempts from their spec to their end.

    Args:
        home: Ganglion's home directory.
        ledger: id of the ledger that it executes; empty = unknown.
        effects: the clock to look and wait by, and processes.

    Attributes:
        live: attempts whose end was not reported yet.
    """

    def __init__(self, home: Path, ledger: str = "", effects: Effects = SYSTEM) -> None:
        self._home, self._ledger, self._effects = home, ledger, effects
        self.live: dict[Key, TrackedAttempt] = {}
        self._over: deque[Key] = deque(maxlen=REMEMBER)
        self._troubles: dict[str, str] = {}
        self._ending: list[TrackedAttempt] = []

    def begin(self, gang: str, attempt: int, spec: Record) -> None:
        """Write the spec, which makes the attempt exist, and start its supervisor.

        Raises:
            OSError: the machine refuses.
        """
        run = paths.run_dir(self._home, gang, attempt)
        records.write(run / records.SPEC, spec)
        watched = TrackedAttempt(run, spec, effects=self._effects)
        watched.begin()
        self.live[gang, attempt] = watched

    def adopt(self, gang: str, attempt: int, *, started: bool = False) -> TrackedAttempt | None:
        """Track an attempt that exists on disk; None when there is none of this ledger.

        Raises:
            OSError: the machine does not say.
        """
        if (gang, attempt) in self.live:
            return self.live[gang, attempt]
        run = paths.run_dir(self._home, gang, attempt)
        spec = records.read(run / records.SPEC)
        if spec is None or self._is_foreign(spec):
            return None
        watched = self.live[gang, attempt] = TrackedAttempt(
            run, spec, started=started, effects=self._effects
        )
        return watched

    def _is_foreign(self, spec: Record) -> bool:
        """Whether an attempt is that of another ledger: both count their workloads from 1."""
        term = spec.get("term")
        return bool(self._ledger) and term is not None and term["ledger"] != self._ledger

    def set_aside(self, gang: str, attempt: int) -> None:
        """Free the name of an attempt where one of another ledger, killed before, has its name.

        Raises:
            OSError: something of it cannot be removed; it is of another ledger still.
        """
        run = paths.run_dir(self._home, gang, attempt)
        spec = records.read(run / records.SPEC)
        if spec and self._is_foreign(spec):
            for folder in (paths.log_dir(self._home, gang, attempt), run):
                for name in host.names(folder):
                    if name != records.SPEC:  # the last, so that what is refused is tried again
                        _remove(folder / name)
            host.files.remove_tree(run)

    def tidy(self, gang: str, attempt: int) -> None:
        """Remove what is not needed of an attempt that has ended."""
        if (gang, attempt) not in self.live:
            try:
                self._tidied(gang, attempt)
            except OSError as error:  # the next server tries it again
                log.warning("cannot tidy", gang=gang, attempt=attempt, error=str(error))

    def _tidied(self, gang: str, attempt: int) -> None:
        try:
            tidy(self._home, gang, attempt)
        except PermissionError:
            clear(paths.run_dir(self._home, gang, attempt))
            tidy(self._home, gang, attempt)

    def of(self, gang: str) -> Iterator[TrackedAttempt]:
        """The live attempts of a gang: one, or none."""
        return (watched for (name, _), watched in self.live.items() if name == gang)

    def ports(self) -> set[int]:
        """Ports promised to live attempts, which may not listen yet."""
        return {port for each in self.live.values() for port in each.spec["ports"]}

    def is_over(self, gang: str, attempt: int) -> bool:
        """Whether its end was reported, not too long ago."""
        return (gang, attempt) in self._over

    def note_over(self, gang: str, attempt: int) -> None:
        """Its end is reported: orders for it mean nothing any more."""
        self._over.append((gang, attempt))

    def give_up(self, gang: str, attempt: int) -> None:
        """It never ran here: what another ledger left by its name is no log of it."""
        self.note_over(gang, attempt)
        try:
            self.set_aside(gang, attempt)
        except OSError as error:
            log.warning("cannot be set aside", gang=gang, attempt=attempt, error=str(error))

    def look(self, now: int) -> list[Event]:
        """What happened to all live attempts since the last look."""
        self._ending = [each for each in self._ending if not each.collected()]
        facts: list[Event] = []
        up = host.uptime_ms()
        for key, watched in list(self.live.items()):
            news = self._look(watched, now, up)
            if news and isinstance(news[-1], GangEnded):
                self._ending.append(self.live.pop(key))
                self.note_over(*key)
            facts += news
        return facts

    def _look(self, watched: TrackedAttempt, now: int, up: int | None = None) -> list[Event]:
        """Look again next time when the machine refuses, as a full disk does."""
        run = str(watched.run)
        try:
            facts = watched.look(now, up)
        except OSError as error:
            if self._troubles.get(run) != str(error):
                self._troubles[run] = str(error)
                log.warning("attempt cannot be looked at", run=run, error=str(error))
            return []
        self._troubles.pop(run, None)
        return facts

    def kill_unknown(self, believed: set[Key], now: int) -> tuple[str, ...]:
        """Kill attempts that run but that the ledger does not know; returns their gang ids.

        Raises:
            EnvironmentFault: one cannot be killed; it would share GPUs with others.
        """
        orphans = dict(self._orphans(believed))
        killed = names(orphans)
        give_up = self._effects.clock.monotonic() + ORPHANS_S
        while orphans := {key: w for key, w in orphans.items() if not self._look(w, now)}:
            if self._effects.clock.monotonic() > give_up:
                raise EnvironmentFault(
                    f"processes of {', '.join(names(orphans))} cannot be killed",
                    "they hold resources; end them, then start the server again",
                )
            self._effects.clock.sleep(0.02)
        return killed

    def _orphans(self, believed: set[Key]) -> Iterator[tuple[Key, TrackedAttempt]]:
        for key in paths.attempts_on_disk(self._home):
            run = paths.run_dir(self._home, *key)
            spec = None if host.exists(run / records.EXIT) else records.read(run / records.SPEC)
            if spec and (key not in believed or self._is_foreign(spec)):
                watched = TrackedAttempt(run, spec, started=True, effects=self._effects)
                watched.stop(Outcome.CANCELLED, UNKNOWN, force=True)
                yield key, watched


def names(keys: Iterable[Key]) -> tuple[str, ...]:
    """Gang ids of attempts, sorted."""
    return tuple(gang for gang, _ in sorted(keys))


def _remove(path: Path) -> None:
    """Remove a file or a folder, unless a supervisor that ends has removed it first."""
    found = host.stat(path, follow=False)
    if found and stat.S_ISDIR(found.st_mode):
        host.files.remove_tree(path)
    elif found:
        host.remove(path)
