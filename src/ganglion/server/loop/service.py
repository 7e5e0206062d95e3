"""The service: one thread that owns the state and takes turn after turn.

A turn gathers facts and requests, lets the engine decide, writes all of it in one
transaction, and only then gives the world its orders. Interrupted work is found in the ledger
and done again; worlds do nothing the second time.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import structlog
from msgspec.structs import replace

from ganglion.engine.gangs.record import SETTLED
from ganglion.ledger.chain import Progress, silent
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Entry, Submitted
from ganglion.model.errors import EnvironmentFault, GanglionError, Superseded
from ganglion.model.events import Event
from ganglion.model.plan import Phase, Plan, Resize, Start
from ganglion.model.policy import Policy
from ganglion.model.workload import Gang, Kind, Workload
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.controllers.controller import Controller, Controllers
from ganglion.server.loop.asked import AskedCommand, Inbox, awaited, in_time, run, traced
from ganglion.server.loop.timekeeping import Timekeeper, newest_time
from ganglion.server.loop.turn import Turn
from ganglion.server.recovery.recover import expected, restored
from ganglion.server.recovery.written import Written
from ganglion.server.state.transaction import Mind, Order, Transaction
from ganglion.server.telemetry.metrics import Metrics
from ganglion.worlds.local.run_files.secret_store import SecretStore
from ganglion.worlds.world import ServedWorld

T = TypeVar("T")

POLL_S = 0.1
"""How often the world is asked for news while no request comes."""
LOOK_S = 0.02
"""How often it is asked at most while one request follows the other: to look takes some time."""
BUDGET_S = 0.2
"""How long starts may take before facts and requests are read again."""
LONGEST_PAUSE_S = 8.0
"""Most time between two tries while the disk, the database or the world refuses."""

CONFIRM_S = 2.0
"""How often a server that has nothing to write asks whether another home took over."""

LISTENING = (Kind.SERVICE, Kind.WORKSPACE)
"""Kinds that are reached over the network."""

log = structlog.get_logger(__name__)


class Service:
    """Owns the state; everything goes through `ask` and `read`.

    Args:
        ledger: the event store.
        world: carries plans out; called from one thread only.
        policy: how the engine decides as long as the ledger holds no policy.
        published: called with the new events of a turn once they are written.
        metrics: counts what happens.
        keepers: reconcile services, workspaces and others, in this order.
        secrets: values that the ledger must not hold.
        isolate: whether a gang or report that the engine fails over is set apart, so that all
            else is decided; else its failure fails the turn, as tests want it.
        progress: called with how far a long replay is.
        clock: says how long something takes; dates are of the world.

    Attributes:
        trouble: why turns fail at present; empty = they do not.
        failing: the part that fails: `turns`, `ledger` or `world`.
        successor: that another home executes the ledger now, so that no turn is taken any more.
        superseded: called on the service's thread when that is so.

    Raises:
        EnvironmentFault: the ledger cannot be replayed.
    """

    def __init__(
        self,
        ledger: Ledger,
        world: ServedWorld,
        policy: Policy,
        published: Callable[[list[Entry]], None],
        metrics: Metrics,
        keepers: Sequence[Controller] = (),
        *,
        secrets: SecretStore,
        isolate: bool = False,
        progress: Progress = silent,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self.ledger, self._world, self._policy = ledger, world, policy
        self.secrets = secrets
        self._published, self._metrics, self._isolate = published, metrics, isolate
        self._asked = Inbox()
        self._facts: list[Event] = []
        self._orders: deque[Order] = deque()
        self._starts: deque[Start] = deque()
        self._resizes: deque[Resize] = deque()
        self._lock = threading.RLock()
        self._keepers = Controllers(keepers)
        self._mind = restored(ledger, policy, self._keepers, progress)
        rebuilt = self._mind.book.rebuilt
        ledger.mend([Submitted(e.id, e.number, e.at, e.document, e.workload) for e in rebuilt])
        self._copy = Written(ledger, self._keepers)
        self._copy.begin(self._mind)
        self._stale, self._fresh, self._stopping = False, True, False
        self._went_back, self._refused = False, 0
        self._endpoints: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name="service")
        self.trouble, self.failing = "", "turns"
        self._part, self._turned, self._looked = "turns", self._clock.monotonic(), -LOOK_S
        self._confirmed = self._clock.monotonic()
        self._times = Timekeeper(world, newest_time(ledger))
        self.successor: Superseded | None = None
        self.superseded: Callable[[], None] = lambda: None

    # --- for other threads ------------------------------------------------------------------

    def ask(self, command: Callable[[Transaction], T], timeout_s: float = 30.0) -> T:
        """Run a command in the next turn; returns once its effect is written.

        Args:
            command: checks, raises what is wrong, then changes the draft. May run twice.
            timeout_s: how long to wait for the turn.

        Raises:
            GanglionError: the command was refused, or the turn could not be written.
        """
        with in_time(timeout_s):
            answer: T = self._put(command).result(timeout_s)
            return answer

    async def answer(self, command: Callable[[Transaction], T], timeout_s: float = 30.0) -> T:
        """Run a command as `ask` does, without a thread that waits for it."""
        with in_time(timeout_s):
            answer: T = await awaited(self._put(command), timeout_s)
            return answer

    def _put(self, command: Callable[[Transaction], Any]) -> Future[Any]:
        asked = AskedCommand(command)
        self._asked.put(asked)
        if self._stopping:
            self._refuse_all()
        return asked.answer

    @contextmanager
    def read(self) -> Iterator[Mind]:
        """Look at the state between turns; it must be left as it is.

        Raises:
            EnvironmentFault: the policy was changed, and the ledger cannot be read.
        """
        with self._lock:
            self._refreshed()
            yield self._mind

    def now(self) -> int:
        """The time in ms by the world's clock."""
        return self._world.now()

    def idle_s(self) -> float:
        """Seconds since a turn ended; 0 while no thread takes turns."""
        return self._clock.monotonic() - self._turned if self._thread.is_alive() else 0.0

    @property
    def endpoints(self) -> Mapping[str, str]:
        """Gang id -> where it listens, for gangs that run."""
        return self._endpoints

    def begin(self) -> None:
        """Bring ledger and world together. Call once, before `start` or `turn`.

        Raises:
            EnvironmentFault: the world refuses.
        """
        self._world.reconcile(**expected(self._mind))
        for gang, record in self._mind.state.gangs.records.items():
            if record.started:
                self._orders.append(_set_limit(gang, record.gang.time_limit_ms))
                self._orders.append(self._locate(gang))

    def start(self) -> None:
        """Take turns in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the present turn and take no other; jobs run on."""
        self._stopping = True
        self._asked.put(None)
        if self._thread.is_alive():
            self._thread.join()
        self._refuse_all()
        if not self._stale:
            self._copy.keep(self.now, ending=True)

    # --- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        pause = POLL_S
        while not self._stopping:
            fine = self.turn(self._asked.gather(0 if self._starts and pause == POLL_S else pause))
            pause = POLL_S if fine else min(max(1.0, 2 * pause), LONGEST_PAUSE_S)

    def turn(self, asked: list[AskedCommand] | None = None) -> bool:
        """Take one turn with everything that was asked; False = something refused.

        What was not written is undone: a copy takes the place of the state, and facts are
        kept for the next turn. What the world refuses stays due.
        """
        asked = self._asked.gather(0) if asked is None else asked
        try:
            written = self._written(asked)
            if written:
                self._published(written)
            self._part = "world"
            self._carry_out()
            if not self._stale:  # else the state may name someone who was erased
                self._copy.keep(self.now)
        except Superseded as error:
            self._troubled(error, asked)
            self.successor, self._stopping = error, True
            self.superseded()
        except GanglionError as error:
            self._troubled(error, asked)
        except Exception as error:
            # Only this thread can stop jobs: it must outlive a bug in a command or a plugin.
            log.exception("turn failed")
            self._troubled(GanglionError(f"the server failed: {error}", "see server.log"), asked)
        else:
            self.trouble = ""
        self._turned = self._clock.monotonic()
        return not self.trouble

    def _troubled(self, error: GanglionError, asked: list[AskedCommand]) -> None:
        if error.message != self.trouble:
            log.error("turn failed", error=error.message, hint=error.hint)
        self.trouble, self.failing = error.message, self._part
        for each in asked:
            each.refuse(error)

    def _written(self, asked: list[AskedCommand]) -> list[Entry]:
        """Observe, decide and write; answer what was asked."""
        began, self._part = self._clock.now_ns(), "ledger"
        if self._clock.monotonic() - self._confirmed >= CONFIRM_S:
            self.ledger.confirm()
            self._confirmed = self._clock.monotonic()
        self._part = "world"
        self._observe(hurried=bool(asked))
        with self._lock:
            self._part = "ledger"
            self._refreshed()
            self._brought_back()
            turn = None
            try:
                self._part = "turns"
                turn, answers = self._decided(asked)
                self._part = "ledger"
                written = turn.write()
            except BaseException:
                self._refused = turn.draft.batch.size if turn else 0
                self._mind, self._went_back = self._copy.go_back(), True
                raise
            self._copy.follow(turn.draft.batch, written)
            self._stale, self._fresh = turn.draft.renewed, False
        self._facts.clear()
        if not self._orders and not self._starts and not self._resizes:
            self.trouble = ""  # nothing is due to the world, so what failed was the writing
        self._orders.extend(turn.draft.orders)
        self._starts.extend(turn.starts)
        self._resizes.extend(turn.resizes)
        self._orders.extend(self._locate(gang) for gang in turn.started)
        for gang, attempt in turn.over:
            self._endpoints.pop(gang, None)
            self._orders.append(partial(_tidy, gang=gang, attempt=attempt))
        traced(answers, began, turn.cycled, self.ledger.cycle, self._clock)
        for each, answer in answers:
            each.answer.set_result(answer)
        return written

    def _observe(self, *, hurried: bool) -> None:
        """Read the facts of the world; turns that are `hurried` share a look."""
        now = self._clock.monotonic()
        if not hurried or now - self._looked >= LOOK_S:
            self._facts.extend(self._world.observe())
            self._looked = now

    def _decided(self, asked: list[AskedCommand]) -> tuple[Turn, list[tuple[AskedCommand, Any]]]:
        """Apply facts, commands and what is due, and decide; anew without what broke the state."""
        ledger, note, (now, *clocks) = self.ledger, self._keepers.note, self._times.turn()
        while True:
            draft = Transaction(
                self._mind, ledger, self.secrets, now, note, self._endpoints, *clocks
            )
            turn = Turn(draft, self._metrics, isolate=self._isolate, clock=self._clock)
            turn.hear(self._facts)
            answers = run(draft, asked)
            if answers is not None and turn.tend(self._keepers):
                turn.decide(always=self._fresh)
                return turn, answers
            self._undone()

    def _carry_out(self) -> None:
        """Do what is due: orders all, starts only for a while, so that no caller waits for long.

        Resizes go first: until a world knows of one, what it reports of pods that have left is
        about the one before.
        """
        while self._resizes:
            self._resize(self._resizes[0])
            self._resizes.popleft()
        while self._orders:
            self._orders[0](self._world)
            self._orders.popleft()
        enough = self._clock.monotonic() + BUDGET_S
        while self._starts and self._clock.monotonic() < enough:
            self._start(self._starts[0])
            self._starts.popleft()

    def _start(self, start: Start) -> None:
        """Start an attempt, unless it was stopped before its turn came."""
        record = self._mind.state.gangs.records.get(start.gang.id)
        if record and (record.phase, record.attempt) == (Phase.STARTING, start.attempt):
            # An elastic gang may have been resized since.
            saved = self._mind.book.trails[start.gang.id].saved
            start = replace(start, placement=record.placement, resume=saved)
            self._world.execute(Plan(self._world.now(), [start]), self._workload(start.gang))

    def _resize(self, resize: Resize) -> None:
        """Change an attempt, unless it is over or about to be."""
        record = self._mind.state.gangs.records.get(resize.gang.id)
        if record and record.phase in SETTLED and record.attempt == resize.attempt:
            plan = Plan(self._world.now(), resizes=[resize])
            self._world.execute(plan, self._workload(resize.gang))

    def _workload(self, gang: Gang) -> dict[str, Workload]:
        return {gang.workload: self._mind.book.entries[gang.workload].workload}

    def _locate(self, gang: str) -> Order:
        """Note where a gang listens: only this thread may ask the world."""

        def look(world: ServedWorld) -> None:
            record = self._mind.state.gangs.records.get(gang)
            found = world.endpoint(gang) if record and record.gang.kind in LISTENING else None
            if found:
                self._endpoints[gang] = found

        return look

    def _refreshed(self) -> None:
        """Have other plugins decide from now on: they see the whole past otherwise."""
        if self._stale:
            self.ledger.refresh()
            self._mind = restored(self.ledger, self._policy, self._keepers)
            self._copy.begin(self._mind)
            self._fresh, self._stale = True, False

    def _brought_back(self) -> None:
        """After a turn that was not written, go on once the database accepts writes again."""
        if self._went_back:
            self.ledger.probe(self._refused)
            if self._copy.bring_back(self._mind):
                self._due_again()
            self._fresh, self._went_back = True, False

    def _due_again(self) -> None:
        """Have the world do what is written; it does nothing a second time."""
        due = expected(self._mind)
        self._starts.extend(due["placed"].values())
        self._resizes.extend(due["resized"].values())
        stops = list(due["stopping"].values())
        self._orders.append(lambda world: world.execute(Plan(world.now(), stops=stops), {}))

    def _undone(self) -> None:
        """Forget what this turn did so far."""
        self._mind, self._went_back, self._refused = self._copy.go_back(), True, 0
        self._brought_back()

    def _refuse_all(self) -> None:
        error = EnvironmentFault("the server is shutting down", "start it again: ganglion up")
        for each in self._asked.gather(0):
            each.refuse(error)


def _tidy(world: ServedWorld, gang: str, attempt: int) -> None:
    world.tidy(gang, attempt)


def _set_limit(gang: str, time_limit_ms: int) -> Order:
    return lambda world: world.set_time_limit(gang, time_limit_ms)
