"""Autoscalers we compare with decide as they are documented to."""

import pytest

from benchmarks.serving.fleet import Seen
from benchmarks.serving.hpa import Hpa, HpaSettings
from benchmarks.serving.kpa import Kpa, KpaSettings
from benchmarks.serving.policies import (
    Oracle,
    Reactive,
    SquareRoot,
    Static,
    hours_of_curve,
    over_curve,
)
from benchmarks.serving.requests import Request

SECOND = 1_000


def seen(second: int, requests: int, ready: int, starting: int = 0) -> Seen:
    return Seen(second * SECOND, 0, requests, ready, starting, 0, 0)


def told(policy: Kpa | Hpa, loads: list[tuple[int, int, int]]) -> list[int]:
    """Answers to (second, requests, ready)."""
    return [policy.desired(seen(*load)) for load in loads]


def test_knative_wants_the_mean_of_a_minute_over_the_target() -> None:
    kpa = Kpa(KpaSettings(target=10))
    answers = told(kpa, [(t, 100 if t % 4 else 60, 9) for t in range(0, 60, 2)])
    assert answers[-1] == 8


def test_knative_panics_at_twice_what_is_ready_and_takes_the_short_window_then() -> None:
    kpa = Kpa(KpaSettings(target=1))
    told(kpa, [(t, 1, 1) for t in range(0, 60, 2)])
    assert kpa.desired(seen(60, 1, 1)) == 1
    assert not kpa.panics
    # Six seconds hold three samples: (1 + 1 + 7) / 3 = 3 wanted of 1 ready.
    assert kpa.desired(seen(62, 7, 1)) == 3
    assert kpa.panics


def test_knative_does_not_panic_just_below_twice_what_is_ready() -> None:
    kpa = Kpa(KpaSettings(target=1))
    told(kpa, [(t, 10, 10) for t in range(0, 60, 2)])
    told(kpa, [(60, 19, 10), (62, 19, 10), (64, 19, 10)])
    assert not kpa.panics


def test_knative_never_goes_down_in_panic_and_leaves_it_after_a_stable_window() -> None:
    kpa = Kpa(KpaSettings(target=1))
    told(kpa, [(t, 1, 1) for t in range(0, 60, 2)])
    most = max(told(kpa, [(60, 20, 1), (62, 20, 1), (64, 20, 1)]))
    during = told(kpa, [(t, 1, 20) for t in range(66, 126, 2)])
    assert during[:28] == [most] * 28
    after = told(kpa, [(t, 1, 20) for t in range(126, 140, 2)])
    assert (kpa.panics, after[-1]) == (False, 10)


def test_knative_takes_away_at_most_half_and_adds_at_most_a_thousandfold() -> None:
    assert Kpa(KpaSettings(target=1)).desired(seen(0, 1, 30)) == 15
    assert Kpa(KpaSettings(target=1)).desired(seen(0, 5_000, 2)) == 2_000


def test_knative_keeps_what_was_wanted_within_the_delay() -> None:
    kpa = Kpa(KpaSettings(target=1, down_delay_ms=120_000))
    told(kpa, [(t, 8, 8) for t in range(0, 30, 2)])
    assert set(told(kpa, [(t, 0, 8) for t in range(30, 140, 2)])) == {8}


def test_knative_lets_the_last_one_go_after_window_and_grace() -> None:
    kpa = Kpa(KpaSettings(target=1))
    kpa.desired(seen(0, 1, 1))
    answers = {t: kpa.desired(seen(t, 0, 1)) for t in range(2, 96, 2)}
    assert min(t for t, wanted in answers.items() if not wanted) == 90


@pytest.mark.parametrize(
    ("requests", "replicas", "wanted"),
    [(200, 100, 200), (109, 100, 100), (111, 100, 111), (91, 100, 100), (89, 100, 89)],
)
def test_the_pod_autoscaler_goes_by_the_ratio_and_tolerates_a_tenth(
    requests: int, replicas: int, wanted: int
) -> None:
    # The window downwards remembers only this recommendation.
    assert Hpa(HpaSettings(target=1, up_pct=1_000)).desired(seen(0, requests, replicas)) == wanted


def test_the_pod_autoscaler_adds_the_larger_of_double_and_four_within_15_seconds() -> None:
    hpa = Hpa(HpaSettings(target=1))
    replicas, answers = 1, []
    for second in (0, 5, 10, 15, 30, 45):
        replicas = hpa.desired(seen(second, 100, replicas))
        answers.append(replicas)
    assert answers == [5, 5, 5, 10, 20, 40]


def test_the_pod_autoscaler_counts_pods_that_start_as_there() -> None:
    assert Hpa(HpaSettings(target=1)).desired(seen(0, 10, 5, starting=5)) == 10


def test_the_pod_autoscaler_goes_down_to_the_most_of_five_minutes() -> None:
    hpa = Hpa(HpaSettings(target=1))
    answers = [hpa.desired(seen(t, 10 if t < 60 else 2, 10)) for t in range(0, 375, 15)]
    assert answers == [10] * 23 + [2] * 2


def test_the_pod_autoscaler_keeps_its_least() -> None:
    assert Hpa().desired(seen(0, 0, 3)) == 1
    assert Hpa(HpaSettings(least=0)).desired(seen(0, 0, 3)) == 0


def test_reactive_keeps_the_most_of_its_window() -> None:
    policy = Reactive(80, 30_000)
    loads = [(0, 8), (15, 0), (30, 0), (45, 0)]
    assert [policy.desired(seen(t, n, 1)) for t, n in loads] == [10, 10, 10, 0]


def test_the_oracle_sees_so_far_and_no_further() -> None:
    requests = [Request(100_000, 10_000), Request(100_000, 20_000)]
    oracle = Oracle(requests, 75_000)
    wanted = [oracle.desired(seen(t, 0, 0)) for t in (24, 25, 100, 110, 119, 120, 500)]
    assert wanted == [0, 2, 2, 1, 1, 0, 0]


def test_the_oracle_shares_replicas_where_they_take_several() -> None:
    requests = [Request(0, 60_000) for _ in range(7)]
    assert Oracle(requests, 75_000, share=3.0).desired(seen(0, 0, 0)) == 3


def test_static_is_static() -> None:
    assert Static(4).desired(seen(0, 900, 1)) == 4


def test_the_square_root_rule_keeps_its_most_of_a_minute() -> None:
    rule = SquareRoot(1.5)
    loads = [(0, 0), (15, 16), (30, 1), (75, 1), (90, 1)]
    assert [rule.desired(seen(at, n, 0)) for at, n in loads] == [1, 23, 23, 23, 4]


def test_the_square_root_rule_counts_in_what_one_replica_should_have() -> None:
    assert SquareRoot(1.0, share=4.0).desired(seen(0, 64, 0)) == 21


def test_a_curve_is_read_between_its_points_and_nowhere_else() -> None:
    points = [(1.0, 100.0), (0.01, 300.0)]
    assert hours_of_curve(points, 0.1) == pytest.approx(200)
    assert hours_of_curve(points, 2.0) is None
    assert hours_of_curve([], 0.1) is None


def test_ganglion_is_compared_with_the_square_root_rule_at_its_own_lateness() -> None:
    means = {
        "ganglion": {"on_time_pct": 99.9, "replica_hours": 150.0},
        "sqrt-1": {"on_time_pct": 99.0, "replica_hours": 100.0},
        "sqrt-2": {"on_time_pct": 99.99, "replica_hours": 300.0},
    }
    assert over_curve(means) == pytest.approx(0.75)
    assert over_curve({"ganglion": means["ganglion"]}) is None
