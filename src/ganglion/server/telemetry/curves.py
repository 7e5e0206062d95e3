"""Curves of attempts: what they use, measured again and again, and what they report.

They lie beside the log of an attempt, and go with it. What is written in between is lost where
the server is killed: at most `SAVE_S` of it.
"""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import structlog
from msgspec import Struct, field

from ganglion.ledger.codec import UNREADABLE, decoded
from ganglion.ledger.records import Entry
from ganglion.lifecycle.reports.curve import Curve
from ganglion.lifecycle.reports.line import MOST_METRICS
from ganglion.model.events import GangEnded, MetricReported, UserErased
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.telemetry.activity import GpuActivity
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import paths

FILE = "curves.json"
SAMPLE_S = 10.0
"""How often use is measured while anything holds resources."""
SAVE_S = 300.0
"""How often curves of attempts that go on are written."""
MOST_ATTEMPTS = 1_000
"""Attempts that curves are kept of at a time."""
USED, REPORTED = "used", "reported"

Key = tuple[str, int]
"""Gang id and number of the attempt."""
Curves = dict[tuple[str, str], Curve]
"""By `used` or `reported`, and name."""

log = structlog.get_logger(__name__)


class AttemptUse(Struct, frozen=True):
    """What an attempt uses at one moment; what is unknown is not among the values."""

    gang: str
    attempt: int
    values: Mapping[str, int]


class _Kept(Struct):
    curves: Curves = field(default_factory=dict)
    saved: float = 0
    changed: bool = False
    over: bool = False


class AttemptCurves:
    """Keeps them, in a thread of its own.

    Args:
        home: Ganglion's home directory.
        now: the time in ms.
        clock: says when to measure and to save.

    Attributes:
        activity: what GPUs did, on its way to the ledger.
    """

    def __init__(self, home: Path, now: Callable[[], int], clock: Clock = SYSTEM_CLOCK) -> None:
        self._home, self._now, self._clock = home, now, clock
        self.activity = GpuActivity()
        self._measure: Callable[[], Iterable[AttemptUse]] = tuple
        self._kept: dict[Key, _Kept] = {}
        self._lock, self._wake, self._ends = threading.Lock(), threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="curves", daemon=True)

    def measure_by(self, measure: Callable[[], Iterable[AttemptUse]]) -> None:
        """What says what attempts use."""
        self._measure = measure

    def start(self) -> None:
        """Begin to measure."""
        self._thread.start()

    def close(self) -> None:
        """Write all of it, and end."""
        self._ends = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def note(self, entries: Iterable[Entry]) -> None:
        """Take in what was written to the ledger."""
        for entry in entries:
            if entry.kind not in ("metric_reported", "gang_ended", "user_erased"):
                continue
            try:
                event = decoded(entry.body)
            except UNREADABLE:
                continue  # its own row: an audit names it
            if isinstance(event, MetricReported) and event.value is not None:
                self._add((event.gang, event.attempt), REPORTED, event)
            elif isinstance(event, GangEnded):
                self.activity.ended(event.gang, event.attempt, event.at)
                self._over((event.gang, event.attempt))
            elif isinstance(event, UserErased):
                self.activity.erased(event.user)

    def of(self, gang: str) -> dict[int, Curves]:
        """The curves of a gang: attempt -> kind and name -> curve.

        Raises:
            OSError: the disk refuses.
        """
        found = {each: self._read((gang, each)) for each in paths.logged_attempts(self._home, gang)}
        with self._lock:
            for (name, attempt), kept in self._kept.items():
                if name == gang:
                    copies = {key: Curve.of(each.saved()) for key, each in kept.curves.items()}
                    found[attempt] = copies
        return {attempt: curves for attempt, curves in sorted(found.items()) if curves}

    def sample(self) -> None:
        """Measure once."""
        now = self._now()
        for use in self._measure():
            for name, value in use.values.items():
                with self._lock:
                    kept = self._of((use.gang, use.attempt))
                    if kept:
                        curve = kept.curves.setdefault((USED, name), Curve(mean=True))
                        curve.add(now, 0, value)
                        kept.changed = True

    def save(self, *, everything: bool = False) -> None:
        """Write what has changed and is due; drop what is over."""
        now = self._clock.monotonic()
        with self._lock:
            due = {
                key: _body(each.curves)
                for key, each in self._kept.items()
                if each.changed and (everything or each.over or now - each.saved >= SAVE_S)
            }
            for key in due:
                self._kept[key].changed, self._kept[key].saved = False, now
            over = [key for key, each in self._kept.items() if each.over]
        for key, body in due.items():
            self._write(key, body)
        with self._lock:
            for key in over:
                self._kept.pop(key, None)

    def _add(self, key: Key, kind: str, event: MetricReported) -> None:
        with self._lock:
            kept = self._of(key)
            if kept is None or event.value is None:
                return
            known = (kind, event.name) in kept.curves
            if known or sum(each[0] == kind for each in kept.curves) < MOST_METRICS:
                curve = kept.curves.setdefault((kind, event.name), Curve(mean=False))
                curve.add(event.at, event.step, event.value)
                kept.changed = True

    def _over(self, key: Key) -> None:
        with self._lock:
            if key in self._kept:
                self._kept[key].over = True
                self._wake.set()

    def _of(self, key: Key) -> _Kept | None:
        """What is kept of an attempt that goes on, with what a server before this one wrote."""
        kept = self._kept.get(key)
        if kept is None and len(self._kept) < MOST_ATTEMPTS:
            try:
                known = self._read(key)
            except OSError:
                known = {}
            kept = self._kept[key] = _Kept(known, self._clock.monotonic())
        return kept

    def _read(self, key: Key) -> Curves:
        text = host.text(paths.run_dir(self._home, *key) / FILE)
        try:
            said = json.loads(text) if text else {}
            return {
                (kind, name): Curve.of(each)
                for kind in (USED, REPORTED)
                for name, each in said.get(kind, {}).items()
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            log.warning("curves cannot be read", gang=key[0], attempt=key[1])
            return {}

    def _write(self, key: Key, body: bytes) -> None:
        folder = paths.run_dir(self._home, *key)
        try:
            if host.exists(folder):
                host.replace_whole(folder / FILE, body)
        except OSError as error:
            log.warning("curves not written", gang=key[0], attempt=key[1], error=str(error))

    def _run(self) -> None:
        due = self._clock.monotonic()
        while not self._ends:
            try:
                if self._clock.monotonic() >= due:
                    due = self._clock.monotonic() + SAMPLE_S
                    self.sample()
                self.save()
            # Curves are no reason for anything else to end.
            except Exception:
                log.exception("cannot measure what attempts use")
            self._wake.wait(max(due - self._clock.monotonic(), 0))
            self._wake.clear()
        self.save(everything=True)


def _body(curves: Curves) -> bytes:
    said: dict[str, dict[str, Any]] = {USED: {}, REPORTED: {}}
    for (kind, name), curve in curves.items():
        said[kind][name] = curve.saved()
    return json.dumps(said).encode()
