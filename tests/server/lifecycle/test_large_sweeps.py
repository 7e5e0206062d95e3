"""Ten thousand trials cost other workloads nothing: what counts is work done, not time taken."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ganglion.server.commands import live
from ganglion.server.controllers.sweeps import SweepsController
from ganglion.server.views.cluster import positions
from ganglion.server.views.workloads import view
from tests.server.conftest import Rig

FEW, MANY = 300, 6_000
"""More trials than a start band plays through, and twenty times as many."""


def work(what: Callable[[], Any]) -> int:
    """Calls of functions, in Python and in C, and lines of loops."""
    done = 0

    def count(_frame: object, _event: str, _arg: object) -> Callable[..., Any]:
        nonlocal done
        done += 1
        return count

    def count_c(_frame: object, event: str, _arg: object) -> None:
        nonlocal done
        done += event == "c_call"

    sys.settrace(count)
    sys.setprofile(count_c)
    try:
        what()
    finally:
        sys.settrace(None)
        sys.setprofile(None)
    return done


@pytest.fixture(params=["equal", "elastic"])
def swept(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[int], Rig]:
    """Servers on which a sweep of this number of trials waits and runs."""
    rigs: list[Rig] = []

    def made(trials: int) -> Rig:
        rig = Rig(tmp_path / str(trials), lambda: [SweepsController()])
        rigs.append(rig)
        more: dict[str, Any] = {"parallel": "4..40"} if request.param == "elastic" else {}
        rig.submit("s", kind="sweep", params={"x": list(range(trials))}, **more)
        rig.submit("other", nodes=2, resources={"gpus": 1}, priority=1)
        rig.turn(6)
        return rig

    def close() -> None:
        for rig in rigs:
            rig.ledger.close()

    request.addfinalizer(close)
    return made


def turn_after_an_end(rig: Rig) -> int:
    trial = min(gang for gang, _ in rig.machine.live if gang.startswith("s-"))
    rig.machine.end(trial)
    return work(rig.turn)


def turn_with_a_submission(rig: Rig) -> int:
    return work(lambda: rig.submit("more", resources={"gpus": 0, "cpus": 1}))


@pytest.mark.parametrize("turn", [turn_after_an_end, turn_with_a_submission])
def test_a_turn_does_no_more_with_many_trials_than_with_few(
    swept: Callable[[int], Rig], turn: Callable[[Rig], int]
) -> None:
    few, many = (turn(swept(trials)) for trials in (FEW, MANY))
    assert many <= few * 1.5


def test_a_line_about_a_sweep_looks_at_each_trial_a_few_times(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home")
    job = rig.submit("s", kind="sweep", params={"x": list(range(MANY))})
    with rig.service.read() as mind:
        places = positions(mind.state)
        done = work(lambda: view(mind, job, places))
    rig.ledger.close()
    assert done < 60 * MANY


def test_taking_in_a_trial_costs_the_same_however_many_there_are(tmp_path: Path) -> None:
    def cost(trials: int) -> float:
        rig = Rig(tmp_path / str(trials))
        found = work(lambda: rig.submit("s", kind="sweep", params={"x": list(range(trials))}))
        rig.ledger.close()
        return found / trials

    assert cost(MANY) <= cost(MANY // 4) * 1.1


def test_a_sweep_is_cancelled_in_one_turn_and_one_transaction(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home", lambda: [SweepsController()])
    job = rig.submit("s", kind="sweep", params={"x": list(range(MANY))}, parallel="2..8")
    rig.turn(2)
    before = rig.ledger.cycle
    rig.do(lambda draft: live.cancel(draft, job, "ada"))
    assert rig.ledger.cycle == before + 1
    rig.turn()
    assert rig.state(job) == "CANCELLED"
    rig.ledger.close()


def test_the_ledger_keeps_few_bytes_for_each_trial(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home")
    before = rig.ledger.head
    rig.submit("s", kind="sweep", params={"x": list(range(MANY))})
    bodies = [len(each.body) for each in rig.ledger.events(before, MANY)]
    rig.ledger.close()
    assert sum(bodies) / len(bodies) < 500
