"""A database sums usage up, by the prices that hold meanwhile, as exactly as rows one by one do."""

from collections.abc import Iterator, Mapping
from random import Random

import pytest

from ganglion.ledger import metering
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted, held_by_part, usage_sums
from ganglion.ledger.records import Batch
from ganglion.metering.day_runs import day_runs, days_of
from ganglion.metering.intervals import DAY_MS, UsageInterval, by_day
from ganglion.metering.rating import HeldIn
from ganglion.metering.sums import Group, UsageBy, UsageSum, add_usage, group_of
from ganglion.model.events import PriceSet
from ganglion.model.fleet.price import Price
from ganglion.pricing.book import PriceBook, PriceTable

BEGIN = 1_774_656_000_000
"""28 March 2026; the clocks of Berlin are changed on the 29th."""
DAYS = 4
GROUPS = (
    (),
    (UsageBy.WORKLOAD,),
    (UsageBy.QUEUE, UsageBy.DAY),
    (UsageBy.DAY, UsageBy.USER),
)


def row(chance: Random, number: int) -> UsageInterval:
    begin = BEGIN + chance.choice(
        (chance.randrange(DAYS * DAY_MS), DAY_MS * chance.randrange(DAYS))
    )
    return UsageInterval(
        begin_ms=begin,
        end_ms=begin + chance.choice((0, 1, chance.randrange(2 * DAY_MS))),
        queue=chance.choice(("red", "blue")),
        user=chance.choice(("ada", "bob")),
        workload=f"w-{number % 7}",
        gang=f"w-{number % 7}/0",
        attempt=number,
        kind=chance.choice(("train", "service")),
        flavor=chance.choice(("H100", "A100")),
        node="n0",
        requested_milli=chance.choice((0, 143, 8_000)),
        held_milli=chance.choice((142, 500, 8_000)),
        cpu_milli=0,
        memory_mib=0,
        begun=chance.random() < 0.5,
    )


@pytest.fixture(scope="module")
def rows() -> list[UsageInterval]:
    chance = Random(7)
    return [part for number in range(120) for part in by_day(row(chance, number))]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory, rows: list[UsageInterval]) -> Iterator[Ledger]:
    made = Ledger.open(tmp_path_factory.mktemp("sums") / "ledger.db")
    made.append(Batch(1, usage=rows))
    yield made
    made.close()


def book(chance: Random) -> PriceBook:
    """A price that changes, and one by night that does so too, the latter once afterwards."""
    made = PriceBook()
    for at in sorted(BEGIN + chance.randrange(DAYS * DAY_MS) for _ in range(2)):
        made.note(PriceSet(at, Price("H100", at, 2_500_000, currency="EUR")))
        night = Price("H100", at - 3_600_000, 7, "", 1_200, 480, "Europe/Berlin", "EUR")
        made.note(PriceSet(at, night))
    return made


def times(chance: Random) -> Iterator[tuple[int, int]]:
    yield 0, BEGIN + 9 * DAY_MS
    yield BEGIN + DAY_MS, BEGIN + 2 * DAY_MS
    for _ in range(2):
        since, until = sorted(chance.randrange(DAYS * DAY_MS) for _ in range(2))
        yield BEGIN + since, BEGIN + until


def held(rows: list[UsageInterval], wanted: UsageWanted, table: PriceTable) -> dict[Group, HeldIn]:
    """By one row after the other."""
    found: dict[Group, HeldIn] = {}
    for each in rows:
        for lasts, state in table.within(
            max(each.begin_ms, wanted.since), min(each.end_ms, wanted.until)
        ):
            into = found.setdefault(group_of(each, wanted.by), {})
            into[state] = into.get(state, 0) + lasts * each.held_milli
    return found


def nonzero(found: Mapping[Group, HeldIn]) -> dict[Group, HeldIn]:
    parts = {group: {s: n for s, n in each.items() if n} for group, each in found.items()}
    return {group: each for group, each in parts.items() if each}


@pytest.mark.parametrize("at_once", [40, 32_768])
def test_sums_are_those_of_the_rows_in_every_period_by_everything_and_every_price(
    ledger: Ledger, rows: list[UsageInterval], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metering, "AT_ONCE", at_once)
    chance = Random(at_once)
    for since, until in times(chance):
        table = PriceTable(book(chance), *days_of(since, until))
        for by in GROUPS:
            wanted = UsageWanted(by, since, until, 1)
            expected: dict[Group, UsageSum] = {}
            add_usage(expected, rows, by, since, until)
            some = {
                group: each for group, each in expected.items() if each.held_gpu_us or each.attempts
            }
            assert usage_sums(ledger, wanted) == some
            sums: dict[Group, UsageSum] = {}
            priced: dict[Group, HeldIn] = {}
            for run in day_runs(table):
                for group, each, parts in held_by_part(ledger, wanted, run):
                    args = (each.held_gpu_us, each.requested_gpu_us, each.attempts)
                    sums.setdefault(group, UsageSum()).add(*args)
                    into = priced.setdefault(group, {})
                    for state, gpu_us in parts.items():
                        into[state] = into.get(state, 0) + gpu_us
            assert sums == some
            assert nonzero(priced) == nonzero(held(rows, wanted, table))
