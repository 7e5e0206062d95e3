"""Money adds up exactly: to the capacity, over groups, over parts of a period, over corrections."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganglion.metering.day_runs import day_runs, days_of
from ganglion.metering.intervals import DAY_MS, SupplyInterval, UsageInterval
from ganglion.metering.rating import (
    HOUR_GPU_US,
    Charge,
    HeldIn,
    Rates,
    divided,
    held_in,
    rounded,
    supply_charge,
)
from ganglion.model.events import PriceSet
from ganglion.pricing.book import PriceBook, PriceTable
from tests.effort import examples
from tests.metering.metered import lived
from tests.metering.test_meter import supply_of, usage_of
from tests.pricing.build import HOUR_MS, book_of, priced

END = 60 * DAY_MS


def drawn_book(seed: int) -> PriceBook:
    """Prices with hours, dates and corrections of the past."""
    random, book = Random(seed), PriceBook()
    known = 0
    for flavor in ("H100", "A100", "gpu"):
        for hours in ((0, 0), (20, 8)):
            for since in (0, random.choice((DAY_MS, 5 * HOUR_MS + 3)), 2 * DAY_MS):
                price = priced(random.randrange(5_000_000), since, hours, flavor=flavor)
                known += random.choice((0, HOUR_MS, DAY_MS))
                book.note(PriceSet(known, price))
    return book


def costs(table: PriceTable, book: PriceBook, usage: list[UsageInterval]) -> Charge:
    total = Charge()
    for each in usage:
        held: HeldIn = {}
        held_in(table, each, each.held_milli, held)
        total.plus(Rates(book).charged(held, each.flavor, each.kind))
    return total


def supply_costs(
    table: PriceTable, book: PriceBook, supply: list[SupplyInterval]
) -> tuple[int, int]:
    capacity = unavailable = 0
    for each in supply:
        held: HeldIn = {}
        held_in(table, each, each.gpu_milli, held)
        capacity += supply_charge(book, held, each.flavor)
        held = {}
        held_in(table, each, each.unavailable_milli, held)
        unavailable += supply_charge(book, held, each.flavor)
    return capacity, unavailable


@pytest.mark.parametrize("seed", range(examples(6, nightly=200)))
def test_charged_idle_and_unavailable_is_the_capacity_at_its_price(seed: int) -> None:
    life = lived(seed)
    usage, supply = usage_of(life), supply_of(life)
    flavors = {each.flavor for each in supply}
    book = book_of(*(priced(1_000_003, flavor=flavor) for flavor in flavors))
    table = PriceTable(book, 0, life.now + DAY_MS)
    charge = costs(table, book, usage)
    capacity, unavailable = supply_costs(table, book, supply)
    whole = sum(each.gpu_milli * (each.end_ms - each.begin_ms) for each in supply)
    assert capacity == whole * 1_000_003
    idle = capacity - unavailable - charge.cost
    assert idle >= 0
    assert charge.cost == charge.standard


@pytest.mark.parametrize("seed", range(examples(6, nightly=200)))
def test_a_price_of_a_kind_is_a_discount_and_idle_is_never_negative(seed: int) -> None:
    life, book = lived(seed), drawn_book(seed)
    flavors = {each.flavor for each in supply_of(life)}
    for flavor in flavors:
        book.note(PriceSet(0, priced(7, flavor=flavor, kind="train")))
        book.note(PriceSet(0, priced(900_000, flavor=flavor, hours=(8, 20))))
    table = PriceTable(book, 0, life.now + DAY_MS)
    charge = costs(table, book, usage_of(life))
    capacity, unavailable = supply_costs(table, book, supply_of(life))
    assert capacity - unavailable - charge.standard >= 0


def interval(begin: int, end: int, held: int = 1000, kind: str = "train") -> UsageInterval:
    return UsageInterval(
        begin, end, "q", "ada", "w", "w/0", 1, kind, "H100", "n0", held, held, 0, 0
    )


@given(st.integers(0, 50), st.integers(0, 4 * DAY_MS), st.integers(1, 4 * DAY_MS), st.data())
def test_parts_of_an_interval_cost_what_the_whole_does(
    seed: int, begin: int, lasts: int, data: st.DataObject
) -> None:
    book = drawn_book(seed)
    table, end = PriceTable(book, 0, END), begin + lasts
    cut = data.draw(st.integers(begin, end))
    whole = costs(table, book, [interval(begin, end, 250)])
    parts = costs(table, book, [interval(begin, cut, 250), interval(cut, end, 250)])
    assert parts == whole


@given(st.integers(0, 50), st.integers(0, 3 * DAY_MS), st.integers(1, 2 * DAY_MS))
def test_corrections_lead_from_what_was_charged_to_what_it_costs_now(
    seed: int, begin: int, lasts: int
) -> None:
    book = drawn_book(seed)
    table = PriceTable(book, 0, END)
    each = interval(begin, begin + lasts)
    charge = costs(table, book, [each])
    original = 0
    for lasted, _ in ((ms, 0) for ms in _pieces(table, each)):
        original += lasted[1] * 1000 * _known(book, lasted[0])
    assert charge.cost == original + charge.corrected
    assert sum(charge.corrections.values()) == charge.corrected


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 50), st.integers(0, 2 * DAY_MS), st.integers(1, 2 * DAY_MS))
def test_a_later_price_adds_corrections_and_edits_none(seed: int, begin: int, lasts: int) -> None:
    book, known = drawn_book(seed), Charge()
    assert [each.at for each in book.records] == sorted(each.at for each in book.records)
    one = interval(begin, begin + lasts, 250)
    for count in range(1, len(book.records) + 1):
        part = PriceBook(book.records[:count])
        now = costs(PriceTable(part, begin, begin + lasts), part, [one])
        kept = {number: now.corrections.get(number, 0) for number in known.corrections}
        assert kept == known.corrections
        late = {number for number in now.corrections if number not in known.corrections}
        assert late <= {count - 1}
        if part.records[-1].at > begin + lasts:  # all of it was charged before
            change = sum(now.corrections[number] for number in late)
            assert now.cost == known.cost + change
        known = now


def _pieces(table: PriceTable, each: UsageInterval) -> list[tuple[int, int]]:
    """(begin, how long) of each part of an interval in which prices stay as they are."""
    at, found = each.begin_ms, []
    for lasts, _ in table.within(each.begin_ms, each.end_ms):
        found.append((at, lasts))
        at += lasts
    return found


def _known(book: PriceBook, at: int) -> int:
    """The price at a time as it was known at that time."""
    then = PriceBook([each for each in book.records if each.at <= at])
    return then.price(then.state(at).now, "H100", "train") or 0


def test_what_has_no_price_is_counted_and_not_charged_as_nothing() -> None:
    book = book_of(priced(1_000_000, since=HOUR_MS))
    table = PriceTable(book, 0, END)
    charge = costs(table, book, [interval(0, 3 * HOUR_MS)])
    assert charge.unpriced_gpu_us == HOUR_GPU_US
    assert charge.cost == 2 * HOUR_GPU_US * 1_000_000
    free = book_of(priced(0))
    assert costs(PriceTable(free, 0, END), free, [interval(0, HOUR_MS)]) == Charge()


@given(st.integers(0, 30))
def test_runs_of_days_have_the_prices_of_each_moment(seed: int) -> None:
    book = drawn_book(seed)
    table = PriceTable(book, *days_of(5, 6 * DAY_MS - 5))
    found: Counter[object] = Counter()
    runs = list(day_runs(table))
    assert (runs[0].begin, runs[-1].end) == (0, 6 * DAY_MS)
    for run in runs:
        for part in run.parts:
            found[part.state] += (part.end - part.begin) * (run.end - run.begin) // DAY_MS
    spans: Counter[object] = Counter()
    for span in table.spans:
        spans[span.state] += span.end - span.begin
    assert found == spans


@given(st.lists(st.integers(-(10**15), 10**15), max_size=8))
def test_rounded_figures_add_up_to_their_rounded_total(amounts: list[int]) -> None:
    figures = rounded(amounts)
    assert sum(figures) == sum(rounded([sum(amounts)]))
    for figure, amount in zip(figures, amounts, strict=True):
        assert abs(figure * HOUR_GPU_US - amount) <= HOUR_GPU_US


@given(st.integers(0, 10**18), st.lists(st.integers(0, 10**9), min_size=1, max_size=6))
def test_parts_in_proportion_add_up(total: int, weights: list[int]) -> None:
    parts = divided(total, weights)
    assert sum(parts) == (total if any(weights) else 0)
    assert all(part == 0 for part, weight in zip(parts, weights, strict=True) if not weight)
