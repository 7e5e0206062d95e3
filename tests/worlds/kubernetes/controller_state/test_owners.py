"""An owner of what the controller knows whose invariant does not hold is caught by `validate`."""

from collections.abc import Callable

import pytest

from ganglion.model.errors import InvariantBroken
from ganglion.model.events import GangEnded, Outcome
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.controller_state.failed_starts import Unready
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage


@pytest.fixture
def known() -> ControllerState:
    """A gang that is placed and one that waits."""
    stage = Stage()
    stage.show(
        manifests.node("n0", gpus=8), *manifests.gang("placed", 2), manifests.pod("waits", gpus=9)
    )
    stage.turn()
    return stage.controller.scene


def placed(known: ControllerState) -> Attempt:
    (attempt,) = known.attempts.by_gang.values()
    return attempt


def test_what_a_controller_knows_after_a_turn_is_sound(known: ControllerState) -> None:
    assert len(placed(known).pods) == 2
    assert len(known.attempts.seated) == 2
    assert len(known.gangs.founds) == 2
    known.validate()


def rejected_fact(known: ControllerState) -> None:
    event = GangEnded(1, "unknown/0", 1, Outcome.FAILED)
    assert not known.facts.apply(event)
    assert [each.event for each in known.facts.rejected] == [event]
    known.validate()
    known.facts.taken.append(event)


def apart_without_a_reason(known: ControllerState) -> None:
    known.facts.apart["gang", "odd"] = ""


def reason_too_long(known: ControllerState) -> None:
    known.facts.set_apart("gang", "odd", "x" * 10_000)
    known.validate()
    known.facts.apart["gang", "odd"] = "x" * 10_000


def attempt_of_another(known: ControllerState) -> None:
    known.attempts.by_gang["other"] = placed(known)


def pod_without_a_seat(known: ControllerState) -> None:
    known.attempts.seated.popitem()


def seat_without_a_place(known: ControllerState) -> None:
    known.attempts.seated["no-such-pod"] = placed(known).gang


def seat_of_no_attempt(known: ControllerState) -> None:
    known.attempts.seated["no-such-pod"] = "unknown"


def complaint_about_nothing(known: ControllerState) -> None:
    known.gangs.complaints["unknown"] = "it asks for too much"


def awaited_and_placed(known: ControllerState) -> None:
    known.gangs.awaited[placed(known).gang] = 1


def failed_less_than_once(known: ControllerState) -> None:
    assert known.starts.count("some") == 0
    known.validate()
    known.starts.failures["some"] = 0


def unready_without_a_cause(known: ControllerState) -> None:
    known.starts.unready["some"] = Unready(1, "")


def suspected_twice(known: ControllerState) -> None:
    assert not known.starts.suspect("n0", "east", 1, 10)
    known.validate()
    known.starts.suspects["n0"]["west"] = 2


def blocked_without_an_attempt(known: ControllerState) -> None:
    known.evictions.blocked["unknown"] = 1


BROKEN: dict[Callable[[ControllerState], None], str] = {
    rejected_fact: "counts as a fact",
    apart_without_a_reason: "without a reason to write",
    reason_too_long: "without a reason to write",
    attempt_of_another: "is listed as other",
    pod_without_a_seat: "are not seated",
    seat_without_a_place: "has no place there",
    seat_of_no_attempt: "has no place there",
    complaint_about_nothing: "is not considered, and is not there",
    awaited_and_placed: "waits to be made anew",
    failed_less_than_once: "failed starts",
    unready_without_a_cause: "without a cause",
    suspected_twice: "for 2 namespaces",
    blocked_without_an_attempt: "has no attempt",
}


@pytest.mark.parametrize("harm", BROKEN, ids=lambda each: each.__name__)
def test_a_broken_invariant_is_caught(
    known: ControllerState, harm: Callable[[ControllerState], None]
) -> None:
    harm(known)
    with pytest.raises(InvariantBroken, match=BROKEN[harm]):
        known.validate()


def test_a_node_on_which_gangs_of_two_namespaces_failed_is_to_be_shut(
    known: ControllerState,
) -> None:
    assert not known.starts.suspect("n0", "east", 1, 10)
    assert not known.starts.suspect("n0", "east", 2, 10)
    assert known.starts.suspect("n0", "west", 3, 10)
    assert not known.starts.suspect("n0", "west", 4, 10), "it begins anew"


def test_one_that_failed_long_ago_does_not_count(known: ControllerState) -> None:
    assert not known.starts.suspect("n0", "east", 1, 10)
    assert not known.starts.suspect("n0", "west", 11, 10)
