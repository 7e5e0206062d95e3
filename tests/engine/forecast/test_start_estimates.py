"""Start bands: how they are computed, that they hold, and when they say nothing."""

from collections.abc import Iterable, Sequence
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.forecast.queue_wait import Foreseen, Foresight
from ganglion.engine.forecast.start_estimates import FORETOLD, Band, StartEstimates
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.runtimes.calibration import LEAST_MS, ONE, Ratios
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Outcome, StartExpected
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Plan
from ganglion.model.policy import Future, Policy
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount
from ganglion.model.workload import Gang, Kind
from tests.effort import examples
from tests.engine.build import gang, node

HOUR = 3_600_000


def _fleet(
    nodes: int = 1, queues: Sequence[Queue] = (Queue("team"),), policy: Policy | None = None
) -> ClusterState:
    state = ClusterState(policy)
    cycle(state, [ev.QueueSet(0, queue) for queue in queues], 0)
    cycle(state, [ev.NodeAdded(0, node(f"n{number}")) for number in range(nodes)], 0)
    return state


def _submit(state: ClusterState, gangs: Iterable[Gang], now: int) -> Plan:
    return cycle(state, [ev.GangSubmitted(now, each) for each in gangs], now)


def _told(plan: Plan) -> dict[str, StartExpected]:
    return {each.gang: each for each in plan.decisions if isinstance(each, StartExpected)}


def _band(state: ClusterState, name: str, now: int) -> Band:
    return state.forecast.bands.band(state.gangs.record(f"{name}/0"), now)


def _run_out(state: ClusterState, name: str, now: int) -> Plan:
    attempt = state.gangs.record(f"{name}/0").attempt
    return cycle(state, [ev.GangEnded(now, f"{name}/0", attempt, Outcome.SUCCEEDED)], now)


def test_a_wait_grows_with_the_work_ahead() -> None:
    state = _fleet()
    gangs = [gang(name, gpus=8, expected_ms=HOUR, submitted=1) for name in "abcd"]
    told = _told(_submit(state, gangs, 1))
    assert list(told) == ["b/0", "c/0", "d/0"]
    assert [told[f"{name}/0"].raw_ms for name in "bcd"] == [HOUR, 2 * HOUR, 3 * HOUR]
    assert all(each.p50_ms <= each.p90_ms for each in told.values())


def test_a_large_gang_waits_for_whole_nodes_and_a_small_one_for_a_gpu() -> None:
    """Two nodes with half of their GPUs free have eight free GPUs, and no room for eight."""
    state = _fleet(2)
    first = [gang(f"s{n}", gpus=5, expected_ms=(1 + n) * HOUR, submitted=1) for n in range(2)]
    _submit(state, first, 1)
    told = _told(_submit(state, [gang("large", gpus=6, expected_ms=HOUR, submitted=2)], 2))
    assert told["large/0"].raw_ms == HOUR - 1


def test_a_start_is_foreseen_although_a_node_of_what_runs_is_lost() -> None:
    """The rest of the gang still runs, until its world says how its pods there have ended."""
    state = _fleet(2)
    _submit(state, [gang("wide", pods=2, gpus=8, expected_ms=HOUR, submitted=1)], 1)
    told = _told(
        cycle(
            state,
            [
                ev.NodeLost(2, "n1"),
                ev.GangSubmitted(2, gang("waits", gpus=8, expected_ms=HOUR, submitted=2)),
            ],
            2,
        )
    )
    assert told["waits/0"].raw_ms == HOUR - 1


def test_a_gang_that_moves_gives_back_its_new_place_whatever_becomes_of_the_old_one() -> None:
    """Its old place counts as free from the stop on, and the node may be gone by then."""
    state = _fleet(2)
    _submit(state, [gang("moves", gpus=8, expected_ms=HOUR, submitted=1)], 1)
    (old,) = [pod.node for pod in state.gangs.record("moves/0").placement.pods]
    new = "n1" if old == "n0" else "n0"
    place = Placement((PodPlacement("main", 0, new, tuple(range(8)), 1000),), Level.NODE, new)
    moved = Cause(CauseKind.MOVED, gang="other/0")
    state.apply(ev.GangStopping(2, "moves/0", 1, moved))
    state.apply(ev.GangReserved(2, "moves/0", place))
    cycle(state, [ev.NodeLost(2, old), ev.NodeAdded(2, node("n2", gpus=0))], 2)
    assert old not in state.fleet.tree.index
    waits = gang("waits", gpus=8, expected_ms=HOUR, submitted=3)
    told = _told(_submit(state, [waits], 3))
    assert told["waits/0"].raw_ms == HOUR - 2, "one node is left, and it is promised"


def test_a_gang_deep_in_the_queue_is_told_of_all_the_work_ahead() -> None:
    state = _fleet()
    gangs = [gang(f"g{n}", gpus=8, expected_ms=HOUR, submitted=1) for n in range(4000)]
    _submit(state, gangs, 1)
    last = state.gangs.lanes.of("g7/0")
    assert last
    deep = last.in_order()[-1][-1]
    wait = state.forecast.bands.band(state.gangs.record(deep), 1).raw_ms
    assert 3900 * HOUR < wait < 4100 * HOUR


def test_a_limit_that_blocks_is_waited_for() -> None:
    """Ten GPUs are free; the queue may use no more until its own gang ends."""
    tight = Queue("tight", limit={ANY_FLAVOR: Amount(gpu_milli=4000)})
    state = _fleet(2, (tight,))
    pair = [gang(n, gpus=4, queue="tight", expected_ms=HOUR, submitted=1) for n in "ab"]
    told = _told(_submit(state, pair, 1))
    assert told["b/0"].raw_ms == HOUR


def test_without_limit_or_history_the_start_is_unknown_until_runs_have_ended() -> None:
    state = _fleet()
    told = _told(_submit(state, [gang(name, gpus=8, submitted=1) for name in "ab"], 1))
    assert told["b/0"].unknown
    assert told["b/0"].guesses == ("a/0",)
    answer = explain(state, "b/0", 1)
    assert (answer.start, answer.guesses) == (None, ("a/0",))
    state = _fleet(2)
    for number in range(8):
        now = 1 + number * HOUR
        _submit(state, [gang(f"t{number}", gpus=8, submitted=now)], now)
        _run_out(state, f"t{number}", now + HOUR)
    now = 9 * HOUR
    told = _told(_submit(state, [gang(name, gpus=8, submitted=now) for name in "abc"], now))
    assert not told["c/0"].unknown
    assert explain(state, "c/0", now).start


def test_an_unknown_start_is_told_once_and_again_when_it_is_known() -> None:
    state = _fleet(2)
    names = ("long", "b", *(f"t{n}" for n in range(14)))
    told = _told(_submit(state, [gang(name, gpus=8, submitted=1) for name in names], 1))
    waiting = [name for name in told if told[name].unknown]
    assert len(waiting) == len(names) - 2
    told = _told(cycle(state, [], 2))
    assert not told
    later: dict[str, StartExpected] = {}
    for number in range(9):
        now = (1 + number) * HOUR
        runs = next(r for r in state.holdings.settled() if r.gang.id != "long/0")
        later |= _told(_run_out(state, runs.gang.workload, now))
    assert any(not each.unknown for each in later.values())


def test_what_runs_until_somebody_stops_it_is_not_waited_for() -> None:
    state = _fleet()
    pair = [gang("web", gpus=8, kind=Kind.SERVICE, submitted=1), gang("b", gpus=8, submitted=2)]
    _submit(state, pair[:1], 1)
    told = _told(_submit(state, pair[1:], 2))
    assert told["b/0"].unknown
    assert told["b/0"].guesses == ()


def test_a_reservation_bounds_the_band() -> None:
    state = _fleet(policy=Policy(future=Future(patience_permille=0)))
    gangs = [gang(name, gpus=8, time_limit_ms=HOUR, submitted=1) for name in "ab"]
    told = _told(_submit(state, gangs, 1))
    held = state.timeline.future.reservation("b/0")
    assert held
    assert told["b/0"].p90_ms <= held.start_ms == HOUR + 1
    assert state.forecast.bands.band(state.gangs.record("b/0"), 1, held).p90_ms <= held.start_ms


def test_a_band_whose_p90_has_passed_is_told_anew() -> None:
    state = _fleet()
    pair = [gang(name, gpus=8, expected_ms=HOUR, submitted=1) for name in "ab"]
    first = _told(_submit(state, pair, 1))["b/0"]
    again = _told(cycle(state, [], first.p90_ms + 1))["b/0"]
    assert again.p50_ms > first.p90_ms
    assert (state.forecast.bands.coverage().bands, state.forecast.bands.coverage().held_p90) == (
        1,
        0,
    )


def test_bands_are_scored_at_the_start() -> None:
    state = _fleet()
    pair = [gang(name, gpus=8, expected_ms=HOUR, submitted=1) for name in "ab"]
    told = _told(_submit(state, pair, 1))["b/0"]
    assert state.forecast.bands.told("b/0") == told
    _run_out(state, "a", told.p90_ms)
    coverage = state.forecast.bands.coverage()
    assert (coverage.bands, coverage.held_p50, coverage.held_p90) == (1, 0, 1)


def test_telling_does_not_depend_on_questions() -> None:
    """`why` reads the same forecast; the next plan is the same whether it was asked or not."""
    plans = []
    for asked in (False, True):
        state = _fleet(2)
        dice = Random(7)
        for number in range(60):
            now = number * HOUR // 4
            some = gang(f"g{number}", gpus=dice.choice((1, 2, 4, 8)), submitted=now)
            plan = _submit(state, [some], now)
            waiting = [each[-1] for lane in state.gangs.lanes for each in lane.in_order()]
            if asked and waiting:
                explain(state, waiting[-1], now)
            plans.append((asked, now, _told(plan)))
            runs = state.holdings.settled()
            if number % 2 and runs:
                plans.append((asked, now, _told(_run_out(state, runs[0].gang.workload, now))))
    without = [each[1:] for each in plans if not each[0]]
    assert without == [each[1:] for each in plans if each[0]]
    assert any(each[1] for each in without)


def test_a_cycle_tells_a_bounded_number() -> None:
    state = _fleet()
    gangs = [gang(f"g{n}", gpus=8, expected_ms=HOUR, submitted=1) for n in range(100)]
    assert len(_told(_submit(state, gangs, 1))) == FORETOLD


def test_bands_of_old_ledgers_are_read() -> None:
    old = b'{"type":"start_expected","at":5,"gang":"a/0","p50_ms":6,"p90_ms":7,"raw_ms":8}'
    event = msgspec.json.decode(old, type=StartExpected)
    assert (event.guesses, event.unknown) == ((), False)


@given(st.integers(0, 2**32 - 1), st.sampled_from((0.5, 2.0, 20.0)))
@settings(max_examples=examples(15))
def test_bounds_hold_as_often_as_they_say(seed: int, scale: float) -> None:
    dice, ratios, held, wait = Random(seed), Ratios(), [0, 0], 4 * LEAST_MS
    for number in range(600):
        true = round(wait * scale * dice.lognormvariate(0, 0.7))
        if number >= 100:
            held = [n + (true <= at) for n, at in zip(held, ratios.bounds(wait), strict=True)]
        ratios.learn(wait, true)
    assert abs(held[0] - 250) < 60
    assert abs(held[1] - 450) < 40


def test_waits_that_overlap_teach_once() -> None:
    ratios, wait = Ratios(), 8 * LEAST_MS
    assert [ratios.teaches(wait, at) for at in (0, 1, LEAST_MS - 1, LEAST_MS)] == [
        True, False, False, True,
    ]  # fmt: skip
    ratios.learn(wait, wait * 2, late=True)
    assert ratios.bounds(wait)[1] == wait * 3000 // ONE


def test_bands_are_not_told_by_a_copy_that_only_reads() -> None:
    state = _fleet()
    bands = StartEstimates(state, state.gangs.estimates)
    assert list(bands.tell([], 1, state.timeline.future.reservation)) == []


def test_cycles_that_follow_each_other_closely_share_what_telling_may_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A submit a millisecond is taken without a roll-out for every few of them."""
    state, made = _fleet(), list[int]()
    _submit(state, [gang(f"g{n}", gpus=8, expected_ms=HOUR, submitted=1) for n in range(100)], 1)
    foresee = Foresight.foresee

    def counted(self: Foresight, records: Iterable[GangRecord]) -> dict[str, Foreseen]:
        made.append(self._now)
        return foresee(self, records)

    monkeypatch.setattr(Foresight, "foresee", counted)

    def rollouts(begin: int, apart_ms: int) -> int:
        state.forecast.bands._credit = 0
        made.clear()
        for n in range(100):
            at = begin + n * apart_ms
            _submit(state, [gang(f"s{at}", gpus=8, expected_ms=HOUR, submitted=at)], at)
        return len(made)

    closely, apart = rollouts(2, 1), rollouts(1_000, 50)
    assert 1 <= closely < apart
