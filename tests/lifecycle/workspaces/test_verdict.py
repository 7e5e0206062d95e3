"""Idle, busy or unknown; a witness that does not vouch leaves it unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.workspaces.observations import (
    Sight,
    Vouch,
    Witness,
    WitnessMemory,
    doubtful,
)
from ganglion.lifecycle.workspaces.rule import Act, Warned, step
from ganglion.lifecycle.workspaces.verdict import IdleAnswer, judge
from ganglion.model.behaviour import Idle
from ganglion.model.workload import Kind, Workload

MIN = 60_000
NOW = 1_000 * MIN
GAP, STALE = 30_000, MIN
BOTH = (Witness.GPU, Witness.KERNELS)
NOTEBOOK = Workload("nb", Kind.WORKSPACE, idle_timeout_ms=30 * MIN, idle=Idle(warn_ms=5 * MIN))


def watched(*sights: Sight) -> WitnessMemory:
    memory = WitnessMemory()
    for sight in sights:
        memory.see(sight, GAP)
    return memory


def quiet(witness: Witness, since: int = 0, at: int = NOW) -> Sight:
    return Sight(witness, at, since)


def answer(memory: WitnessMemory, window: int = 30 * MIN) -> IdleAnswer:
    return judge(memory, BOTH, NOW, window, STALE).answer


def test_idle_means_that_all_vouch_for_the_whole_time() -> None:
    found = judge(
        watched(quiet(BOTH[0], NOW - 40 * MIN), quiet(BOTH[1])), BOTH, NOW, 30 * MIN, STALE
    )
    assert (found.answer, found.since) == (IdleAnswer.IDLE, NOW - 40 * MIN)
    assert found.message == "idle for 40 min"


@pytest.mark.parametrize(
    "sights",
    [
        (),
        (quiet(Witness.GPU),),
        (quiet(Witness.GPU), doubtful(Witness.KERNELS, NOW, "it does not answer")),
        (quiet(Witness.GPU), quiet(Witness.KERNELS, at=NOW - STALE - 1)),
        (quiet(Witness.GPU), quiet(Witness.KERNELS, NOW - 29 * MIN)),
        (quiet(Witness.GPU), quiet(Witness.KERNELS), doubtful(Witness.PEOPLE, NOW, "who knows")),
    ],
    ids=["nobody", "one is missing", "doubt", "stale", "not for long enough", "not asked for"],
)
def test_whoever_does_not_vouch_leaves_it_unknown(sights: tuple[Sight, ...]) -> None:
    assert answer(watched(*sights)) is IdleAnswer.UNKNOWN


def test_one_who_saw_something_move_outweighs_all_who_did_not_and_all_doubts() -> None:
    moved = Sight(Witness.KERNELS, NOW, 0, NOW - MIN, said="a cell ran")
    found = judge(
        watched(doubtful(Witness.GPU, NOW, "no series"), moved), BOTH, NOW, 30 * MIN, STALE
    )
    assert (found.answer, found.since, found.witness) == (
        IdleAnswer.BUSY,
        NOW - MIN,
        Witness.KERNELS,
    )
    assert found.message == "kernels: a cell ran, 1 min ago"


def test_a_gap_in_the_looks_begins_anew_unless_the_witness_tells_of_the_past() -> None:
    before = [quiet(each, 0, NOW - 10 * MIN) for each in BOTH]
    assert answer(watched(*before, quiet(BOTH[0], NOW - MIN), quiet(BOTH[1]))) is IdleAnswer.UNKNOWN
    assert answer(watched(*before, quiet(BOTH[0], 0), quiet(BOTH[1]))) is IdleAnswer.IDLE
    one_look_failed = [quiet(each, 0, NOW - 2 * MIN) for each in BOTH]
    after = [quiet(each, NOW - 2 * MIN + GAP) for each in BOTH]
    assert answer(watched(*one_look_failed, *after)) is IdleAnswer.IDLE


def test_a_doubt_breaks_what_was_vouched_for() -> None:
    doubt = doubtful(Witness.GPU, NOW - MIN, "shared")
    memory = watched(*(quiet(e, 0, NOW - 2 * MIN) for e in BOTH), doubt)
    memory.see(quiet(Witness.GPU, NOW - MIN), GAP)
    memory.see(quiet(Witness.KERNELS), GAP)
    assert answer(memory) is IdleAnswer.UNKNOWN


def test_what_moved_is_not_forgotten_when_its_witness_is_in_doubt_later() -> None:
    memory = watched(
        Sight(Witness.GPU, NOW - 2 * MIN, 0, NOW - 2 * MIN), doubtful(Witness.GPU, NOW, "gone")
    )
    assert answer(memory) is IdleAnswer.BUSY


def test_old_looks_that_come_late_change_nothing() -> None:
    memory = watched(*(quiet(each) for each in BOTH))
    memory.see(doubtful(Witness.GPU, NOW - MIN, "late"), GAP)
    assert answer(memory) is IdleAnswer.IDLE


def test_a_program_is_believed_when_it_works_and_its_silence_says_nothing() -> None:
    silent = watched(*(quiet(each) for each in BOTH), Sight(Witness.PROGRAM, 0, 0, 1))
    assert answer(silent) is IdleAnswer.IDLE
    assert judge(watched(Sight(Witness.PROGRAM, NOW, NOW)), (), NOW, MIN, STALE).answer is (
        IdleAnswer.UNKNOWN
    )
    silent.see(Sight(Witness.PROGRAM, NOW, NOW, NOW - MIN, said="it reported"), GAP)
    assert answer(silent) is IdleAnswer.BUSY


SIGHTS = st.builds(
    lambda witness, ago, quiet_for, moved_ago, doubt: Sight(
        witness,
        NOW - ago,
        NOW - ago - quiet_for,
        NOW - ago - moved_ago if moved_ago is not None and not doubt else 0,
        doubt,
    ),
    st.sampled_from(list(Witness)),
    st.integers(0, 60 * MIN),
    st.integers(0, 60 * MIN),
    st.none() | st.integers(0, 60 * MIN),
    st.sampled_from(["", "", "cannot tell"]),
)
REQUIRED = st.sets(st.sampled_from([w for w in Witness if w is not Witness.PROGRAM]))
WARNED = st.none() | st.builds(
    lambda ago, left: Warned(NOW - ago, NOW + left),
    st.integers(0, 20 * MIN),
    st.integers(-20 * MIN, 20 * MIN),
)


def known_to_be_quiet(memory: WitnessMemory, required: set[Witness], begin: int) -> bool:
    """What idleness has to rest on, said in another way: vouches that cover all of the time."""
    must = required | {each for each in memory.vouches if each is not Witness.PROGRAM}
    vouches = [memory.vouches.get(each, Vouch(0, 0, doubt="absent")) for each in must]
    return bool(vouches) and all(
        not v.doubt and v.at >= NOW - STALE and v.since <= begin and v.moved <= begin
        for v in vouches
    )


@given(st.lists(SIGHTS, max_size=8), REQUIRED, WARNED)
def test_nothing_is_done_to_anybody_on_grounds_of_what_is_not_known(
    sights: list[Sight], required: set[Witness], warned: Warned | None
) -> None:
    memory = watched(*sorted(sights, key=lambda sight: sight.at))
    found = step(NOTEBOOK, memory, required, warned, NOW)
    window = max(25 * MIN, NOW - warned.at) if warned else 25 * MIN
    if found.act in (Act.WARN, Act.SUSPEND):
        assert found.finding.answer is IdleAnswer.IDLE
        assert known_to_be_quiet(memory, required, NOW - window)
    if found.finding.answer is IdleAnswer.UNKNOWN:
        assert found.act is (Act.TAKE_BACK if warned else Act.NOTHING)
