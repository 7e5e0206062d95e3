"""Ending what a home runs for a ledger, from outside, when another home takes over."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.clock import Clock
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.local.attempts.helping import end_left
from ganglion.worlds.local.attempts.watch import wake
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import fence, paths, records
from ganglion.worlds.local.run_files.leftovers import runs_below

LOOK_S = 0.05
"""How often supervisors are looked at while they end."""
MARGIN_S = 10.0
"""Time beyond the grace of its job that a supervisor has to end, and a killed process to go."""


class EndedAttempt(Struct, frozen=True):
    """What was ended.

    Attributes:
        attempts: how many attempts still ran.
        waited_s: how long that took.
    """

    attempts: int
    waited_s: float


def end_all(home: Path, ledger: str, generation: int, effects: Effects = SYSTEM) -> EndedAttempt:
    """End all that a home runs for generations of a ledger below this one.

    Ranks have the grace of their checkpoint contract; then they are killed. When this returns,
    no process of these attempts lives, and none can begin any more.

    Args:
        home: folder of the other home; may be gone.
        ledger: id of the ledger.
        generation: the first one that may run.
        effects: the clock to wait by, and processes.

    Raises:
        EnvironmentFault: the home cannot be looked into, or a process cannot be killed.
    """
    clock = effects.clock
    began = clock.monotonic()
    try:
        runs = list(_left(home, ledger, generation))
        # Some end by the fence alone, before they are looked at again.
        ran = {run for run, _ in runs if records.is_held(run)}
        if host.exists(home):
            host.make_folder(home / "runs")
            fence.raise_to(home, ledger, generation)
            runs = list(_left(home, ledger, generation))  # none can begin from now on
    except OSError as error:
        raise EnvironmentFault(
            f"cannot look into {home}: {error.strerror}",
            "ask its owner to run: ganglion down --cancel",
        ) from error
    # Processes may outlive their run directory, or the whole home.
    runs += [(run, 0.0) for run in runs_below(home) if not host.exists(run / records.SPEC)]
    ran |= {run for run, grace_s in runs if _await_end(run, grace_s, effects)}
    return EndedAttempt(len(ran), clock.monotonic() - began)


def _left(home: Path, ledger: str, generation: int) -> Iterator[tuple[Path, float]]:
    """Run directories of attempts that have not ended, with the grace of their jobs in s."""
    for key in paths.attempts_on_disk(home):
        run = paths.run_dir(home, *key)
        spec = records.read(run / records.SPEC)
        if spec is None or host.exists(run / records.EXIT):
            continue
        term = spec.get("term") or {"ledger": ledger, "generation": 0}
        if term["ledger"] == ledger and term["generation"] < generation:
            yield run, spec["grace_ms"] / 1000


def _await_end(run: Path, grace_s: float, effects: Effects) -> bool:
    """Wait until a supervisor has ended, then kill what it left; whether anything ran."""
    ran, clock = records.is_held(run), effects.clock
    if ran:
        with contextlib.suppress(OSError):  # the fence stops it too, a little later
            records.write(run / records.STOP, _order())
        wake(run, effects.processes)
    _until(lambda: not records.is_held(run), grace_s + MARGIN_S, clock)
    give_up = clock.monotonic() + MARGIN_S
    spec = records.read(run / records.SPEC) or {}
    while not end_left(run, spec, effects.processes) or records.is_held(run):
        ran = True
        if clock.monotonic() > give_up:
            raise EnvironmentFault(
                f"processes of {run} cannot be killed",
                "they hold resources; end them, then try again",
            )
        clock.sleep(LOOK_S)
    return ran


def _order() -> records.Record:
    message = "another home executes its ledger now"
    return {"outcome": "node_lost", "message": message, "force": False}


def _until(true: Callable[[], bool], patience_s: float, clock: Clock) -> None:
    give_up = clock.monotonic() + patience_s
    while not true() and clock.monotonic() < give_up:
        clock.sleep(LOOK_S)
