"""Programs that hang are killed with what they started, and hold up only what waits for them."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ganglion.seams import processes
from ganglion.seams.processes import SYSTEM_PROCESSES as PROCESSES
from ganglion.seams.processes import Finished
from ganglion.worlds.local.machine import host

SOON_S = 0.2
"""Longer than a shell takes to write a line."""
PATIENCE_S = 20.0
SLEEP = "sleep 600"


def waiting(argv: list[str], timeout_s: float = PATIENCE_S) -> Finished:
    return PROCESSES.run(argv, b"", {}, timeout_s)


def beside(argv: list[str], timeout_s: float = PATIENCE_S) -> Finished:
    return asyncio.run(asyncio.wait_for(PROCESSES.finish(argv, {}, timeout_s), PATIENCE_S))


BOTH = pytest.mark.parametrize("run", [waiting, beside])
Run = Callable[..., Finished]


def dies(path: Path) -> bool:
    """Whether the process whose id a file holds ends before long."""
    give_up = time.monotonic() + PATIENCE_S
    while host.task(int(path.read_text())) and time.monotonic() < give_up:
        time.sleep(0.01)
    return host.task(int(path.read_text())) is None


@contextlib.contextmanager
def ending(path: Path) -> Iterator[None]:
    """Kill the process whose id a file holds, at the end of a test."""
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            PROCESSES.signal(int(path.read_text()), signal.SIGKILL)


@BOTH
def test_what_a_program_writes_is_kept_apart_from_its_errors(run: Run) -> None:
    done = run(["/bin/sh", "-c", "echo out; echo wrong >&2; exit 3"])
    assert done == Finished(3, b"out\n", b"wrong\n")
    assert done.said == b"out\nwrong\n"
    assert run(["/bin/sh", "-c", "kill -9 $$"]).code == -signal.SIGKILL


@BOTH
def test_a_program_that_is_not_there_is_no_process(run: Run) -> None:
    with pytest.raises(FileNotFoundError):
        run(["/nowhere/program"])


@BOTH
def test_a_program_that_hangs_is_killed_with_what_it_started(run: Run, tmp_path: Path) -> None:
    child = tmp_path / "child"
    with pytest.raises(TimeoutError, match=r"^/bin/sh took longer than 0\.2 s$"):
        run(["/bin/sh", "-c", f"{SLEEP} & echo $! > {child}; wait"], SOON_S)
    assert dies(child)


@BOTH
def test_pipes_that_a_process_of_another_group_has_open_are_not_waited_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child"
    monkeypatch.setattr(processes, "REAP_S", 600.0)
    command = f"setsid sh -c 'echo $$ > {child}; exec {SLEEP}' & {SLEEP}"
    with ending(child), pytest.raises(TimeoutError, match="took longer than"):
        run(["/bin/sh", "-c", command], SOON_S)


def test_a_program_that_hangs_holds_up_no_other_task(tmp_path: Path) -> None:
    child = tmp_path / "child"

    async def story() -> list[Finished]:
        hung = asyncio.create_task(
            PROCESSES.finish(["/bin/sh", "-c", f"echo $$ > {child}; exec {SLEEP}"], {}, 600)
        )
        found = [await PROCESSES.finish(["/bin/echo", "x"], {}, PATIENCE_S) for _ in range(3)]
        while not (child.exists() and child.read_text()):
            await asyncio.sleep(0.01)
        assert not hung.done()
        hung.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hung
        return found

    assert asyncio.run(story()) == [Finished(0, b"x\n")] * 3
    assert dies(child)
