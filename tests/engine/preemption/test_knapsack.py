from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.preemption.knapsack import Item, cheapest

items = st.lists(
    st.builds(Item, st.integers(0, 2), st.integers(0, 50), st.integers(0, 4)), max_size=7
)


@given(items, st.integers(1, 8))
def test_it_costs_what_the_best_of_all_subsets_costs(given_items: list[Item], need: int) -> None:
    chosen = cheapest(given_items, need)

    costs = [
        cost(given_items, subset)
        for size in range(1, len(given_items) + 1)
        for subset in combinations(range(len(given_items)), size)
        if sum(given_items[i].devices for i in subset) >= need
    ]
    if chosen is None:
        assert not costs
    else:
        assert sum(given_items[i].devices for i in chosen) >= need
        assert cost(given_items, chosen) == min(costs)


def cost(given_items: list[Item], subset: tuple[int, ...]) -> tuple[int, int, int]:
    taken = [given_items[i] for i in subset]
    return max(t.priority for t in taken), sum(t.price for t in taken), len(taken)


def test_nobody_is_taken_who_frees_nothing() -> None:
    assert cheapest([Item(0, 0, 0), Item(0, 9, 2)], 2) == (1,)
