"""Opening the ledger of a local world: one home executes it, and takes over in order."""

from collections.abc import Callable
from pathlib import Path

import structlog
from msgspec import Struct

from ganglion.ledger.chain import Progress, silent
from ganglion.ledger.executors import depose, newest, refusal
from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import EnvironmentFault, InUse, NotExecutor
from ganglion.model.executor import Executor, Term, is_one_home, may_look, was_restarted
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import Files, make_folder
from ganglion.worlds.local.attempts.succession import end_all
from ganglion.worlds.local.run_files import fence
from ganglion.worlds.local.run_files.identity import identify

HANDOVER_S = 900.0
"""Longest wait for a deposed server, whose jobs have their grace."""
ANSWER_S = 20.0
"""Longest wait for word from another machine whose server holds no lock: it may have lost its
connection, and looks again at least every 8 s."""
LOOK_S = 0.2

log = structlog.get_logger(__name__)


class Held(Struct, frozen=True):
    """A ledger that this home executes.

    Attributes:
        ledger: open.
        term: its term.
        inherits: whether another home executed it before and no turn was written since.
    """

    ledger: Ledger
    term: Term
    inherits: bool


def hold(
    target: str | Path,
    home: Path,
    *,
    take_over: bool,
    say: Callable[[str], None],
    progress: Progress = silent,
    effects: Effects = SYSTEM,
) -> Held:
    """Open a ledger to execute it.

    Args:
        target: path or database URL of the ledger.
        home: Ganglion's home directory.
        take_over: end the term of another home first.
        say: called with what was waited for.
        progress: called with how far a long migration is.
        effects: the clock, files, databases and chance.

    Raises:
        NotExecutor: another home executes it.
        InUse: another server writes to it.
        EnvironmentFault: the processes of the home before cannot be ended, or a disk or a
            database refuses.
    """
    here = identify(home)
    deposed = take_over and depose(target, here, effects.clock.now_ms(), effects)
    ledger = _opened(target, here, HANDOVER_S if deposed else 0.0, progress, effects)
    try:
        term = _claimed(ledger, home, here, effects, take_over=take_over)
        before = [each for each in ledger.executors.terms() if each.generation < term.generation]
        for each in before:
            if each.ended is None:
                say(_cleared(ledger, each, term, effects))
                ledger.executors.ended(each.generation, effects.clock.now_ms())
        ledger.generation = term.generation
    except BaseException:
        ledger.close()
        raise
    return Held(ledger, term, bool(before) and term.begun is None)


def _opened(
    target: str | Path, here: Executor, patience_s: float, progress: Progress, effects: Effects
) -> Ledger:
    clock = effects.clock
    give_up = clock.monotonic() + patience_s
    while True:
        try:
            return Ledger.open(target, progress, effects)
        except InUse:
            if clock.monotonic() >= give_up:
                _check(target, here, effects)
                raise
        clock.sleep(LOOK_S)


def _check(target: str | Path, here: Executor, effects: Effects) -> None:
    """Say whose server it is that has the ledger open, if it is that of another home."""
    term = newest(target, effects)
    if term and not is_one_home(term.executor, here):
        raise refusal(term, here)


def _claimed(
    ledger: Ledger, home: Path, here: Executor, effects: Effects, *, take_over: bool
) -> Term:
    known = ledger.executors.terms()
    now = effects.clock.now_ms()
    least = fence.least(home, known[-1].ledger) if known else 1
    try:
        return ledger.executors.claim(here, now, least=least, take_over=take_over)
    except NotExecutor as refused:
        # What this home still runs for an earlier generation must not go on.
        if refused.holder:
            _close(effects.files, home, refused.holder.ledger, refused.holder.generation)
        raise


def _cleared(ledger: Ledger, before: Term, term: Term, effects: Effects) -> str:
    """Wait until nothing that an earlier term started can run; says what was done."""
    old, here, clock = before.executor, term.executor, effects.clock
    if was_restarted(old, here):
        return f"{old.host} was restarted since {old.path} ran gangs: none is left"
    if may_look(old, here):
        found = end_all(Path(old.path), before.ledger, term.generation, effects)
        return f"ended {found.attempts} attempts of {old}, waited {found.waited_s:.1f} s"
    if not ledger.history.live():
        return f"{old} has nothing to end: all workloads of the ledger have ended"
    give_up = clock.monotonic() + ANSWER_S
    while clock.monotonic() < give_up:
        if _is_ended(ledger, before.generation):
            return f"{old} ended what it ran"
        clock.sleep(LOOK_S)
    return (
        f"{old} did not answer within {ANSWER_S:.0f} s. What it may still run ends once a server"
        " is started there; new attempts begin here"
    )


def _is_ended(ledger: Ledger, generation: int) -> bool:
    return any(t.generation == generation and t.ended for t in ledger.executors.terms())


def resign(held: Held, home: Path, effects: Effects = SYSTEM) -> None:
    """Once another home has taken over: end what this one runs, and report to the other.

    Raises:
        EnvironmentFault: a process cannot be ended, or the database does not answer.
    """
    terms = held.ledger.executors.terms()
    newest = terms[-1]
    if newest.generation == held.term.generation:
        return
    found = end_all(home.resolve(), newest.ledger, newest.generation, effects)
    held.ledger.executors.ended(held.term.generation, effects.clock.now_ms())
    log.info("resigned", to=str(newest.executor), attempts=found.attempts)


def _close(files: Files, home: Path, ledger: str, generation: int) -> None:
    try:
        make_folder(files, home / "runs")
        fence.raise_to(home, ledger, generation)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {fence.path_of(home)}: {error.strerror}", "check space and permissions"
        ) from error
