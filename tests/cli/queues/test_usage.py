"""`ganglion usage` prints GPU-hours that reconcile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.harness import NOW_S, FakeServer, Ganglion

from ganglion.api.money.usage import FlavorUsage
from ganglion.cli.output import screen
from ganglion.cli.queues.usage import HUNDREDTH_US, reconciled

HOUR_US = 100 * HUNDREDTH_US
NOW_MS = NOW_S * 1000
ROUTE = "GET /api/v1/usage"
PAGE = {
    "since": NOW_MS - 7 * 86_400_000,
    "until": NOW_MS,
    "metered_since": 0,
    "items": [
        {"queue": "a-long-name-of-a-queue", "held_gpu_us": 5 * HOUR_US, "attempts": 2},
        {"queue": "vision", "held_gpu_us": 15 * HOUR_US + 1, "attempts": 1200},
    ],
    "total": {"held_gpu_us": 20 * HOUR_US + 1, "attempts": 1202},
    "fleet": [
        {
            "flavor": "H100",
            "capacity_gpu_us": 40 * HOUR_US,
            "held_gpu_us": 20 * HOUR_US + 1,
            "idle_gpu_us": 18 * HOUR_US - 1,
            "unavailable_gpu_us": 2 * HOUR_US,
        }
    ],
}


def test_the_largest_come_first_and_the_last_line_reconciles(
    server: FakeServer, ganglion: Ganglion
) -> None:
    server.on(ROUTE, PAGE)
    done = ganglion("usage")
    assert (done.code, done.out.splitlines()) == (
        0,
        [
            "QUEUE                    HELD  SHARE  TRIES",
            "vision                  15.00    75%   1200",
            "a-long-name-of-a-queue   5.00    24%      2",
        ],
    )
    assert done.err == (
        "H100: held 20.00 + idle 18.00 + unavailable 2.00 = capacity 40.00 GPU-hours\n"
    )
    (request,) = server.requests
    assert request.url.params.get_list("by") == ["queue"]
    assert request.url.params["since"] == str(NOW_MS - 7 * 86_400_000)


MONEY = {
    **PAGE,
    "currency": "EUR",
    "items": [
        {"queue": "vision", "held_gpu_us": 15 * HOUR_US, "cost_micro": 37_500_000},
        {"queue": "speech", "held_gpu_us": 5 * HOUR_US, "unpriced_gpu_us": 5 * HOUR_US},
    ],
    "total": {"held_gpu_us": 20 * HOUR_US, "unpriced_gpu_us": 5 * HOUR_US},
    "corrections": [
        {"number": 2, "at": NOW_MS, "flavor": "H100", "change_micro": -1_500_000},
    ],
}


def test_once_there_are_prices_money_stands_beside_gpu_hours(
    server: FakeServer, ganglion: Ganglion
) -> None:
    money = {"charged_micro": 37_500_000, "discount_micro": 0, "idle_micro": 45_000_000}
    money |= {"unavailable_micro": 5_000_000, "capacity_micro": 87_500_000}
    server.on(ROUTE, {**MONEY, "fleet": [{**PAGE["fleet"][0], **money}]})
    done = ganglion("usage")
    assert done.out.splitlines() == [
        "QUEUE    HELD  SHARE  TRIES  COST EUR  IDLE COST",
        "vision  15.00    75%      0     37.50       0.00",
        "speech   5.00    25%      0      0.00       0.00",
    ]
    sums = "charged 37.50 + discount 0.00 + idle 45.00 + unavailable 5.00 = capacity 87.50 EUR"
    assert f"H100: {sums}" in done.err
    assert "unpriced: 5.00 GPU-hours have no price and are not in the cost" in done.err
    assert "corrected: -1.50 EUR by price 2 of H100" in done.err


def test_what_gpus_did_is_shown_where_anything_looked_with_how_much_of_it_is_known(
    server: FakeServer, ganglion: Ganglion
) -> None:
    done = {"active_gpu_us": 3 * HOUR_US, "sampled_gpu_us": 5 * HOUR_US, "active_by": "nvml"}
    done |= {"energy_mj": 4_500_000_000, "energy_gpu_us": 5 * HOUR_US, "energy_by": "dcgm"}
    vision = {**MONEY["items"][0], **done}  # type: ignore[index]
    items, total = [vision, MONEY["items"][1]], {**MONEY["total"], **done}  # type: ignore[index, dict-item]
    lent = [{"queue": "speech", "borrowed_gpu_us": HOUR_US}, {"queue": "a", "lent_gpu_us": 7}]
    server.on(ROUTE, MONEY | {"items": items, "total": total, "lent": lent})
    shown = ganglion("usage")
    assert shown.out.splitlines() == [
        "QUEUE    HELD  SHARE  TRIES   ACTIVE  COST EUR  IDLE COST",
        "vision  15.00    75%      0     3.00     37.50       0.00",
        "speech   5.00    25%      0  unknown      0.00       0.00",
    ]
    assert "active 3.00 of 5.00 GPU-hours sampled (25% of held), by nvml\n" in shown.err
    assert "\nspeech: lent 0.00, borrowed 1.00\n" in shown.err
    assert "a: lent" not in shown.err
    assert "energy 1.250 kWh in 5.00 GPU-hours, by dcgm\n" in shown.err


def test_every_group_fits_a_terminal_of_80_columns(
    server: FakeServer, ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"user": "u" * 30, "workload": "w" * 60, "flavor": "H100-SXM5-80GB", "day": "2026-11-01"}
    server.on(ROUTE, PAGE | {"items": [PAGE["items"][0] | row]})  # type: ignore[index]
    monkeypatch.setattr(screen, "is_tty", lambda *, stderr=False: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    flags = [flag for by in ("day", "queue", "user", "workload", "flavor") for flag in ("--by", by)]
    done = ganglion("usage", *flags)
    assert max(len(line.rstrip()) for line in (done.out + done.err).splitlines()) <= 80


def test_programs_get_values_alone(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(ROUTE, PAGE)
    done = ganglion("usage", "--by", "queue", "-o", "csv", "-n", "1")
    assert done.out.splitlines() == [
        "QUEUE,HELD,SHARE,REQUESTED,TRIES,LOST,ACTIVE,USEFUL,SAMPLED,ACTIVE BY,KWH,KWH BY",
        "vision,15.00,75%,0.00,1200,unknown,unknown,unknown,0%,-,unknown,-",
    ]
    assert done.err == ""


def test_what_a_caller_may_not_see_of_the_fleet_is_left_out(
    server: FakeServer, ganglion: Ganglion
) -> None:
    server.on(ROUTE, PAGE | {"fleet": None, "metered_since": NOW_MS - 60_000})
    done = ganglion("usage", "--since", "all", "-q", "vision", "--until", "1h")
    assert done.err == "held 20.00 GPU-hours\nmetered since 2027-01-15 07:59:00\n"
    params = server.requests[0].url.params
    assert (params["since"], params["queue"]) == ("0", "vision")
    assert params["until"] == str(NOW_MS - 3_600_000)


def test_a_server_that_does_not_meter_yet_says_so(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(ROUTE, PAGE | {"items": [], "fleet": [], "metered_since": None})
    done = ganglion("usage")
    assert done.err.splitlines()[0] == "nothing was held"
    assert "nothing is metered yet" in done.err


@given(st.integers(0, 10**15), st.integers(0, 10**15), st.integers(0, 10**15))
def test_the_line_adds_up_as_it_is_printed(held: int, idle: int, shut: int) -> None:
    line = reconciled(FlavorUsage("H100", held + idle + shut, held, idle, shut))
    parts, _, there = line.partition(" = capacity ")
    shown = [round(float(part.split()[1]) * 100) for part in parts.split(" + ")]
    assert sum(shown) == round(float(there.split()[0]) * 100)
    assert min(shown) >= 0
