"""What an attempt's programs report, as events: bounded, whatever they write.

Programs err and lie. A time that lies ahead or before the attempt counts as the time of
writing; steps that go backwards, paths outside and values that are no numbers raise an alarm,
once each; and however often a program reports, the amount written down for ever is bounded.
"""

import posixpath

from msgspec import Struct, field

from ganglion.lifecycle.reports.line import MOST_METRICS, STEP, ReportLine, SavedCheckpoint, read
from ganglion.model.events import AlarmSet, CheckpointCommitted, Event, MetricReported

QUIET_MS = 10_000
"""Least time between two reports of checkpoints of one attempt: each is written down for ever."""
BURST = 30
"""Metrics that are published at once..."""
METRIC_MS = 5_000
"""...and after them one per this time, in ms: of each name the newest."""
ALARM_MS = 60_000
"""Least time between two words about one alarm of one attempt."""
SKEW_MS = 60_000
"""How far clocks may be apart before a time counts as wrong."""
SHOWN = 160
"""Characters of a line or path that an alarm quotes."""

BROKEN, FLOOD = "reports.broken", "reports.flood"
MISSING = "checkpoint.missing"
ORDER, OUTSIDE, NOT_A_NUMBER = "checkpoint.order", "checkpoint.outside", "metrics.nan"
REPLACED = "ranks.replaced"
"""Ranks of an attempt were started again beside the others."""
OF_ATTEMPTS = frozenset({BROKEN, FLOOD, MISSING, ORDER, OUTSIDE, NOT_A_NUMBER, REPLACED})
"""Alarms about one attempt of a gang, which end as the next one begins."""


class Activity(Struct, frozen=True):
    """Whether a program works, by its own word.

    Attributes:
        busy: what it reported last; None = it never did.
        said: when it reported so, in ms.
        heard: when it reported anything at all, in ms; 0 = never.
    """

    busy: bool | None = None
    said: int = 0
    heard: int = 0


class ReportMemory(Struct):
    """The reports received from one attempt, and what of them was published.

    Attributes:
        saved: the newest checkpoint with a step or path that was not published yet.
        marked: likewise one of which only the time is known.
        step: of the newest checkpoint.
        committed: its time, in ms.
        told: when a checkpoint was published last, in ms.
        steps: the last step that each pod saved.
        metrics: the newest value of each name that was not published yet.
        names: every metric's name.
        tokens: metrics that may be published at once, in thousandths.
        filled: when these were counted, in ms.
        alarms: code -> message that stands.
        said: code -> message that was published last, and when.
        strange: metrics whose last value was not a number.
    """

    saved: CheckpointCommitted | None = None
    marked: CheckpointCommitted | None = None
    step: int = 0
    committed: int = 0
    told: int = 0
    steps: dict[int, int] = field(default_factory=dict)
    metrics: dict[str, MetricReported] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    tokens: int = 1_000 * BURST
    filled: int = 0
    alarms: dict[str, str] = field(default_factory=dict)
    said: dict[str, tuple[str, int]] = field(default_factory=dict)
    strange: set[str] = field(default_factory=set)


class Hearing:
    """Receives the reports of one attempt.

    Args:
        gang: gang id.
        attempt: number of the attempt.
        begun: when it began, in ms; nothing that it reports happened before.
        folder: its checkpoint directory.

    Attributes:
        activity: whether it works, by its own word.
    """

    def __init__(self, gang: str, attempt: int, begun: int, folder: str) -> None:
        self._gang, self._attempt = gang, attempt
        self._begun, self._folder = begun, posixpath.normpath(folder)
        self._memory = ReportMemory()
        self.activity = Activity()

    def hear(self, pod: int, text: bytes, *, written: int, now: int) -> None:
        """Take in one line.

        Args:
            pod: number of the pod whose file it stands in.
            text: the line, without its end.
            written: when the file was last written to, in ms.
            now: the time in ms.
        """
        if not text.strip():
            return
        line = read(text)
        if isinstance(line, str):
            self._nonsense(pod, line, text)
            return
        at = self._time(line, min(written, now), now)
        said = self.activity
        busy, when = (said.busy, said.said) if line.busy is None else (line.busy, at)
        self.activity = Activity(busy, max(when, said.said), max(at, said.heard))
        if line.checkpoint:
            self._checkpoint(pod, line.checkpoint, at, now)
        self._metrics(line, at)

    def _nonsense(self, pod: int, wrong: str, text: bytes) -> None:
        if BROKEN not in self._memory.alarms:
            shown = text[:SHOWN].decode(errors="replace")
            quoted = "".join(each if each.isprintable() else "?" for each in shown)
            self.warn(BROKEN, f"pod {pod} reports an invalid line ({wrong}): {quoted}")

    def marked(self, at: int) -> None:
        """The program marked a checkpoint as complete, without saying which one."""
        memory = self._memory
        if at > memory.committed:
            memory.committed = at
            memory.marked = CheckpointCommitted(at, self._gang, self._attempt)

    def warn(self, alarm: str, message: str) -> None:
        """Raise an alarm, once for each code until it is taken back."""
        self._memory.alarms.setdefault(alarm, message)

    def tell(self, now: int, *, over: bool = False) -> list[Event]:
        """What is to be written down now.

        Args:
            now: the time in ms.
            over: whether the attempt has ended, so that nothing may be kept back.
        """
        memory, events = self._memory, self._due_alarms(now, over=over)
        if over or now - memory.told >= QUIET_MS:
            found = [each for each in (memory.saved, memory.marked) if each]
            events += sorted(found, key=lambda each: each.at)
            memory.told = now if found else memory.told
            memory.saved = memory.marked = None
        return events + self._due_metrics(now, over=over)

    def _time(self, line: ReportLine, written: int, now: int) -> int:
        """When it happened: as the line says if that can be, else when it was written."""
        if line.at is None:
            return max(written, self._begun)
        if self._begun - SKEW_MS <= line.at <= now + SKEW_MS:
            return min(max(int(line.at), self._begun), now)
        wrong = "ahead" if line.at > now else "before it began"
        said = f"it reports a time that lies {wrong}: at is {line.at:.0f}, in ms since 1970"
        self.warn(BROKEN, said)
        return max(written, self._begun)

    def _checkpoint(self, pod: int, saved: SavedCheckpoint, at: int, now: int) -> None:
        memory, before = self._memory, self._memory.steps.get(pod, 0)
        memory.steps[pod] = saved.step
        if saved.rewind:
            memory.steps = {pod: saved.step}
        elif 0 < saved.step < before:
            memory.steps[pod] = before
            self.warn(
                ORDER,
                f"step {saved.step} was saved after step {before} and does not count: a program"
                " that goes back on purpose says rewind",
            )
        if not saved.rewind and 0 < saved.step <= memory.step:
            return  # another pod, or the same one, has reported it, or a later one
        memory.step = saved.step or memory.step
        if saved.rewind:
            memory.step = saved.step
        memory.committed = min(now, max(at, memory.committed + 1))
        path = self._place(saved)
        memory.saved = CheckpointCommitted(
            memory.committed, self._gang, self._attempt, saved.step, path
        )

    def _place(self, saved: SavedCheckpoint) -> str:
        """The path in full; whether it exists is found out where it is used."""
        if not saved.path or "://" in saved.path:
            return saved.path
        path = posixpath.normpath(posixpath.join(self._folder, saved.path))
        if posixpath.commonpath([path, self._folder]) != self._folder:
            self.warn(
                OUTSIDE,
                f"step {saved.step} was saved in {path[:SHOWN]}, outside of its checkpoint"
                f" directory {self._folder}: it may be missing where the job starts next",
            )
        return path

    def _metrics(self, line: ReportLine, at: int) -> None:
        memory = self._memory
        for name, value in (line.metrics or {}).items():
            if name == STEP:
                continue
            if name not in memory.names and len(memory.names) >= MOST_METRICS:
                self.warn(FLOOD, f"it reports more than {MOST_METRICS} metrics; {name} is left out")
            elif value is None:
                memory.names.add(name)
                memory.strange.add(name)
                self.warn(NOT_A_NUMBER, f"{name} is not a number at step {line.step}")
            else:
                memory.names.add(name)
                memory.strange.discard(name)
                memory.metrics[name] = MetricReported(
                    at, self._gang, self._attempt, name, line.step, value
                )
        if not memory.strange:
            memory.alarms.pop(NOT_A_NUMBER, None)

    def _due_alarms(self, now: int, *, over: bool) -> list[Event]:
        """Those that came or went; one that comes and goes all the time is published rarely."""
        memory, events = self._memory, list[Event]()
        for alarm in {**memory.said, **memory.alarms}:
            message = memory.alarms.get(alarm, "")
            before, at = memory.said.get(alarm, ("", now - ALARM_MS))
            if message != before and (over or now - at >= ALARM_MS):
                memory.said[alarm] = (message, now)
                events.append(AlarmSet(now, self._gang, alarm, message))
        return events

    def _due_metrics(self, now: int, *, over: bool) -> list[Event]:
        memory = self._memory
        if not memory.metrics:
            return []
        since = max(now - memory.filled, 0) if memory.filled else 0
        memory.tokens = min(1_000 * BURST, memory.tokens + 1_000 * since // METRIC_MS)
        memory.filled = now
        due = list(memory.metrics) if over else list(memory.metrics)[: memory.tokens // 1_000]
        memory.tokens = max(memory.tokens - 1_000 * len(due), 0)
        return [memory.metrics.pop(name) for name in due]
