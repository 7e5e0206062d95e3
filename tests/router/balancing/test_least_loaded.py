"""Which replica gets a request; a key or a model floods none."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from ganglion.router.balancing.least_loaded import (
    PULL,
    RequestPreferences,
    by_key,
    choose,
    of_two,
    with_model,
)


class Fake(Struct, frozen=True):
    """A replica on paper."""

    name: str
    running: int = 0
    models: tuple[str, ...] = ()


loads = st.lists(st.integers(0, 50), min_size=1, max_size=12)


def fakes(busy: list[int]) -> list[Fake]:
    return [Fake(f"r/{number}", running) for number, running in enumerate(busy)]


@given(st.lists(st.integers(0, 50), min_size=2, max_size=12), st.integers(0, 1000))
def test_of_two_replicas_that_are_drawn_the_busier_is_never_taken(
    busy: list[int], seed: int
) -> None:
    able = fakes(busy)
    taken = of_two(able, Random(seed))
    assert sum(each.running >= taken.running for each in able if each != taken) >= 1


def test_two_choices_keep_loads_closer_than_one() -> None:
    def worst(choices: int) -> int:
        dice, counts = Random(7), [0] * 20
        for _ in range(2_000):
            able = fakes(counts)
            one = of_two(able, dice) if choices == 2 else able[dice.randrange(20)]
            counts[int(one.name[2:])] += 1
        return max(counts) - min(counts)

    assert worst(2) <= 6
    assert worst(1) > 20


@given(loads, st.text(max_size=5))
def test_whoever_a_key_leads_to_has_at_most_a_quarter_more_than_its_part(
    busy: list[int], key: str
) -> None:
    able = fakes(busy)
    taken = by_key(able, key)
    assert taken.running < -(-125 * (sum(busy) + 1) // (100 * len(busy)))


@given(st.integers(2, 10), st.text(min_size=1, max_size=5), st.data())
def test_when_a_replica_goes_only_its_own_keys_move(
    count: int, key: str, data: st.DataObject
) -> None:
    able = fakes([0] * count)
    before = by_key(able, key)
    gone = data.draw(st.sampled_from(able))
    after = by_key([each for each in able if each != gone], key)
    assert before in (after, gone)


def test_keys_spread_over_all_replicas() -> None:
    able = fakes([0] * 8)
    counts = Counter(by_key(able, f"session-{number}").name for number in range(4_000))
    assert len(counts) == 8
    assert 400 < min(counts.values()) <= max(counts.values()) < 600


def test_a_request_goes_to_a_replica_that_has_its_model() -> None:
    able = [Fake("r/0", 0), Fake("r/1", 3, ("llama",)), Fake("r/2", 0)]
    assert choose(able, RequestPreferences(model="llama"), Random(1)).name == "r/1"


@pytest.mark.parametrize(("busy", "kept"), [(2 * 5 + PULL, True), (2 * 5 + PULL + 1, False)])
def test_a_model_does_not_hold_requests_where_it_is_much_busier(busy: int, kept: bool) -> None:
    able = [Fake("r/0", 5), Fake("r/1", busy, ("llama",))]
    assert ([each.name for each in with_model(able, "llama")] == ["r/1"]) is kept


def test_a_model_that_nobody_has_is_served_by_anybody() -> None:
    assert len(with_model(fakes([0, 0, 0]), "unheard of")) == 3


@given(loads, st.text(max_size=3), st.integers(0, 99))
def test_one_of_those_that_are_able_is_chosen(busy: list[int], key: str, seed: int) -> None:
    able = fakes(busy)
    assert choose(able, RequestPreferences(key=key, model="m"), Random(seed)) in able


def test_whoever_lost_a_request_gets_it_again_only_when_there_is_nobody_else() -> None:
    able = [Fake("r/0", 0, ("llama",)), Fake("r/1", 9)]
    wish = RequestPreferences(key="k", model="llama", tried=("r/0",))
    assert choose(able, wish, Random(1)).name == "r/1"
    assert choose(able[:1], wish, Random(1)).name == "r/0"
