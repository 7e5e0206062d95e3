"""The local world: this machine carries the plan out with real processes."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

import structlog
from msgspec import Struct, structs

from ganglion.lifecycle.expand import run_of as expanded_run
from ganglion.lifecycle.failures.causes import NODE
from ganglion.lifecycle.reports.hearing import Activity
from ganglion.model.behaviour import Idle
from ganglion.model.causes import Cause, sentence
from ganglion.model.errors import EnvironmentFault, GanglionError, InputError, NotFound
from ganglion.model.events import Event, GangEnded, NodeAdded, NodeLost, Outcome, PodsLeft
from ganglion.model.executor import Term
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Plan, Resize, Start, Stop
from ganglion.model.workload import Gang, Run, Workload
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.causes import outcome_of
from ganglion.worlds.local.attempts.helping import SOCKET
from ganglion.worlds.local.attempts.launch import LaunchSetup, ModelPath, no_model, prepare, resized
from ganglion.worlds.local.attempts.tracked import Key, TrackedAttempts, names
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.machine.health import DeviceWatcher
from ganglion.worlds.local.machine.outages import Outages
from ganglion.worlds.local.ranks.env import ADDRESS, inheritable, numbered
from ganglion.worlds.local.ranks.seats import pod_id
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.clock import steady_clock
from ganglion.worlds.local.run_files.retention import Retention
from ganglion.worlds.local.run_files.secret_store import SecretStore
from ganglion.worlds.local.workspaces.onlooker import LocalOnlooker, place_of
from ganglion.worlds.local.workspaces.telling import tell
from ganglion.worlds.onlooker import Onlooker

DOUBT_MS = 5_000
"""How long a failure waits at most for news of the GPUs."""

NO_RECORD = "this machine has no record of the attempt"

log = structlog.get_logger(__name__)


class Reconciled(Struct, frozen=True):
    """What `reconcile` found: gang ids per fate.

    Attributes:
        adopted: attempts that the ledger knows and that have a run directory.
        started: placed attempts that a dead server had not started.
        lost: attempts that the ledger takes for running but that left no trace here.
        killed: processes ran for them, but the ledger knows of no such attempt.
        moved: attempts that use nodes or devices which are described otherwise now.
    """

    adopted: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()


class LocalWorld:
    """This machine as nodes; implements `ganglion.worlds.world.World`.

    Call it from one thread. After construction call `reconcile` once, before the first
    `execute` or `observe`. Jobs outlive the object and its process.

    Args:
        home: Ganglion's home directory; made when absent.
        nodes: the nodes as `discover.machine_nodes` made them. Their devices are, in order, the
            machine's devices in PCI bus order.
        clock: the time in ms, also as that of the wall; a steady one unless given.
        least: newest time that was ever recorded, in ms: no time before it is reported.
        run_of: what gang number i of a workload executes.
        environ: environment that jobs inherit from, without what describes a job.
        umask: of jobs; -1 = that of this process.
        open_files: soft limit of open files of jobs; 0 = that of this process.
        term: the ledger and the generation of it that this home executes; None = unknown.
        inherits: whether another home executed the ledger before and its attempts were ended,
            so that what has no record here is lost, and not to be started.
        helper: socket of the root helper.
        effects: the clocks of `clock`, and what attempts are watched with.
        model_path: as of `LaunchSetup`.

    Raises:
        EnvironmentFault: another server uses this home, or it cannot be written.
    """

    def __init__(
        self,
        home: Path,
        nodes: Sequence[Node],
        *,
        clock: Callable[[], int] | None = None,
        least: int = 0,
        run_of: Callable[[Workload, int], Run] = expanded_run,
        environ: Mapping[str, str] = os.environ,
        umask: int = -1,
        open_files: int = 0,
        term: Term | None = None,
        inherits: bool = False,
        helper: str = SOCKET,
        effects: Effects = SYSTEM,
        model_path: ModelPath = no_model,
    ) -> None:
        self.nodes = tuple(nodes)
        self._lock = _only_one(home)
        # Processes name their run directory: another spelling of it must not hide them.
        self._home, self._inherits = home.resolve(), inherits
        if clock is None:
            steady = steady_clock(self._home, least, effects.clock)
            self._clock, self._wall = steady.__call__, steady.wall
        else:
            self._clock = self._wall = clock
        given = numbered(nodes), inheritable(environ), run_of, SecretStore(self._home), umask
        self._ground = LaunchSetup(self._home, *given, open_files, term, helper, model_path)
        self._attempts = TrackedAttempts(self._home, term.ledger if term else "", effects)
        self._retention = Retention(self._home, lambda: (*self._attempts.live,), effects.clock)
        self._outages = Outages(self._home, self.nodes)
        self._health = DeviceWatcher(self.nodes, self._clock)
        self._doubtful, self._facts = list[tuple[int, GangEnded]](), list[Event]()

    def now(self) -> int:
        """The time in milliseconds."""
        return self._clock()

    def wall(self) -> int:
        """The wall clock in ms, which may jump and go back."""
        return self._wall()

    def execute(self, plan: Plan, workloads: Mapping[str, Workload]) -> None:
        """Carry out starts, resizes and stops; repeating a plan does nothing more."""
        for start in plan.starts:
            self._begin(start, workloads)
        for resize in plan.resizes:
            self._resize(resize, workloads)
        for stop in plan.stops:
            self.stop(stop.gang, stop.attempt, stop.cause)

    def observe(self) -> Sequence[Event]:
        """Facts since the last call, oldest first."""
        facts, self._facts = self._facts, []
        facts += [*self._outage(), *self._judged(self._attempts.look(self.now()))]
        return sorted(facts, key=lambda fact: fact.at)

    def _outage(self) -> list[Event]:
        """Nodes that were taken away, with all that ran there, or came back."""
        gone, back = self._outages.look()
        now, nodes = self.now(), {node.name: node for node in self.nodes}
        for watched in self._attempts.live.values():
            if any(pod["node"] in gone for pod in watched.pods) and not watched.spec.get("replace"):
                names = ", ".join(sorted({pod["node"] for pod in watched.pods} & gone))
                watched.stop(Outcome.NODE_LOST, f"lost {names}", force=True)
        back_again = (NodeAdded(now, nodes[name]) for name in sorted(back))
        return [*(NodeLost(now, name) for name in sorted(gone)), *back_again]

    def _judged(self, facts: Sequence[Event]) -> list[Event]:
        """Facts, with failures held back until the GPUs were looked at since."""
        found = [*facts]
        if self._health.watches:
            failed = [fact for fact in facts if _is_failure(fact)]
            found = [fact for fact in facts if fact not in failed]
            self._doubtful += [(self._health.rounds, fact) for fact in failed]
            if failed:
                self._health.hurry()
        sick = self._health.take()
        late = [e for e in self._doubtful if self._is_known(*e)]
        self._doubtful = [each for each in self._doubtful if each not in late]
        return [*sick, *found, *(structs.replace(fact, at=self.now()) for _, fact in late)]

    def _is_known(self, round_: int, failure: GangEnded) -> bool:
        """Whether a failure need not wait any longer for news of the GPUs."""
        if not self._health.watches or self._health.rounds >= round_ + 2:
            return True
        return self.now() - failure.at > DOUBT_MS

    def stop(self, gang: str, attempt: int, cause: Cause, *, force: bool = False) -> None:
        """Stop an attempt: its signal, its grace (none with `force`), SIGKILL.

        Args:
            gang: gang id.
            attempt: number of the attempt.
            cause: why; also decides the outcome, see `causes.outcome_of`.
            force: send SIGKILL at once.
        """
        if self._attempts.is_over(gang, attempt):
            return
        watched = self._attempts.adopt(gang, attempt)
        if watched:
            watched.stop(outcome_of(cause), sentence(cause), force=force)
        else:
            self._fail(gang, attempt, outcome_of(cause), sentence(cause))

    def set_time_limit(self, gang: str, time_limit_ms: int) -> None:
        """Change the time limit of a gang's live attempt; 0 lifts it. Ignored if none lives.

        Raises:
            EnvironmentFault: the order cannot be written.
        """
        for watched in self._attempts.of(gang):
            try:
                watched.limit(time_limit_ms)
            except OSError as error:
                raise EnvironmentFault(
                    f"cannot change the time limit of {gang}: {error}"
                ) from error

    def endpoint(self, gang: str) -> str | None:
        """`address:port` where a gang's service was asked to listen; None if it does not run."""
        for watched in self._attempts.of(gang):
            return f"{ADDRESS}:{watched.spec['service_port']}"
        return None

    def activity(self, gang: str) -> Activity | None:
        """Whether a gang's programs work, by their own reports; None if it does not run."""
        for watched in self._attempts.of(gang):
            return watched.activity
        return None

    def tell(self, gang: str, message: str) -> None:
        """Warn the user of a workspace; an empty message takes that back."""
        for watched in self._attempts.of(gang):
            try:
                tell(watched.run, watched.spec, message, self.now())
            except OSError as error:
                log.warning("cannot tell", gang=gang, error=str(error))

    def onlooker(self, gang: str, idle: Idle) -> Onlooker | None:
        """What observes whether a workspace is used; None if it does not run."""
        for watched in self._attempts.of(gang):
            seat = place_of(watched.run, watched.spec, self._ground.gpus, idle)
            return LocalOnlooker(seat, watched, self._clock)
        return None

    def reconcile(
        self,
        *,
        placed: Mapping[str, Start],
        running: Mapping[str, int],
        stopping: Mapping[str, Stop],
        resized: Mapping[str, Resize],
        workloads: Mapping[str, Workload],
        nodes: Mapping[str, Node],
    ) -> Reconciled:
        """Bring what the ledger believes and what exists together, after a (re)start.

        Facts that follow (ends that no server saw, starts, nodes) come from the next `observe`.

        Args:
            placed: gang id -> decided start, for gangs in phase STARTING.
            running: gang id -> attempt, for gangs in phase RUNNING.
            stopping: gang id -> decided stop, for gangs in phase STOPPING.
            resized: gang id -> the pods it should have by now, for elastic gangs that start or
                run.
            workloads: workload id -> what was submitted.
            nodes: node name -> node, as the ledger last described them.

        Raises:
            EnvironmentFault: processes of unknown attempts cannot be killed.
        """
        believed = {(gang, start.attempt) for gang, start in placed.items()}
        believed |= set(running.items()) | {(gang, stop.attempt) for gang, stop in stopping.items()}
        killed = self._attempts.kill_unknown(believed, self.now())
        adopt = self._attempts.adopt
        adopted = {key for key in sorted(believed) if adopt(*key, started=key[0] not in placed)}
        due = {(gang, start.attempt): start for gang, start in placed.items()}
        due = {key: start for key, start in due.items() if key not in adopted}
        lost = self._lose(
            (set(running.items()) - adopted) | (set(due) if self._inherits else set())
        )
        started = [] if self._inherits else list(due.values())
        self._health.start()
        moved = self._stop_moved()
        stops, resizes = list(stopping.values()), list(resized.values())
        self.execute(Plan(self.now(), started, stops, resizes), workloads)
        self._describe(nodes)
        self._retention.start()
        found = Reconciled(
            names(adopted), tuple(start.gang.id for start in started), lost, killed, moved
        )
        log.info(
            "reconciled", **{name: len(getattr(found, name)) for name in found.__struct_fields__}
        )
        return found

    def close(self) -> None:
        """Let another server use this home; jobs run on."""
        self._health.stop()
        self._retention.stop()
        self._lock.close()

    def tidy(self, gang: str, attempt: int) -> None:
        """Remove what is not needed of an attempt, as the ledger has its end."""
        self._attempts.tidy(gang, attempt)

    def _begin(self, start: Start, workloads: Mapping[str, Workload]) -> None:
        gang, attempt = start.gang.id, start.attempt
        if self._attempts.is_over(gang, attempt) or self._attempts.adopt(gang, attempt):
            return
        try:
            self._attempts.set_aside(gang, attempt)
            workload, ports = _workload(start.gang, workloads), self._attempts.ports()
            self._attempts.begin(gang, attempt, prepare(self._ground, start, workload, ports))
        except InputError as error:
            self._fail(gang, attempt, Outcome.FAILED, error.message)
        except GanglionError as error:
            self._fail(gang, attempt, Outcome.START_FAILED, error.message, NODE)
        except OSError as error:
            failed = Outcome.START_FAILED, f"cannot prepare the run: {error}", NODE
            self._fail(gang, attempt, *failed)

    def _resize(self, resize: Resize, workloads: Mapping[str, Workload]) -> None:
        gang, attempt = resize.gang.id, resize.attempt
        if self._attempts.is_over(gang, attempt):
            return
        watched = self._attempts.adopt(gang, attempt)
        if watched is None:  # it was never started, so that nothing has to leave
            self._facts.append(PodsLeft(self.now(), gang, attempt))
            return
        if {pod["id"] for pod in watched.pods} == set(map(pod_id, resize.placement.pods)):
            return
        try:
            workload = _workload(resize.gang, workloads)
            watched.resize(resized(self._ground, resize, workload, watched.spec, watched.pods))
        except (GanglionError, OSError) as error:
            log.error("cannot resize", gang=gang, attempt=attempt, error=str(error))
            watched.stop(Outcome.NODE_LOST, f"cannot run on other pods: {error}", force=False)

    def _fail(
        self, gang: str, attempt: int, outcome: Outcome, message: str, cause: str = ""
    ) -> None:
        self._attempts.give_up(gang, attempt)
        ended = GangEnded(self.now(), gang, attempt, outcome, message=message, cause=cause)
        self._facts.append(ended)

    def _lose(self, missing: set[Key]) -> tuple[str, ...]:
        said = "the home that ran it was replaced by this one" if self._inherits else NO_RECORD
        for gang, attempt in sorted(missing):
            self._fail(gang, attempt, Outcome.NODE_LOST, said)
        return names(missing)

    def _stop_moved(self) -> tuple[str, ...]:
        """Stop attempts whose devices the present nodes would promise to others as well."""
        moved = []
        for key, watched in self._attempts.live.items():
            if not all(self._same(pod["node"], pod["devices"]) for pod in watched.pods):
                watched.stop(Outcome.NODE_LOST, "its node is described otherwise now", force=False)
                moved.append(key)
        return names(moved)

    def _same(self, node: str, numbers: list[list[int]]) -> bool:
        gpus = self._ground.gpus.get(node)
        return gpus is not None and all(
            device < len(gpus) and gpus[device].index == index for device, index in numbers
        )

    def _describe(self, known: Mapping[str, Node]) -> None:
        now, present = self.now(), {node.name: node for node in self.nodes}
        for node in self.nodes:
            old = known.get(node.name, node)
            cordon = {"cordoned": old.cordoned, "cordoned_by": old.cordoned_by}
            kept = structs.replace(node, **cordon, holds=old.holds)  # which others find out
            if node.name not in known or kept != old:
                self._facts.append(NodeAdded(now, kept))
        self._facts += [NodeLost(now, name) for name in known if name not in present]


def _is_failure(fact: Event) -> TypeGuard[GangEnded]:
    return isinstance(fact, GangEnded) and fact.outcome is Outcome.FAILED


def _workload(gang: Gang, workloads: Mapping[str, Workload]) -> Workload:
    if gang.workload not in workloads:
        raise NotFound(f"there is no workload {gang.workload}")
    return workloads[gang.workload]


def _only_one(home: Path) -> records.RunLock:
    try:
        host.make_folder(home / "runs")
        lock = records.RunLock(home / "runs" / ".lock")
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {home}: {error.strerror}", "choose another one with GANGLION_HOME"
        ) from error
    # A supervisor that the last server started a moment ago holds it until it has become one.
    if not lock.take(patience_s=0.5):
        lock.close()
        raise EnvironmentFault(f"another server uses {home}", "stop it with: ganglion down")
    return lock
