"""What is learnt about run times."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.runtimes.estimates import Estimates, EstimateSource, stem, told
from ganglion.engine.runtimes.history import WINDOW, RunTimeHistory
from ganglion.model.workload import Gang
from tests.engine.build import gang

LENGTHS = st.lists(st.integers(1, 10**9), min_size=1, max_size=200)


def _run(estimates: Estimates, ran: int, **fields: object) -> None:
    record = GangRecord(_gang(**fields), (), None, started=1000)
    estimates.learn(record, 1000 + ran)


def _gang(user: str = "ada", name: str = "tune", gpus: int = 8, **fields: object) -> Gang:
    return replace(gang("x", gpus=gpus, user=user, **fields), name=name)


def test_the_users_own_runs_of_that_name_come_first() -> None:
    estimates = Estimates()
    for ran in (10, 20):
        _run(estimates, ran)
        _run(estimates, 1000 * ran, name="other")
    found = estimates.estimate(_gang(name="tune-7"))
    assert (found.source, found.samples, found.mean_ms) == (EstimateSource.USER_NAME, 2, 15)
    assert told(_gang(), found) == "from 2 runs of ada's tune of this size and time limit"


def test_a_newcomer_is_expected_to_do_as_his_queue_does() -> None:
    estimates = Estimates()
    for number in range(10):
        _run(estimates, 100 + number, user=f"u{number}", name="")
        _run(estimates, 9000, user=f"v{number}", name="", queue="others", gpus=1)
    found = estimates.estimate(_gang(user="new"))
    assert (found.source, found.p50_ms, found.p90_ms) == (EstimateSource.QUEUE, 104, 108)


def test_nothing_known_is_half_of_the_time_limit() -> None:
    found = Estimates().estimate(_gang(time_limit_ms=1000))
    assert (found.source, found.p50_ms, found.p90_ms) == (EstimateSource.PRIOR, 500, 1000)


def test_what_a_predictor_says_goes_before_what_is_learnt() -> None:
    estimates = Estimates()
    for _ in range(3):
        _run(estimates, 10)
    assert estimates.estimate(_gang(expected_ms=77)).p50_ms == 77


@given(LENGTHS, st.integers(1, 10**9), st.integers(0, 10**9))
def test_no_estimate_goes_beyond_the_time_limit(runs: list[int], limit: int, ran: int) -> None:
    estimates = Estimates()
    for each in runs:
        _run(estimates, each, time_limit_ms=limit)
    asked = _gang(time_limit_ms=limit)
    whole, left = estimates.estimate(asked), estimates.remaining(asked, min(ran, limit - 1))
    assert max(whole.p50_ms, whole.p90_ms, whole.mean_ms) <= limit
    assert max(left.p50_ms, left.p90_ms, left.mean_ms) <= max(limit - min(ran, limit - 1), 1)


def test_a_gang_that_outran_all_others_is_expected_to_take_as_long_again() -> None:
    estimates = Estimates()
    for ran in (10, 20, 4000, 5000):
        _run(estimates, ran)
    assert estimates.remaining(_gang(), 100).mean_ms == 4400
    assert estimates.remaining(_gang(), 9000).p50_ms == 9000


def test_the_gittins_index_prefers_who_may_be_done_soon() -> None:
    estimates = Estimates()
    for ran in (10, 10, 10, 100_000):
        _run(estimates, ran)
        _run(estimates, 25_000, name="steady")
    assert estimates.gittins(_gang(), 0) < estimates.gittins(_gang(name="steady"), 0)
    assert estimates.gittins(_gang(), 50) > estimates.gittins(_gang(name="steady"), 50)


@given(LENGTHS)
def test_a_history_is_its_latest_runs(runs: list[int]) -> None:
    history = RunTimeHistory()
    for each in runs:
        history.add(each)
    kept = sorted(runs[-WINDOW:])
    assert len(history) == len(kept)
    assert history.mean() == sum(kept) // len(kept)
    assert history.quantile(50) == kept[-(-len(kept) // 2) - 1]
    assert history.quantile(100) == kept[-1]
    assert history.longer(kept[0]) == sum(each > kept[0] for each in kept)


@given(LENGTHS, st.integers(0, 10**9))
def test_the_gittins_index_is_the_best_of_all_times_to_give_up(runs: list[int], ran: int) -> None:
    history = RunTimeHistory()
    for each in runs:
        history.add(each)
    tail = [each - ran for each in runs[-WINDOW:] if each > ran]
    prices = [
        sum(min(each, stop) for each in tail) // sum(each <= stop for each in tail) for stop in tail
    ]
    assert history.gittins(ran) == min(prices, default=0)


def test_numbered_names_are_one_name() -> None:
    assert stem("tune-17") == stem("tune_8") == stem("tune")
    assert stem("2024") == "2024"
