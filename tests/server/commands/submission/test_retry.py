"""What failed is submitted once more, and nothing else."""

from typing import Any

import pytest

from ganglion.lifecycle.expand import params_of
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.events import Outcome
from ganglion.server.commands import live
from ganglion.server.commands.submission.retry import RETRY_OF, retry
from tests.server.conftest import Rig


def again(rig: Rig, ref: str, key: str = "") -> str:
    found = str(rig.do(lambda draft: retry(draft, ref, "ada", key)).id)
    rig.turn()
    return found


def params(rig: Rig, workload: str) -> tuple[dict[str, str], ...]:
    with rig.service.read() as mind:
        return mind.book.entries[workload].workload.trials


def failing(rig: Rig, *failed: int, **more: Any) -> str:
    """A sweep of four trials of which some fail and the others succeed."""
    job = rig.submit("s", kind="sweep", params={"x": [1, 2], "y": ["a", "b"]}, **more)
    rig.turn()
    for trial in range(4):
        fails = trial in failed
        rig.machine.end(f"{job}/{trial}", *((Outcome.FAILED, 1) if fails else ()))
    rig.turn()
    return job


def test_of_a_sweep_that_has_ended_the_failed_trials_run_again(rig: Rig) -> None:
    failing(rig, 1, 2)
    assert rig.state("s-1") == "FAILED"
    assert again(rig, "s") == "s-2"
    assert params(rig, "s-2") == ({"x": "1", "y": "b"}, {"x": "2", "y": "a"})
    for trial in range(2):
        rig.machine.end(f"s-2/{trial}")
    rig.turn()
    assert rig.state("s-2") == "SUCCEEDED"


def test_what_still_runs_goes_on_beside_it(rig: Rig) -> None:
    job = rig.submit("s", kind="sweep", params={"x": [1, 2, 3]})
    rig.turn()
    rig.machine.end(f"{job}/1", Outcome.FAILED, 1)
    rig.turn()
    second = again(rig, job)
    assert (second, rig.state(job), rig.state(second)) == ("s-retry-1-2", "RUNNING", "RUNNING")
    assert params(rig, second) == ({"x": "2"},)


def test_what_is_retried_already_is_not_retried_twice(rig: Rig) -> None:
    failing(rig, 0)
    again(rig, "s-1")
    with pytest.raises(Conflict, match="s-1 is being retried already, as s-2"):
        again(rig, "s-1")
    rig.machine.end("s-2/0", Outcome.FAILED, 1)
    rig.turn()
    assert again(rig, "s-1") == "s-3"


def test_a_request_that_is_repeated_retries_once(rig: Rig) -> None:
    failing(rig, 0)
    assert again(rig, "s-1", "key") == again(rig, "s-1", "key") == "s-2"


def test_a_retry_that_fails_in_part_is_retried_in_that_part(rig: Rig) -> None:
    failing(rig, 1, 2)
    again(rig, "s")
    rig.machine.end("s-2/0")
    rig.machine.end("s-2/1", Outcome.FAILED, 1)
    rig.turn()
    again(rig, "s")
    assert params(rig, "s-3") == ({"x": "2", "y": "a"},)


def test_a_search_retries_the_trials_that_it_drew(rig: Rig) -> None:
    job = rig.submit(
        "s", kind="sweep", params={"x": list(range(50))}, search={"trials": 3, "seed": 5}
    )
    rig.turn()
    drawn = rig.machine.workloads[job]
    for trial in range(3):
        rig.machine.end(f"{job}/{trial}", *((Outcome.FAILED, 1) if trial == 2 else ()))
    rig.turn()
    assert params(rig, again(rig, "s")) == (params_of(drawn, 2),)


def test_where_nothing_failed_there_is_nothing_to_retry(rig: Rig) -> None:
    failing(rig)
    with pytest.raises(Conflict, match="nothing of s-1 has failed"):
        again(rig, "s-1")
    job = rig.submit("c", kind="sweep", params={"x": [1, 2]})
    rig.do(lambda draft: live.cancel(draft, job, "ada"))
    rig.turn(2)
    with pytest.raises(Conflict, match="nothing of"):
        again(rig, job)
    with pytest.raises(NotFound):
        again(rig, "nobody")


def test_anything_else_is_run_again_as_a_whole_without_waiting_for_what_it_waited_for(
    rig: Rig,
) -> None:
    rig.submit("before")
    rig.submit("train", after=["any:before"], labels={"team": "x"})
    rig.turn()
    rig.machine.end("before-1/0", Outcome.FAILED, 1)
    rig.turn(2)
    rig.machine.end("train-2/0", Outcome.TIMED_OUT, 1)
    rig.turn()
    second = again(rig, "train")
    assert rig.state(second) == "RUNNING"
    with rig.service.read() as mind:
        labels = mind.book.entries[second].workload.labels
    assert labels == {"team": "x", RETRY_OF: "train-2"}
