"""When gangs that wait are expected to start: as explanations say it, and kept for a moment."""

import pytest

from ganglion.api.reasons import Band, StartView
from ganglion.engine.explain.explain import explain
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.server.requests.starts import KEPT_MS, KnownStarts
from tests.engine.build import end, gang, node, state_of, submit

HOUR = 3_600_000


@pytest.fixture
def state() -> ClusterState:
    """One node, which `a` fills; `b` and `c` wait behind it, and `held` until it is released."""
    state = state_of(node("n0"))
    gangs = [gang(name, gpus=8, expected_ms=HOUR, submitted=1) for name in "abc"]
    submit(state, *gangs, gang("held", gpus=8, expected_ms=HOUR, submitted=1, held=True))
    return state


def asked(known: KnownStarts, state: ClusterState, now: int) -> dict[str, StartView]:
    records = state.gangs.records.values()
    return {each.gang: each for each in known.of(state, records, now)}


def test_it_is_what_an_explanation_says_and_nothing_of_what_runs(state: ClusterState) -> None:
    found = asked(KnownStarts(), state, 5)
    assert {gang: each.start for gang, each in found.items()} == {
        gang: explain(state, gang, 5).start for gang in ("b/0", "c/0", "held/0")
    }
    assert found["held/0"].start is None
    assert isinstance(found["b/0"].start, Band)
    assert found["c/0"].start != found["b/0"].start


def test_what_is_unknown_names_what_makes_it_so() -> None:
    state = state_of(node("n0"))
    submit(state, gang("endless", gpus=8))
    submit(state, gang("b", gpus=8, expected_ms=HOUR), now=2)
    found = asked(KnownStarts(), state, 5)
    assert (found["b/0"].start, found["b/0"].guesses) == (None, ("endless/0",))


def test_an_answer_holds_for_a_moment_and_says_of_when_it_is(state: ClusterState) -> None:
    known = KnownStarts()
    first = asked(known, state, 5)
    again = asked(known, state, KEPT_MS - 1)
    assert again == first
    assert again["b/0"].at == 5
    later = asked(known, state, 5 + KEPT_MS)
    assert later["b/0"].at == 5 + KEPT_MS
    assert later["b/0"].start == explain(state, "b/0", 5 + KEPT_MS).start
    end(state, "a", now=6 + KEPT_MS)
    assert set(asked(known, state, 7 + KEPT_MS)) == {"c/0", "held/0"}
