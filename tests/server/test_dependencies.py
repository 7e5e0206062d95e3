"""Workloads that wait for others, as users submit them."""

import pytest

from ganglion.model.errors import Conflict, FieldError
from ganglion.model.events import Outcome
from ganglion.server.commands import live
from tests.server.conftest import Rig


def test_any_end_starts_what_waits_for_one(rig: Rig) -> None:
    rig.submit("a")
    after = rig.submit("clean-up", after=["any:a"])
    rig.turn()
    assert rig.state(after) == "QUEUED"
    rig.machine.end("a-1/0", Outcome.FAILED, 3)
    rig.turn(2)
    assert rig.state(after) == "RUNNING"


def test_what_ended_badly_may_be_waited_for_though_not_depended_on(rig: Rig) -> None:
    rig.submit("a")
    rig.turn()
    rig.machine.end("a-1/0", Outcome.FAILED, 3)
    rig.turn()
    with pytest.raises(Conflict, match="ended as FAILED"):
        rig.submit("b", after=["a"])
    job = rig.submit("c", after=["any:a"])
    rig.turn()
    assert rig.state(job) == "RUNNING"


def test_nobody_can_wait_for_what_was_never_there(rig: Rig) -> None:
    with pytest.raises(FieldError, match="there is no workload 'nobody' to wait for"):
        rig.submit("a", after=["any:nobody"])


def test_singletons_of_one_name_run_one_after_the_other(rig: Rig) -> None:
    jobs = [rig.submit("nightly", singleton=True) for _ in range(3)]
    rig.turn()
    assert jobs == ["nightly-1", "nightly-2", "nightly-3"]
    assert [rig.state(job) for job in jobs] == ["RUNNING", "QUEUED", "QUEUED"]
    rig.do(lambda draft: live.cancel(draft, "nightly-2", "ada"))
    rig.crash()
    rig.turn()
    assert [rig.state(job) for job in jobs] == ["RUNNING", "CANCELLED", "QUEUED"]
    rig.machine.end("nightly-1/0", Outcome.FAILED, 1)
    rig.turn(2)
    assert [rig.state(job) for job in jobs] == ["FAILED", "CANCELLED", "RUNNING"]


def test_a_name_means_the_newest_that_lives(rig: Rig) -> None:
    for _ in range(2):
        rig.submit("nightly", singleton=True)
    rig.turn()
    with rig.service.read() as mind:
        found = mind.book.named("nightly")
        assert found is not None and found.id == "nightly-2"
    rig.do(lambda draft: live.cancel(draft, "nightly-2", "ada"))
    with rig.service.read() as mind:
        found = mind.book.named("nightly")
        assert found is not None and found.id == "nightly-1"


def test_a_name_is_taken_for_everybody_else(rig: Rig) -> None:
    rig.submit("nightly", singleton=True)
    with pytest.raises(Conflict, match="a workload named nightly is live: nightly-1"):
        rig.submit("nightly")
