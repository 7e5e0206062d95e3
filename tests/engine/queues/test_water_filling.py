"""Fair division: guarantees first, then weights, in whole GPUs, and nothing is lost."""

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.queues.water_filling import PARTS, DivisionClaim, divide, divide_tree
from ganglion.model.resources import WHOLE

VECTORS = (
    Path(os.environ.get("GANGLION_SCENARIOS", "/work/shared/scenarios"))
    / "kai_fair_share_vectors.json.gz"
)


def claim(quota: int = 0, request: int = 100, weight: int = 1, **more: int) -> DivisionClaim:
    """A claim in whole GPUs."""
    fields = {"limit": None, "priority": 100, "past": 0} | more
    limit = None if fields["limit"] is None else fields["limit"] * WHOLE
    return DivisionClaim(
        quota * WHOLE, limit, weight, fields["priority"] or 0, request * WHOLE, fields["past"] or 0
    )


def whole(total: int, *claims: DivisionClaim, correction: int = 0) -> list[int]:
    """Shares in whole GPUs."""
    shares = divide(total * WHOLE, claims, correction)
    assert all(each % WHOLE == 0 for each in shares)
    return [each // WHOLE for each in shares]


claims = st.builds(
    DivisionClaim,
    quota=st.integers(0, 12).map(lambda n: n * 500),
    limit=st.none() | st.integers(0, 20).map(lambda n: n * WHOLE),
    weight=st.integers(0, 5),
    priority=st.sampled_from([50, 100]),
    request=st.integers(0, 60).map(lambda n: n * 250),
)
totals = st.integers(0, 40).map(lambda n: n * WHOLE)


def test_quota_comes_before_weight() -> None:
    assert whole(10, claim(quota=6), claim(quota=2, weight=9)) == [6, 4]


def test_the_rest_is_divided_by_weight() -> None:
    assert whole(10, claim(quota=2, weight=3), claim(quota=2, weight=1)) == [2 + 5, 2 + 1]


def test_whoever_needs_less_leaves_its_part_to_the_others() -> None:
    assert whole(9, claim(request=1), claim(), claim()) == [1, 4, 4]


def test_the_largest_fraction_gets_the_gpu_that_rounding_left() -> None:
    assert whole(10, claim(weight=2), claim(weight=4), claim(weight=1)) == [3, 6, 1]


def test_among_equal_fractions_the_older_queue_gets_it() -> None:
    assert whole(5, claim(), claim()) == [3, 2]


def test_higher_priority_divides_first() -> None:
    assert whole(5, claim(priority=50), claim(priority=100, request=4)) == [1, 4]


def test_weight_zero_gets_its_quota_and_no_more() -> None:
    assert whole(10, claim(quota=2, weight=0), claim()) == [2, 8]


def test_a_limit_caps_the_share() -> None:
    assert whole(10, claim(limit=3), claim()) == [3, 7]


def test_quotas_beyond_the_total_are_kept_all_the_same() -> None:
    assert whole(4, claim(quota=3), claim(quota=3), claim(weight=9)) == [3, 3, 0]


def test_fractions_of_gpus_are_covered_exactly() -> None:
    half = DivisionClaim(0, None, 1, 100, 500)

    assert divide(2 * WHOLE, [half, claim()]) == [500, 1500]


def test_past_use_lowers_the_weight() -> None:
    used, idle = claim(past=PARTS // 2), claim()

    assert whole(12, used, idle) == [6, 6]
    assert whole(12, used, idle, correction=1000) == [4, 8]
    assert whole(12, claim(past=PARTS), idle, correction=1000) == [0, 12]


def test_shares_are_divided_again_among_the_children() -> None:
    asks = {
        "a": claim(quota=4),
        "b": claim(quota=4),
        "a1": claim(quota=4, request=50),
        "a2": claim(weight=3, request=50),
        "b1": claim(),
    }
    parents = {"a": "", "b": "", "a1": "a", "a2": "a", "b1": "b"}

    shares = divide_tree(12 * WHOLE, asks, parents)

    assert {name: share // WHOLE for name, share in shares.items()} == {
        "a": 6,
        "b": 6,
        "a1": 5,
        "a2": 1,
        "b1": 6,
    }


def test_the_example_of_the_documentation() -> None:
    asks = {
        "research": claim(quota=24, request=70, weight=2),
        "product": claim(quota=16, request=12),
        "batch": claim(request=40),
        "vision": claim(quota=16, request=50),
        "language": claim(quota=8, request=20, weight=3),
    }
    parents = dict.fromkeys(asks, "") | {"vision": "research", "language": "research"}

    quiet = divide_tree(64 * WHOLE, asks, parents)
    asks["product"] = claim(quota=16, request=40)
    busy = divide_tree(64 * WHOLE, asks, parents)

    assert [each // WHOLE for each in quiet.values()] == [43, 12, 9, 23, 20]
    assert [each // WHOLE for each in busy.values()] == [36, 22, 6, 19, 17]
    much, little = claim(past=PARTS * 3 // 4), claim(past=PARTS // 4)
    assert whole(64, much, little, correction=1000) == [16, 48]


@given(totals, st.lists(claims, max_size=8))
def test_nobody_gets_less_than_its_quota_or_more_than_it_can_use(
    total: int, asks: list[DivisionClaim]
) -> None:
    for each, share in zip(asks, divide(total, asks), strict=True):
        assert min(each.quota or 0, each.wanted) <= share <= each.wanted


@given(totals, st.lists(claims, max_size=8))
def test_all_of_the_total_is_given_out_while_somebody_may_take_it(
    total: int, asks: list[DivisionClaim]
) -> None:
    guaranteed = sum(min(each.quota or 0, each.wanted) for each in asks)
    hunger = sum(each.wanted - min(each.quota or 0, each.wanted) for each in asks if each.weight)

    assert sum(divide(total, asks)) == max(guaranteed, min(total, guaranteed + hunger))


@given(totals, st.lists(claims, min_size=1, max_size=6), st.integers(1, 5))
def test_more_weight_never_means_a_smaller_share(
    total: int, asks: list[DivisionClaim], more: int
) -> None:
    heavier = asks[0]._replace(weight=asks[0].weight + more)

    assert divide(total, [heavier, *asks[1:]])[0] >= divide(total, asks)[0]


@given(totals, st.data())
def test_age_decides_about_no_more_than_one_gpu(total: int, data: st.DataObject) -> None:
    asks = data.draw(st.lists(claims, max_size=8))
    order = data.draw(st.permutations(range(len(asks))))

    shares, shuffled = divide(total, asks), divide(total, [asks[i] for i in order])

    for place, i in enumerate(order):
        assert abs(shuffled[place] - shares[i]) <= WHOLE


@pytest.mark.skipif(not VECTORS.exists(), reason=f"{VECTORS} is not here")
def test_shares_of_published_queue_trees_are_reproduced_exactly() -> None:
    trees = json.loads(gzip.decompress(VECTORS.read_bytes()))
    assert len(trees) == 200

    for tree in trees:
        asks = {each["name"]: published(each) for each in tree["queues"]}
        parents = {each["name"]: each["parent"] or "" for each in tree["queues"]}
        shares = divide_tree(milli(tree["total"]) or 0, asks, parents)
        expected = {name: milli(share) for name, share in tree["share"].items()}
        assert {name: shares[name] for name in expected} == expected


def published(queue: dict[str, object]) -> DivisionClaim:
    return DivisionClaim(
        milli(queue["quota"]),
        milli(queue["limit"]),
        milli(queue["weight"]) or 0,
        int(str(queue["priority"])),
        milli(queue["request"]) or 0,
    )


def milli(value: object) -> int | None:
    return None if value in (None, "unlimited") else round(float(str(value)) * WHOLE)
