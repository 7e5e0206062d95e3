"""One price holds at each moment, or none: by flavor, kind, hours of the day and date."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import Conflict
from ganglion.model.events import PriceSet
from ganglion.model.fleet.price import Price
from ganglion.pricing.book import PriceBook, PriceTable
from tests.pricing.build import HOUR_MS, book_of, priced

DAY_MS = 24 * HOUR_MS
BERLIN = "Europe/Berlin"


def at(book: PriceBook, ms: int, kind: str = "", flavor: str = "H100") -> int | None:
    return book.price(book.state(ms).now, flavor, kind)


def berlin(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN)).timestamp()) * 1000


def test_a_kind_goes_before_hours_and_hours_before_the_whole_day() -> None:
    book = book_of(priced(1), priced(2, hours=(20, 8)), priced(3, kind="batch"))
    noon, night = 12 * HOUR_MS, 22 * HOUR_MS
    assert [at(book, noon), at(book, night), at(book, 7 * HOUR_MS)] == [1, 2, 2]
    assert at(book, night, "batch") == 3
    assert at(book, noon, flavor="A100") is None


def test_no_price_is_not_a_price_of_nothing() -> None:
    book = book_of(priced(5, since=10), priced(0, since=20), priced(None, since=30))
    assert [at(book, ms) for ms in (9, 10, 20, 30)] == [None, 5, 0, None]


def test_the_end_of_a_price_lets_a_wider_one_hold_again() -> None:
    book = book_of(priced(5), priced(2, hours=(0, 12)), priced(None, DAY_MS, hours=(0, 12)))
    assert (at(book, 1), at(book, DAY_MS + 1)) == (2, 5)


def test_hours_that_overlap_are_refused_while_both_hold() -> None:
    book = book_of(priced(5, hours=(20, 8)), priced(None, DAY_MS, hours=(20, 8)))
    with pytest.raises(Conflict, match="20:00-08:00"):
        book.check(priced(1, hours=(7, 9)))
    with pytest.raises(Conflict):
        book.check(priced(1, since=DAY_MS - 1, hours=(0, 1)))
    book.check(priced(1, since=DAY_MS, hours=(7, 9)))
    book.check(priced(1, hours=(8, 20)))
    book.check(priced(1, hours=(7, 9), kind="batch"))


def test_a_book_has_one_currency_and_one_time_zone() -> None:
    book = book_of(priced(5), priced(4, hours=(0, 4), zone=BERLIN))
    dollars = Price("H100", 0, 1, currency="USD")
    with pytest.raises(Conflict, match="in EUR, not in USD"):
        book.check(dollars)
    with pytest.raises(Conflict, match=BERLIN):
        book.check(priced(4, hours=(5, 6), zone="UTC"))


def test_hours_follow_clocks_that_are_set() -> None:
    book = book_of(priced(1, zone=BERLIN), priced(2, hours=(2, 3), zone=BERLIN))
    # On 2026-03-29 the hour from 2 is left out, on 2026-10-25 it comes twice.
    cheap = {
        day: sum(
            span.end - span.begin
            for span in book.spans(berlin(f"{day}T00:00"), berlin(f"{day}T12:00"))
            if book.price(span.state.now, "H100") == 2
        )
        for day in ("2026-03-28", "2026-03-29", "2026-10-25")
    }
    assert cheap == {"2026-03-28": HOUR_MS, "2026-03-29": 0, "2026-10-25": 2 * HOUR_MS}


prices = st.builds(
    priced,
    st.one_of(st.none(), st.integers(0, 9)),
    st.sampled_from([0, 5 * HOUR_MS + 7, DAY_MS, 2 * DAY_MS]),
    st.sampled_from([(0, 0), (0, 8), (8, 20), (20, 0), (22, 6)]),
    st.sampled_from(["", "batch"]),
)


@given(st.lists(st.tuples(prices, st.sampled_from([0, HOUR_MS, DAY_MS])), max_size=6))
def test_spans_cover_a_period_and_agree_with_every_moment(
    drawn: list[tuple[Price, int]],
) -> None:
    book, time = PriceBook(), 0
    for price, later in drawn:
        time += later
        try:
            book.check(price)
        except Conflict:
            continue
        book.note(PriceSet(time, price))
    spans = list(book.spans(1, 3 * DAY_MS))
    assert (spans[0].begin, spans[-1].end) == (1, 3 * DAY_MS)
    assert all(a.end == b.begin and a.state != b.state for a, b in pairwise(spans))
    table = PriceTable(book, 1, 3 * DAY_MS)
    for moment in range(1, 3 * DAY_MS, HOUR_MS // 2 + 1):
        ((_, state),) = table.within(moment, moment + 1)
        assert state == book.state(moment)
        literal = literally(book, moment, "batch")
        assert book.price(state.now, "H100", "batch") == literal


def literally(book: PriceBook, moment: int, kind: str) -> int | None:
    """The price by its description, without a shortcut."""
    minute = moment % DAY_MS // 60_000
    for of_kind in (kind, ""):
        for whole in (False, True):
            keys = {e.price.key for e in book.records if e.price.whole_day is whole}
            for key in keys:
                dated = [
                    (e.price.since_ms, n, e.price)
                    for n, e in enumerate(book.records)
                    if e.price.key == key and e.price.since_ms <= moment
                ]
                newest = max(dated, default=None)
                if newest is None or newest[2].micro is None or key[1] != of_kind:
                    continue
                if newest[2].at(minute):
                    return newest[2].micro
    return None
