"""`ganglion usage`."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_queues, connect
from ganglion.cli.options import F, command, list_output_with, moment, since_ms
from ganglion.cli.output.formats import DASH, clock, now_ms
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.cli.queues.focus import BY as ALL
from ganglion.cli.queues.focus import print_focus

if TYPE_CHECKING:
    from ganglion.api.money.usage import FlavorUsage, UsagePage, UsageRow
    from ganglion.api.use import Report, UtilisationRow

HUNDREDTH_US = 36_000_000
"""A hundredth of a GPU-hour, in GPU-microseconds."""
WH_MJ = 3_600_000
"""A thousandth of a kWh, in thousandths of a joule."""
UNKNOWN = "unknown"
BY = ("queue", "user", "workload", "flavor", "kind", "day")


_PERIOD = (
    click.option(
        "--since",
        metavar="TIME",
        default="7d",
        show_default=True,
        help="Begin: 24h (ago), 2026-11-01, 2026-11-01T08:00; all = ever.",
    ),
    click.option("--until", metavar="TIME", help="End: 1h (ago), 2026-12-01; now if left out."),
    click.option(
        "-q",
        "--queue",
        "queues",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_queues,
        help="Only this queue and those below it; may be repeated.",
    ),
)


def of_period(function: F) -> F:
    """Add the options that say which period and which queues."""
    for option in reversed(_PERIOD):
        function = option(function)
    return function


@command(
    "usage",
    "usage",
    "usage --by queue --by day --since 30d",
    "usage --by user -q research --since 2026-11-01 --until 2026-12-01 -o csv",
)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(BY),
    default=("queue",),
    show_default=True,
    help="What to sum up by; may be repeated. A day is one of UTC.",
)
@of_period
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Most rows to print.")
@list_output_with("focus")
def usage(
    by: tuple[str, ...],
    since: str,
    until: str | None,
    queues: tuple[str, ...],
    limit: int | None,
    form: str,
) -> None:
    """Sum up the GPU-hours that were held, and what they cost.

    HELD counts from the placement of an attempt to its end, also while it starts and while it
    stops; what runs counts until now. TRIES are attempts that were placed in the period. SHARE is
    the part of all that was held. The largest come first, days in their order.

    Once prices are set, COST is what was held costs, IDLE COST the part of what idle GPUs of the
    same flavor cost, in proportion to what was held. `-o wide` shows GPU-hours without a price and
    what prices changed that were set afterwards.

    `-o focus` prints comma-separated rows by FOCUS 1.4, one for each queue, user, workload, flavor
    and day, whatever `--by` says; corrections are rows of their own.

    ACTIVE is GPU time in which GPUs computed that attempts had alone, as far as their driver or a
    DCGM exporter was asked; a line below the table says how much of what was held that is.
    `-o wide` adds energy, and what said so; and LOST, the GPU time held whose work was thrown away,
    and USEFUL, the active GPU time whose work was not.

    Further lines say how much of its quota each queue lent to others beside it while it did not
    use it itself, and how much it borrowed of theirs.

    The lines below the table, on stderr, compare all that was held with the GPUs that there were,
    for those who may see the whole fleet.
    """
    now = now_ms()
    begin, end = since_ms(since, now), moment(until, now, "--until") if until else ""
    by = ALL if form == "focus" else tuple(dict.fromkeys(by))
    with connect() as client:
        page = client.daily.usage(by=by, since=begin, until=end, queues=queues)
    if form == "focus":
        print_focus(page)
        return
    if form in ("json", "yaml"):
        print_data(page, form)
        return
    rows = sorted(page.items, key=lambda row: (row.day, -row.held_gpu_us))[:limit]
    print_list(rows, columns(by, page), form, empty="nothing was held")
    if form != "csv":
        sys.stdout.flush()  # where both go to one place, the lines are below the table
        for line in (*told(page), *(lost_told(page) if form == "wide" else ())):
            note(line)


def columns(by: Sequence[str], page: "UsagePage") -> "list[Column[UsageRow]]":
    """Return the columns: what is grouped by, and the sums."""
    total_gpu_us = page.total.held_gpu_us

    def share(row: "UsageRow") -> str:
        return f"{row.held_gpu_us * 100 // total_gpu_us}%" if total_gpu_us else DASH

    return [
        *(Column(name.upper(), _group(name), least=8) for name in by),
        Column("HELD", lambda row: hours(row.held_gpu_us), right=True),
        Column("SHARE", share, right=True),
        Column("REQUESTED", lambda row: hours(row.requested_gpu_us), right=True, wide=True),
        Column("TRIES", lambda row: str(row.attempts), right=True),
        *_activity_columns(page),
        *(_money_columns(page) if page.currency else ()),
    ]


def _activity_columns(page: "UsagePage") -> "list[Column[UsageRow]]":
    """Return what GPUs did; without `-o wide` only where anything looked at them."""

    def energy(row: "UsageRow") -> str:
        return UNKNOWN if row.energy_mj is None else kwh(row.energy_mj)

    return [
        Column("LOST", lambda row: known_hours(row.lost_gpu_us), right=True, wide=True),
        Column(
            "ACTIVE",
            lambda row: known_hours(row.active_gpu_us),
            right=True,
            wide=not page.total.sampled_gpu_us,
        ),
        Column("USEFUL", lambda row: known_hours(row.useful_gpu_us), right=True, wide=True),
        Column("SAMPLED", lambda row: sampled(row) or DASH, right=True, wide=True),
        Column("ACTIVE BY", lambda row: row.active_by or DASH, wide=True),
        Column("KWH", energy, right=True, wide=True),
        Column("KWH BY", lambda row: row.energy_by or DASH, wide=True),
    ]


def sampled(row: "UsageRow") -> str:
    """Return the part of what was held of which it is known how active it was: `63%`."""
    return _part(row.sampled_gpu_us, row.held_gpu_us)


def _part(known: int, held: int) -> str:
    return f"{known * 100 // held}%" if held else ""


def kwh(energy_mj: int) -> str:
    """Return thousandths of a joule in kWh, cut to three digits: `1.250`."""
    wh = energy_mj // WH_MJ
    return f"{wh // 1000}.{wh % 1000:03}"


def _money_columns(page: "UsagePage") -> "list[Column[UsageRow]]":
    from ganglion.specs.grammar.money import cut_money

    made: list[Column[UsageRow]] = [
        Column(f"COST {page.currency}", lambda row: cut_money(row.cost_micro), right=True)
    ]
    if page.fleet is not None:
        made.append(Column("IDLE COST", lambda row: cut_money(row.idle_micro), right=True))
    made.append(Column("UNPRICED", lambda row: hours(row.unpriced_gpu_us), right=True, wide=True))
    made.append(
        Column("CORRECTED", lambda row: cut_money(row.corrected_micro), right=True, wide=True)
    )
    return made


def _group(name: str) -> "Callable[[UsageRow], str]":
    return lambda row: str(getattr(row, name)) or DASH


def hours(gpu_us: int) -> str:
    """Return GPU-microseconds in GPU-hours, cut to two digits: `12.50`."""
    return _hundredths(gpu_us // HUNDREDTH_US)


def known_hours(gpu_us: int | None) -> str:
    """Return the same, or that it is unknown."""
    return UNKNOWN if gpu_us is None else hours(gpu_us)


def _hundredths(value: int) -> str:
    return f"{value // 100}.{value % 100:02}"


def told(page: "UsagePage") -> list[str]:
    """Return what there is to say about all rows together."""
    lines = [f"{each.flavor}: {reconciled(each)}" for each in page.fleet or () if _counts(each)]
    if page.fleet is None:
        lines = [f"held {hours(page.total.held_gpu_us)} GPU-hours"]
    lines += [
        f"{each}: some parts of GPUs count as whole GPUs, as it is unknown which part they are"
        for each in page.guessed
    ]
    lines += activity_told(page.total, page.total.held_gpu_us)
    lines += [
        f"{each.queue}: lent {hours(each.lent_gpu_us)}, borrowed {hours(each.borrowed_gpu_us)}"
        for each in sorted(page.lent, key=lambda row: -row.lent_gpu_us - row.borrowed_gpu_us)
        if max(each.lent_gpu_us, each.borrowed_gpu_us) >= HUNDREDTH_US
    ]
    lines += _money_told(page) if page.currency else []
    if page.metered_since is None:
        return [*lines, "nothing is metered yet"]
    return lines + metered_told(page)


def metered_told(page: "UsagePage | Report") -> list[str]:
    """Return since when there are figures, where that is after the begin of the period."""
    since = page.metered_since
    return [] if since is None or since <= page.since else [f"metered since {clock(since)}"]


def lost_told(page: "UsagePage | Report") -> list[str]:
    """Return since when lost work is known, where that is after the begin of other figures."""
    since, lost = page.metered_since, page.lost_since
    if since is None:
        return []
    if lost is None:
        return ["lost work is unknown"]
    return [f"lost work is known since {clock(lost)}"] * (lost > max(since, page.since))


def activity_told(total: "UsageRow | UtilisationRow", held_gpu_us: int) -> list[str]:
    """Return how much is known of what GPUs did; nothing where that is nothing."""
    lines: list[str] = []
    if total.active_gpu_us is not None:
        part = _part(total.sampled_gpu_us, held_gpu_us)
        known = f"{hours(total.sampled_gpu_us)} GPU-hours sampled ({part} of held)"
        lines.append(f"active {hours(total.active_gpu_us)} of {known}, by {total.active_by}")
    if total.energy_mj is not None:
        by = f", by {total.energy_by}" if total.energy_by else ""
        known = f"{hours(total.energy_gpu_us)} GPU-hours"
        lines.append(f"energy {kwh(total.energy_mj)} kWh in {known}{by}")
    return lines


def _money_told(page: "UsagePage") -> list[str]:
    """Return the money of the fleet as one sum, what has no price, and what was corrected."""
    from ganglion.specs.grammar.money import print_money

    lines: list[str] = []
    for each in page.fleet or ():
        if not each.capacity_micro:
            continue
        parts = [("charged", each.charged_micro), ("discount", each.discount_micro)]
        parts += [("idle", each.idle_micro), ("unavailable", each.unavailable_micro)]
        sums = " + ".join(f"{name} {print_money(micro)}" for name, micro in parts)
        lines.append(
            f"{each.flavor}: {sums} = capacity {print_money(each.capacity_micro)} {page.currency}"
        )
    if page.fleet is None:
        lines.append(f"cost {print_money(page.total.cost_micro)} {page.currency}")
    if page.total.unpriced_gpu_us:
        gpu_hours = hours(page.total.unpriced_gpu_us)
        lines.append(f"unpriced: {gpu_hours} GPU-hours have no price and are not in the cost")
    lines += [
        f"corrected: {print_money(each.change_micro)} {page.currency} by price {each.number}"
        f" of {each.flavor}, set {clock(each.at)}"
        for each in page.corrections
    ]
    return lines


def _counts(each: "FlavorUsage") -> bool:
    return bool(each.capacity_gpu_us)


def reconciled(found: "FlavorUsage") -> str:
    """Return the GPUs of a flavor as one sum; idle takes up what cutting the others leaves."""
    held, shut, there = (
        value // HUNDREDTH_US
        for value in (found.held_gpu_us, found.unavailable_gpu_us, found.capacity_gpu_us)
    )
    idle = there - held - shut
    parts = [("held", held), ("idle", idle), ("unavailable", shut)]
    sums = " + ".join(f"{name} {_hundredths(value)}" for name, value in parts)
    return f"{sums} = capacity {_hundredths(there)} GPU-hours"
