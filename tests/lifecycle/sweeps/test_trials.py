"""Every trial of a sweep is named once, the same on every machine."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.expand import gang_count, params_of
from ganglion.lifecycle.sweeps.trials import drawn, trial, trial_count
from ganglion.model.behaviour import Search
from ganglion.model.workload import Kind, Workload

PARAMS = {"lr": ("1e-4", "3e-4", "1e-3"), "seed": tuple(map(str, range(40)))}


def test_all_combinations_are_tried_the_last_parameter_varies_fastest() -> None:
    sweep = Workload("s", Kind.SWEEP, params=PARAMS)
    assert gang_count(sweep) == trial_count(sweep) == 120
    assert [trial(sweep, n) for n in (0, 1, 40)] == [
        {"lr": "1e-4", "seed": "0"},
        {"lr": "1e-4", "seed": "1"},
        {"lr": "3e-4", "seed": "0"},
    ]


def test_a_list_is_taken_as_it_is() -> None:
    listed = ({"lr": "1", "opt": "adam"}, {"lr": "2", "opt": "sgd"})
    sweep = Workload("s", Kind.SWEEP, trials=listed)
    assert tuple(params_of(sweep, n) for n in range(gang_count(sweep))) == listed


def test_a_search_draws_other_combinations_every_time_and_the_same_by_the_same_seed() -> None:
    def found(seed: int) -> list[tuple[str, ...]]:
        sweep = Workload("s", Kind.SWEEP, params=PARAMS, search=Search(30, seed))
        return [tuple(trial(sweep, n).values()) for n in range(trial_count(sweep))]

    assert len(set(found(1))) == 30
    assert found(1) == found(1) != found(2)


def test_what_a_seed_draws_never_changes() -> None:
    assert [drawn(n, 1_000, seed=7) for n in range(6)] == [435, 691, 778, 612, 204, 119]


@given(total=st.integers(1, 500), seed=st.integers(0, 10**9))
def test_drawing_all_gives_all(total: int, seed: int) -> None:
    assert sorted(drawn(n, total, seed) for n in range(total)) == list(range(total))


def test_nothing_is_kept_of_a_product_too_large_to_write_down() -> None:
    wide = {f"p{n}": tuple(map(str, range(100))) for n in range(9)}
    sweep = Workload("s", Kind.SWEEP, params=wide, search=Search(1_000))
    assert len({tuple(trial(sweep, n).values()) for n in range(1_000)}) == 1_000


def test_draws_look_like_chance() -> None:
    halves = sum(drawn(n, 10_000, seed=3) < 5_000 for n in range(1_000))
    assert 440 < halves < 560
