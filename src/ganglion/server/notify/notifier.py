"""Notifies people of what happens, from the ledger, in a thread of its own.

The ledger is the queue: what was read of it and what is still to be sent is kept in one file, so
that every notice is sent at least once, whatever is killed in between. No turn waits for it.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog
from msgspec import Struct, field

from ganglion.ledger.records import Entry, Filed
from ganglion.lifecycle.budgets import ALARMS, QUEUES
from ganglion.lifecycle.status import State
from ganglion.model.behaviour import WAITING, Notify
from ganglion.model.errors import GanglionError
from ganglion.model.events import (
    AlarmSet,
    BudgetDenied,
    BudgetRaised,
    BudgetRequested,
    GangEnded,
    GangStarted,
    GlassBroken,
    Outcome,
)
from ganglion.seams.files import replace_whole
from ganglion.server.notify.choices import NoticeChoices
from ganglion.server.notify.facts import (
    addressed,
    facts_of_end,
    facts_of_glass,
    facts_of_request,
)
from ganglion.server.notify.notices import BUDGET, GLASS, Notice, Recipients, send
from ganglion.server.notify.settings import NotifySettings, WatchedSettings
from ganglion.server.notify.waits import NotedWait, WaitLook, WaitsOf

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

FILE = "notify.json"
PAGE = 500
MOST = 1_000
"""Notices that may wait to be sent; the oldest beyond that are dropped."""
REMEMBERED = 10_000
"""Workloads of which it is remembered whether notices are wanted."""
PAUSE_S = 0.2
"""Least time between two looks into the ledger."""
FIRST_MS, LONGEST_MS = 5_000, 3_600_000
"""Pause after the first failure, doubled after each; and the longest."""
LOOK_MS = 15_000
"""Time between two looks at what waits."""
BETWEEN_S = 0.005
"""Pause between two parts of such a look."""
GIVE_UP_MS = 24 * 3_600_000
TROUBLE_S = 5.0

_OF_REQUESTS = BudgetRequested | BudgetRaised | BudgetDenied
_HEARD = msgspec.json.Decoder(GangStarted | GangEnded | GlassBroken | AlarmSet | _OF_REQUESTS)
_KINDS = frozenset(
    {
        *("gang_started", "gang_ended", "glass_broken", "alarm_set"),
        *("budget_requested", "budget_raised", "budget_denied"),
    }
)

log = structlog.get_logger(__name__)


class NoticeMemory(Struct):
    """What outlives the server.

    Attributes:
        seq: number of the last event that was looked at.
        pending: what is to be sent, oldest first.
        started: live workloads whose start was notified.
        over: workloads whose end was notified, the newest last.
        failed: workload id -> recipient -> why it could not be sent; the newest last.
        waits: long waits that were notified, of workloads that wait still.
    """

    seq: int
    pending: list[Notice] = field(default_factory=list)
    started: dict[str, None] = field(default_factory=dict)
    over: dict[str, None] = field(default_factory=dict)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)
    waits: dict[str, NotedWait] = field(default_factory=dict)


class Notifier:
    """Sends what workloads and `notify.yaml` ask for.

    Args:
        home: Ganglion's home directory.
        ledger: where everything that happens is written.
        clock: the time in ms.
        reach: how recipients are reached; None = as by default.

    Attributes:
        choices: what users chose to be notified of.
    """

    def __init__(
        self,
        home: Path,
        ledger: "Ledger",
        clock: Callable[[], int],
        reach: Recipients | None = None,
    ) -> None:
        self._home, self._ledger, self._clock = home, ledger, clock
        self._reach = reach or Recipients()
        effects = self._reach.effects
        self._files, self._pid = effects.files, effects.processes.own()
        self.choices = NoticeChoices(home, effects)
        self._waiting: WaitsOf = lambda _now, _wishes, _noted: ()
        self._memory, self._watched = self._recalled(), WatchedSettings(home, self._files)
        self._wanted: dict[str, Notify | None] = {}
        self._looked = 0
        self._news, self._ending = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)

    def attend(self, waiting: WaitsOf) -> None:
        """Look from now on at what waits."""
        self._waiting = waiting

    def start(self) -> None:
        """Begin."""
        self._news.set()
        self._thread.start()

    def wake(self) -> None:
        """Something was written to the ledger. Safe from any thread."""
        self._news.set()

    def close(self) -> None:
        """End; what is not sent is sent by the next server."""
        self._ending.set()
        self._news.set()
        self._thread.join(timeout=1.0)

    def failures(self, workload: str) -> str:
        """What could not be sent about a workload, and why; empty = nothing.

        Safe from any thread.
        """
        found = dict(self._memory.failed.get(workload, {}))
        return "; ".join(f"{recipient}: {said}" for recipient, said in found.items())

    # --- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._gather()
                self._look()
                pause = self._deliver()
            except Exception as error:  # the thread must outlive whatever is wrong
                log.exception("notifier failed", error=str(error))
                pause = TROUBLE_S
            self._news.wait(min(pause or LOOK_MS / 1000, LOOK_MS / 1000))
            self._news.clear()
            self._ending.wait(PAUSE_S)

    def _gather(self) -> None:
        """Read on in the ledger, and note what is to be sent."""
        while page := self._ledger.events(self._memory.seq, PAGE):
            usual = self._settings().usual
            for entry in page:
                if entry.kind in _KINDS:
                    self._memory.pending += self._notices(entry, usual)
            self._memory.seq = page[-1].seq
            self._bound()
            self._keep()

    def _look(self) -> None:
        """Note waits that have become as long as a wish for notices says."""
        now, usual = self._clock(), self._settings().usual
        if now - self._looked < LOOK_MS:
            return
        self._looked = now
        noted, due = dict[str, NotedWait](), list[WaitLook]()
        try:
            for part in self._waiting(
                now, lambda user, own: self._wishes(own, user, usual), self._memory.waits
            ):
                noted |= {each.id: each.noted for each in part}
                due += (each for each in part if each.due)
                if self._ending.wait(BETWEEN_S):  # turns and requests go on meanwhile
                    return
        except GanglionError as error:
            log.warning("what waits is not known", error=error.message)
            return
        if not due and noted == self._memory.waits:
            return
        for wait in due:
            for wanted in wait.due:
                made = addressed(self._memory.seq, wait.id, WAITING, wait.facts, wanted)
                self._memory.pending += made
        self._memory.waits = noted
        self._bound()
        self._keep()

    def _settings(self) -> NotifySettings:
        try:
            return self._watched.read()
        except GanglionError:  # reported with every notice that cannot be sent for it
            return NotifySettings()

    def _notices(self, entry: Entry, usual: Notify | None) -> Iterator[Notice]:
        event = _HEARD.decode(entry.body)
        if isinstance(event, GlassBroken):
            if usual:
                yield from addressed(entry.seq, "", GLASS, facts_of_glass(event), usual)
            return
        if isinstance(event, _OF_REQUESTS):
            if usual:
                yield from addressed(entry.seq, "", BUDGET, facts_of_request(event), usual)
            return
        if isinstance(event, AlarmSet):
            if event.alarm.startswith(ALARMS) and event.message:
                yield from self._of_budget(entry.seq, event, usual)
            return
        workload = event.gang.rpartition("/")[0]
        known = workload in self._wanted
        chosen = usual is not None or self.choices.any()
        if known and not chosen and self._wanted[workload] is None:
            return
        filed = self._ledger.history.by_id(workload)
        if filed is None:
            return
        wishes = self._wishes(filed.workload.notify, filed.workload.user, usual)
        self._remember(workload, filed.workload.notify)
        for kind in self._kinds(event, filed) if wishes else ():
            facts = facts_of_end(kind, event, filed)
            for wanted in wishes:
                yield from addressed(entry.seq, filed.id, kind, facts, wanted)

    def _wishes(self, own: Notify | None, user: str, usual: Notify | None) -> tuple[Notify, ...]:
        """What is sent for a workload: as its file says, else its user, else `notify.yaml`."""
        if own:
            return (own,)
        return self.choices.of(user) or ((usual,) if usual else ())

    def _of_budget(self, seq: int, event: AlarmSet, usual: Notify | None) -> Iterator[Notice]:
        """That a budget is nearly or wholly spent, or what that means for one workload."""
        facts = {"QUEUE": event.subject.removeprefix(QUEUES), "MESSAGE": event.message}
        workload = ""
        wishes: tuple[Notify, ...] = (usual,) if usual else ()
        if not event.subject.startswith(QUEUES):
            filed = self._ledger.history.by_id(event.subject)
            if filed is None:
                return
            workload, its = filed.id, filed.workload
            wishes = self._wishes(its.notify, its.user, usual)
            facts |= {"JOB_ID": filed.id, "NAME": filed.name, "QUEUE": filed.workload.queue}
            facts["USER"] = filed.workload.user
        for wanted in wishes:
            yield from addressed(seq, workload, BUDGET, facts, wanted)

    def _remember(self, workload: str, wanted: Notify | None) -> None:
        if len(self._wanted) >= REMEMBERED:
            self._wanted.clear()
        self._wanted[workload] = wanted

    def _kinds(self, event: GangStarted | GangEnded, filed: Filed) -> Iterator[str]:
        """What an event means for its workload."""
        started = self._memory.started
        if isinstance(event, GangStarted):
            if filed.id not in started:
                started[filed.id] = None
                yield "start"
            return
        if event.outcome is Outcome.PREEMPTED:
            yield "preemption"
        over = self._memory.over
        # Several gangs of a workload may end in the millisecond of its end.
        if event.at == filed.ended and not event.requeue and filed.id not in over:
            started.pop(filed.id, None)
            over[filed.id] = None
            if len(over) > MOST:
                del over[next(iter(over))]
            yield "end"
            if filed.state in (State.FAILED, State.TIMED_OUT):
                yield "failure"

    def _bound(self) -> None:
        while len(self._memory.pending) > MOST:
            dropped = self._memory.pending.pop(0)
            self._fail(dropped, f"dropped, as more than {MOST:,} notices wait")

    def _deliver(self) -> float | None:
        """Send what is due; returns the seconds until something is due again, None = never.

        Notices of one workload reach a recipient in the order of what happened: one that fails
        holds back those behind it. A recipient that fails is tried once in a pass, so that its
        silence does not hold back all others.
        """
        waiting: set[tuple[str, str, str]] = set()
        failing: set[tuple[str, str]] = set()
        for notice in list(self._memory.pending):
            if self._ending.is_set():
                return 0
            recipient = (notice.channel, notice.to)
            if notice.lane in waiting:
                continue
            if recipient in failing or notice.due > self._clock():
                waiting.add(notice.lane)
                continue
            self._try(notice)
            if notice in self._memory.pending:
                waiting.add(notice.lane)
                failing.add(recipient)
            self._keep()
        heads = {notice.lane: notice.due for notice in reversed(self._memory.pending)}
        return max(min(heads.values()) - self._clock(), 0) / 1000 if heads else None

    def _try(self, notice: Notice) -> None:
        try:
            send(notice, self._watched.read(), self._reach)
        except (GanglionError, OSError, ValueError) as error:
            said = error.message if isinstance(error, GanglionError) else str(error)
            log.warning(
                "not notified", workload=notice.workload, channel=notice.channel, error=said
            )
            self._again(notice, said)
            return
        self._memory.pending.remove(notice)
        self._recover(notice)

    def _again(self, notice: Notice, said: str) -> None:
        now = self._clock()
        notice.first = notice.first or now
        notice.due = now + min(FIRST_MS << min(notice.tries, 20), LONGEST_MS)
        notice.tries += 1
        if now - notice.first > GIVE_UP_MS:
            self._memory.pending.remove(notice)
            said = f"given up after {notice.tries} tries: {said}"
        self._fail(notice, said)

    def _fail(self, notice: Notice, said: str) -> None:
        failed = self._memory.failed
        failed[notice.workload] = {**failed.pop(notice.workload, {}), notice.recipient: said}
        while len(failed) > MOST:
            del failed[next(iter(failed))]

    def _recover(self, notice: Notice) -> None:
        left = dict(self._memory.failed.get(notice.workload, {}))
        if left.pop(notice.recipient, None) is not None:
            self._memory.failed[notice.workload] = left
            if not left:
                del self._memory.failed[notice.workload]

    # --- the file ---------------------------------------------------------------------------

    def _recalled(self) -> NoticeMemory:
        """What an earlier server kept; without one, nothing of the past is notified."""
        try:
            found = msgspec.json.decode(self._files.read(self._home / FILE), type=NoticeMemory)
        except (OSError, msgspec.DecodeError):
            return NoticeMemory(self._ledger.head)
        if found.seq > self._ledger.head:  # the ledger is another one
            return NoticeMemory(self._ledger.head)
        return found

    def _keep(self) -> None:
        """Write the memory; after a failure a notice may be sent twice, none is lost."""
        content = msgspec.json.encode(self._memory)
        with contextlib.suppress(OSError):
            replace_whole(self._files, self._home / FILE, content, self._pid)
