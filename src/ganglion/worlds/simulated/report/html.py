"""A run as one HTML page that needs nothing else: no script, font or image from outside."""

from collections.abc import Iterable, Sequence
from html import escape

from ganglion.worlds.simulated.report import charts
from ganglion.worlds.simulated.report.format import duration, number, pct
from ganglion.worlds.simulated.report.style import COLOURS, CSS
from ganglion.worlds.simulated.report.summary import Summary
from ganglion.worlds.simulated.report.table import facts, quantities

MOST_ROWS = 20
Row = Sequence[str]


def render_html(summary: Summary) -> str:
    """The page; equal summaries give equal bytes."""
    sections = [
        _head(summary),
        _tiles(summary),
        _plots(summary),
        _tables(summary),
        _footer(summary),
    ]
    title = escape(summary.title or "Simulation")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{title}</title>\n<style>{CSS}{COLOURS}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )


def _head(summary: Summary) -> str:
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in summary.notes)
    return f"<h1>{escape(summary.title or 'Simulation')}</h1>\n{notes}"


def _tiles(summary: Summary) -> str:
    unit = summary.unit
    tiles = (
        (
            pct(summary.allocation.while_submitting_pct),
            f"{unit}s in use while jobs arrived",
        ),
        (duration(summary.wait_s.mean), "mean waiting time"),
        (duration(summary.jct_s.mean), "mean job completion time"),
        (number(round(summary.slowdown.mean, 2)), "mean bounded slowdown"),
        (pct(summary.fragmentation_pct), f"of free {unit}s unusable"),
    )
    shown = "".join(f'<div class="tile"><b>{value}</b><span>{n}</span></div>' for value, n in tiles)
    return f'<div class="tiles">{shown}</div>'


def _plots(summary: Summary) -> str:
    queues = [(f"c{place}", name) for place, name in enumerate(summary.series.queues)]
    return "\n".join(
        (
            _plot(
                f"{summary.unit}s in use",
                "Average of each bucket of time; the dashed line is what could be used at all.",
                [("c0", "in use"), ("total", "usable")],
                charts.allocation(summary),
            ),
            _plot(
                "Jobs",
                "How many wait and how many hold resources.",
                [("c0", "running"), ("c1", "waiting")],
                charts.backlog(summary),
            ),
            _plot(
                "Waiting time",
                "The part of the jobs that started after at most so long. Steep on the left is"
                " good; a long way to the right is a tail of jobs that wait.",
                [],
                charts.waits(summary),
            ),
            _plot(
                "Fragmentation",
                f"The part of the free {summary.unit}s that a typical {summary.unit} pod of this"
                " workload cannot use where they lie (Weng et al., USENIX ATC 2023). In a cluster"
                " that is nearly full, a small remainder reads as a high percentage.",
                [],
                charts.fragmentation(summary),
            ),
            _plot(
                "Share by queue",
                f"{summary.unit}s in use, stacked.",
                queues,
                charts.shares(summary),
            ),
        )
    )


def _plot(title: str, text: str, legend: Iterable[tuple[str, str]], svg: str) -> str:
    items = "".join(f'<li><i class="{s}"></i>{escape(name)}</li>' for s, name in legend)
    shown = f'<ul class="legend">{items}</ul>\n' if items else ""
    return f"<section>\n<h2>{title}</h2>\n<p>{text}</p>\n{shown}{svg}\n</section>"


def _tables(summary: Summary) -> str:
    parts = [_table("Summary", ("", ""), facts(summary), texts=(1,))]
    rows = [(name, *cells) for name, cells in quantities(summary)]
    parts.append(_table("Times", ("", "mean", "median", "p90", "p99", "maximum"), rows))
    if summary.waits:
        parts.append(_table("Why gangs waited", WAITS, _wait_rows(summary), texts=(4,)))
    parts.append(_table("Queues", _queue_heads(summary), _queue_rows(summary)))
    if summary.never:
        never = [(part.gang, part.message) for part in summary.never[:MOST_ROWS]]
        if summary.jobs.never > len(never):
            never.append((f"{number(summary.jobs.never - len(never))} more", ""))
        parts.append(_table("Can never start here", ("gang", "why"), never, texts=(1,)))
    return "\n".join(parts)


WAITS = ("last reason", "gangs", "in all", "longest", "reason of the longest one")


def _wait_rows(summary: Summary) -> list[Row]:
    return [
        (
            part.reason,
            number(part.gangs),
            duration(part.waited_hours * 3600),
            duration(part.longest_hours * 3600),
            part.message,
        )
        for part in summary.waits
    ]


def _queue_heads(summary: Summary) -> Row:
    return ("queue", "jobs", f"{summary.unit}-hours", "share", "mean wait", "mean JCT")


def _queue_rows(summary: Summary) -> list[Row]:
    rows: list[Row] = [
        (
            part.name,
            number(part.jobs),
            number(part.unit_hours),
            pct(part.share_pct),
            duration(part.mean_wait_s),
            duration(part.mean_jct_s),
        )
        for part in summary.queues[:MOST_ROWS]
    ]
    more = len(summary.queues) - len(rows)
    return [*rows, (f"{more} more", "", "", "", "", "")] if more else rows


def _table(title: str, heads: Row, rows: Iterable[Row], texts: tuple[int, ...] = ()) -> str:
    def cell(tag: str, place: int, text: str) -> str:
        style = ' class="text"' if place in texts else ""
        return f"<{tag}{style}>{escape(text)}</{tag}>"

    def line(tag: str, row: Row) -> str:
        return "<tr>" + "".join(cell(tag, i, text) for i, text in enumerate(row)) + "</tr>"

    head = f"<thead>{line('th', heads)}</thead>\n" if any(heads) else ""
    body = "\n".join(line("td", row) for row in rows)
    return (
        f'<section>\n<h2>{title}</h2>\n<div class="scroll"><table>\n{head}<tbody>\n{body}\n'
        "</tbody>\n</table></div>\n</section>"
    )


def _footer(summary: Summary) -> str:
    scorers = ", ".join(f"{each.name} \u00d7 {each.weight}" for each in summary.policy.scores)
    order = f"{summary.policy.order.value}{', strict' if summary.policy.strict else ''}"
    return (
        f"<footer>Ganglion simulation. Policy: order {escape(order)}; scores {escape(scorers)}."
        f" {number(summary.cycles)} scheduling cycles.</footer>"
    )
