"""How much GPU time of idle notebooks comes back, and which users are wronged by it.

Truth is known, because the activity is made: see `benchmarks.idle.people`.
"""

from collections.abc import Sequence

from msgspec import Struct

from benchmarks.idle.people import Notebook, people
from benchmarks.idle.rules import RULES, TIMEOUT_MIN, WARN_MIN, Rule
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    check_policies,
    compared,
)

NOTEBOOKS, DAYS = 60, 14
BACK_SOON_MIN = 10
HOUR_MILLI = 60 * 1_000
"""Minutes x thousandths of GPUs in a GPU-hour."""


class Score(Struct):
    """What a rule did over all notebooks; times in minutes x thousandths of GPUs.

    Attributes:
        idle: truly idle time that there was.
        returned: of that, what was suspended.
        destroyed: time of computations that were cut off.
        suspensions: how many there were.
        wrongful: while the user was at work, or something computed.
        soon: rightful ones after which the user was back within ten minutes.
        unknown: while a series was missing or the notebook server did not answer.
    """

    idle: int = 0
    returned: int = 0
    destroyed: int = 0
    suspensions: int = 0
    wrongful: int = 0
    soon: int = 0
    unknown: int = 0

    def add(self, other: "Score") -> None:
        """Add another score to this one."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def play(books: Sequence[Notebook], number: int, rule: str) -> Score:
    """One notebook under one rule: suspended when the rule says so, resumed when it is used.

    Args:
        books: all of them; those that share a GPU see each other's use.
        number: which one.
        rule: one of `RULES`.
    """
    book, score = books[number], Score()
    mate = books[book.mate].minutes if book.shared else None
    watcher: Rule | None = RULES[rule](book, 0)
    cut = False
    for at, own in enumerate(book.minutes):
        truly = not own.present and not own.computing
        score.idle += book.gpus * truly
        cut = cut and own.computing
        if watcher is None and own.present:
            watcher, cut = RULES[rule](book, at), False
        if watcher is None:
            score.returned += book.gpus * truly
            score.destroyed += book.gpus * cut
            continue
        other = mate[at] if mate else None
        device = max(own.gpu_milli, other.gpu_milli if other else 0)
        moved = own.pcie + (other.pcie if other else 0)
        if watcher.minute(at, own, device, moved):
            _suspended(score, book, at)
            watcher, cut = None, own.computing
    return score


def _suspended(score: Score, book: Notebook, at: int) -> None:
    now = book.minutes[at]
    score.suspensions += 1
    score.unknown += not (now.gpu_told and now.server_told)
    if now.present or now.computing:
        score.wrongful += 1
    else:
        after = book.minutes[at + 1 : at + 1 + BACK_SOON_MIN]
        score.soon += any(each.present for each in after)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Every rule over the same notebooks, with several seeds."""
    rules = check_policies(BENCH, options.policies)
    count = options.gangs or NOTEBOOKS
    scores = {rule: Score() for rule in rules}
    done, total = 0, options.seeds * len(rules) * count
    for seed in range(options.seeds):
        books = people(count, DAYS, seed)
        for rule in rules:
            for number in range(count):
                scores[rule].add(play(books, number, rule))
                done += 1
                progress(done, total, f"{rule} seed {seed}")
    return _report(scores, count, options.seeds)


def _report(scores: dict[str, Score], count: int, seeds: int) -> Report:
    entries = {rule: _figures(score) for rule, score in scores.items()}
    forms = {
        "returned": ("returned_pct", "{:.1f} %"),
        "GPU-hours": ("returned_gpu_hours", "{:,.0f}"),
        "suspended": ("suspensions", "{:,}"),
        "wrongful": ("wrongful", "{:,}"),
        "destroyed": ("destroyed_gpu_hours", "{:,.0f}"),
        "back soon": ("back_soon", "{:,}"),
        "unseen": ("unknown", "{:,}"),
    }
    title = f"{count} notebooks over {DAYS} days, {seeds} seeds, timeout {TIMEOUT_MIN} min"
    hours = next(iter(scores.values())).idle / HOUR_MILLI
    notes = (
        f"Truly idle: {hours:,.0f} GPU-hours. Returned is the part of them that was suspended;"
        " destroyed are GPU-hours of computations that were cut off.",
        "Wrongful: its user was at work or something computed. Back soon: rightful, and its user"
        f" came back within {BACK_SOON_MIN} minutes. Unseen: while a GPU's series was missing or"
        f" the notebook server did not answer. Ours warns {WARN_MIN} minutes before.",
    )
    data = {"idle_gpu_hours": hours, "notebooks": count, "days": DAYS, "rules": entries}
    return Report(data, (compared(title, "rule", forms, entries),), notes)


def _figures(score: Score) -> dict[str, float]:
    return {
        "returned_pct": 100 * score.returned / score.idle if score.idle else 0.0,
        "returned_gpu_hours": score.returned / HOUR_MILLI,
        "destroyed_gpu_hours": score.destroyed / HOUR_MILLI,
        "suspensions": score.suspensions,
        "wrongful": score.wrongful,
        "back_soon": score.soon,
        "unknown": score.unknown,
    }


BENCH = Bench(
    "idle",
    "GPU time of idle notebooks that comes back, and who is wronged",
    run,
    policies=tuple(RULES),
    sizes=("gangs",),
)
