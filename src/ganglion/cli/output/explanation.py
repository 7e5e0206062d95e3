"""How a wait is explained: one sentence, the evidence, which gangs are ahead, what would help."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ganglion.cli.output.formats import (
    DASH,
    age,
    both,
    clock,
    memory,
    milli,
    now_ms,
    plural,
    preempted,
    ranges,
)
from ganglion.cli.output.screen import note, out
from ganglion.cli.output.tables import print_table
from ganglion.model.reasons import (
    Band,
    Chance,
    Explanation,
    Reason,
    Remedy,
    Suggestion,
    chance_of,
)

if TYPE_CHECKING:
    from ganglion.api.reasons import AskedScheduler, Explained, WaitedFor, Why

NAMED = 3
"""Gangs named at most of those that make a start unknown."""

SECOND_MS = 1_000
UNKNOWN = "unknown"
"""Reason of a wait of which none was found out."""

BAR = 24
"""Columns of the longest bar."""

SPANS = ("limit_ms", "recall_ms")
"""Evidence that is a length of time; other evidence in ms is a point in time."""

WHO: dict[Remedy, str] = {
    Remedy.WAIT: "wait: it starts by itself",
    Remedy.CHANGE: "change the request",
    Remedy.ADMIN: "ask an administrator",
}


def waited(parts: "Iterable[WaitedFor]") -> str:
    """Return for what gangs have waited, the longest first: `quota 20m00s, order 5m00s`."""
    sums = dict[str, int]()
    for each in parts:
        sums[each.reason] = sums.get(each.reason, 0) + each.total_ms
    return waits(sums)


def waits(sums: Mapping[str, int]) -> str:
    """Return times by reason, the longest first; below a second as `<1s`.

    A reason is known to the record of waits about a second after it is found: until then that
    time is left out.
    """
    known = [each for each in sums.items() if each[0] != UNKNOWN or each[1] >= SECOND_MS]
    ordered = sorted(known, key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{kind} {age(ms) if ms >= SECOND_MS else '<1s'}" for kind, ms in ordered)


def reason_lines(reason: Reason) -> list[tuple[str, Text]]:
    """Return the rows that describe one reason."""
    when = Text("never, as things are", "bold red") if reason.never else Text("not now", "yellow")
    return [
        ("Reason", Text(str(reason.token))),
        ("When", when),
        ("What helps", Text(WHO[reason.remedy])),
        *([("Evidence", Text(_evidence(reason)))] if reason.evidence else []),
    ]


def suggestion_lines(suggestions: Sequence[Suggestion]) -> list[tuple[str, Text]]:
    """Return one row per change that was verified to start it now."""
    return [
        ("Would start it" if number == 0 else "or", Text(_suggestion(one), "green"))
        for number, one in enumerate(suggestions)
    ]


def explanation_lines(explanation: Explanation) -> list[tuple[str, Text]]:
    """Return the rows that describe why one gang waits."""
    if explanation.reason is None:
        return deadline_lines(explanation, now_ms())
    return [
        *reason_lines(explanation.reason),
        *([("Position", Text(_position(explanation)))] if explanation.position else []),
        *_holders(explanation),
        *_when(explanation, now_ms()),
        *_histogram(explanation.histogram),
        *_closed(explanation.closed),
        *suggestion_lines(explanation.suggestions),
    ]


def grid(rows: Sequence[tuple[str, Text]], indent: int = 2) -> Table:
    """Lay rows out as labels and values."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(" " * indent + label, "bold"), value)
    return table


def _evidence(reason: Reason) -> str:
    return ", ".join(_quantity(name, number) for name, number in reason.evidence.items())


def _quantity(name: str, number: int) -> str:
    """Return one number with its name, in the unit that its name ends in."""
    base, _, unit = name.rpartition("_")
    words = base.replace("_", " ")
    if unit == "milli":
        return f"{words} {milli(number)}"
    if unit == "mib":
        return f"{words} {memory(number)}"
    if name in SPANS:
        return f"{words} {age(number) if number else DASH}"
    if unit in ("ms", "until"):
        return f"{words or unit} {clock(number)}"
    return f"{name.replace('_', ' ')} {number:,}"


def _suggestion(one: Suggestion) -> str:
    where = f" (within one {one.level})" if one.level else ""
    whom = f"; {both(one.stops)} would have to yield" if one.stops else ""
    return f"{one.change}{where}{whom}"


def _holders(explanation: Explanation) -> list[tuple[str, Text]]:
    """The gangs that run where it could."""
    if not explanation.holders:
        return []
    more = explanation.holder_count - len(explanation.holders)
    rest = f" and {more:,} more" if more > 0 else ""
    return [("Held by", Text(", ".join(explanation.holders) + rest))]


def _when(explanation: Explanation, now: int) -> list[tuple[str, Text]]:
    """When it is expected to start, and what it is promised."""
    rows = []
    if explanation.start:
        rows += start_lines(explanation.start, now)
    elif explanation.position and explanation.reason and not explanation.reason.never:
        rows.append(("Expected", Text(unknown_start(explanation.guesses))))
    rows += deadline_lines(explanation, now)
    rows += _escalation(explanation, now)
    if explanation.reserved_ms:
        ahead = age(max(explanation.reserved_ms - now, 0))
        rows.append(("Reserved", Text(f"its place in {ahead}, or before")))
    return rows


def start_lines(band: Band, now: int) -> list[tuple[str, Text]]:
    """Return the row that says when a gang is expected to start."""
    likely, late = (age(max(each - now, 0)) for each in (band.p50, band.p90))
    return [("Expected", Text(f"in about {likely}; nine times in ten within {late}"))]


def deadline_lines(explanation: Explanation, now: int) -> list[tuple[str, Text]]:
    """When it should have ended, and the chance that it will have."""
    due, end = explanation.deadline_ms, explanation.end
    if not due:
        return []
    when = f"in {age(due - now)}" if due > now else f"{age(now - due)} ago"
    chance = chance_of(due, end)
    if chance is Chance.UNKNOWN or end is None:
        told = "whether it is met is unknown, as its start or its run time is"
    elif chance is Chance.LIKELY:
        told = f"likely to be met: nine times in ten it ends within {age(max(end.p90 - now, 0))}"
    else:
        word = "an even chance" if chance is Chance.EVEN else "unlikely to be met"
        told = f"{word}: expected to end in about {age(max(end.p50 - now, 0))}"
    return [("Deadline", Text(f"{when}; {told}"))]


def _escalation(explanation: Explanation, now: int) -> list[tuple[str, Text]]:
    """The steps by which waiting raised its priority, and the next one."""
    steps = [
        f"{each.to}, raised from {each.before} {age(now - each.at)} ago"
        for each in explanation.raised
    ]
    coming = explanation.next_raise
    if coming:
        steps.append(f"{coming.to} in {age(max(coming.at - now, 0))}, if it still waits")
    return [("Priority" if not number else "", Text(each)) for number, each in enumerate(steps)]


def unknown_start(guesses: Sequence[str]) -> str:
    """Say why the start is unknown, and what would make it known."""
    if not guesses:
        return "unknown: no expected end of a running gang makes room for it"
    more = len(guesses) - NAMED
    named = ", ".join(guesses[:NAMED]) + (f" and {more} more" if more > 0 else "")
    return (
        f"unknown: {named} may run for any time;"
        " a time limit there, or finished runs like these, make it known"
    )


def _position(explanation: Explanation) -> str:
    if not explanation.ahead_count:
        return f"{explanation.position}, next in line"
    shown = ", ".join(explanation.ahead)
    more = explanation.ahead_count - len(explanation.ahead)
    rest = f" and {more:,} more" if more > 0 else ""
    return f"{explanation.position}, behind {shown}{rest}" if shown else str(explanation.position)


def _histogram(counts: dict[str, int]) -> list[tuple[str, Text]]:
    """Return a bar per obstacle, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    most = max(counts.values(), default=1)
    rows = []
    for number, (obstacle, count) in enumerate(ordered):
        bar = "█" * max(1, count * BAR // most)
        text = Text.assemble((bar, "yellow"), f" {plural(count, 'node')}: {obstacle}")
        rows.append(("Obstacles" if number == 0 else "", text))
    return rows


def _closed(nodes: dict[str, str]) -> list[tuple[str, Text]]:
    """Return a row per node that takes nothing new, with the command that ends that."""
    told = [Text(f"{node}: {why}") for node, why in nodes.items()]
    return [("Closed" if number == 0 else "", text) for number, text in enumerate(told)]


def print_why(answer: "Why") -> None:
    """Print why a workload waits; equal gangs are explained once."""
    groups: dict[str, list[Explained]] = {}
    for one in answer.explanations:
        groups.setdefault(f"{one.phase} {one.reason and one.reason.message}", []).append(one)
    alone = max(answer.gangs, len(answer.explanations)) == 1
    for number, equal in enumerate(groups.values()):
        if number:
            out().print()
        _print_group(answer.workload if alone else _members(equal), equal)
    if answer.asked and not answer.asked.answered:
        _print_asked(answer.asked)


def _print_asked(asked: "AskedScheduler") -> None:
    """Say how old what is said of work in a cluster is, and why nothing newer came."""
    since = f"{age(now_ms() - asked.at)} ago" if asked.at else "at no known time"
    note(f"This is as the scheduler of cluster {asked.cluster} delivered {since}, for")
    note(f"{asked.trouble}. Hint: {asked.hint}" if asked.hint else asked.trouble)


def _print_group(who: str, equal: "list[Explained]") -> None:
    first = equal[0]
    out().print(Text.assemble((who, "bold"), f" {_sentence(first)}"))
    held = [("Held", Text("\n".join(map(str, first.held))))] if first.held else []
    rows = explanation_lines(first) + held + _waited(equal) + _cost(equal)
    if rows:
        print_table(grid(rows))


def _waited(equal: "list[Explained]") -> list[tuple[str, Text]]:
    """For what the first of them has waited so far."""
    said = waited(equal[0].waited)
    whose = f"; of {equal[0].gang}" if said and len(equal) > 1 else ""
    return [("Waited for", Text(said + whose))] if said else []


def _cost(equal: "list[Explained]") -> list[tuple[str, Text]]:
    """What yielding to others has cost them so far."""
    times = sum(one.preemptions for one in equal)
    lost = sum(one.lost_gpu_ms for one in equal)
    return [("Preempted", Text(preempted(times, lost)))] if times else []


def _sentence(explanation: "Explained") -> str:
    reason = explanation.reason
    if reason is None:
        if explanation.phase == "pending" and explanation.text:  # of a cluster, or not found yet
            return explanation.text.removeprefix(explanation.gang).strip()
        return f"does not wait: it is {explanation.phase}"
    return f"{'can never start' if reason.never else 'waits'}: {reason.message}"


def _members(equal: "list[Explained]") -> str:
    """Name gangs that wait for the same thing: `sweep-12/0-3,7`."""
    workload = equal[0].gang.rpartition("/")[0]
    indexes = sorted(int(one.gang.rpartition("/")[2]) for one in equal)
    return f"{workload}/{ranges(indexes)}"
