"""How quantities, times and ages read."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ganglion.api.money.costs import WorkloadCost
    from ganglion.api.reasons import ModelKept

DASH = "-"
HOUR_MS = 3_600_000


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000


def age(ms: int) -> str:
    """Return a duration in its two largest units: `45s`, `3m10s`, `2h05m`, `4d03h`."""
    seconds = max(0, ms) // 1000
    minutes, s = divmod(seconds, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days}d{h:02}h"
    if hours:
        return f"{hours}h{m:02}m"
    return f"{minutes}m{s:02}s" if minutes else f"{s}s"


def clock(ms: int | None) -> str:
    """Return a local time to the second; `-` for none."""
    if not ms:
        return DASH
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def milli(value: int) -> str:
    """Return thousandths as a short decimal: 8000 -> `8`, 500 -> `0.5`."""
    return f"{value / 1000:.3f}".rstrip("0").rstrip(".")


def memory(mib: int) -> str:
    """Return MiB in the unit that keeps it short: `512Mi`, `64Gi`, `2Ti`."""
    for unit, size in (("Ti", 1 << 20), ("Gi", 1 << 10)):
        if mib >= size:
            return f"{mib / size:.1f}".rstrip("0").rstrip(".") + unit
    return f"{mib}Mi"


def kept(found: "ModelKept | None") -> str:
    """Return whether a model lies on the server's machine: `cached`, `3.2Gi of 140Gi`, `failed`."""
    if found is None:
        return DASH
    if found.state == "fetching" and found.of:
        return f"{memory(found.bytes >> 20)} of {memory(found.of >> 20)}"
    return found.state


def plural(count: int, noun: str) -> str:
    """Return the count with its noun: `1 node`, `3 nodes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def plural_milli(value: int, noun: str) -> str:
    """Return thousandths with their noun: `1 GPU`, `0.5 GPUs`, `8 GPUs`."""
    return f"{milli(value)} {noun}" if value == 1000 else f"{milli(value)} {noun}s"


def both(words: Sequence[str]) -> str:
    """Return words as a list for people, one word at least: `a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def preempted(times: int, lost_gpu_ms: int) -> str:
    """Return how often something was stopped for others, and what that has cost it."""
    return f"{plural(times, 'time')}, {gpu_time(lost_gpu_ms)} of work lost"


def gpu_time(gpu_ms: int) -> str:
    """Return GPU time in the unit that says something: `1.5 GPU-hours`, `42 GPU-seconds`."""
    if gpu_ms < HOUR_MS // 20:
        return f"{gpu_ms / 1000:,.1f}".removesuffix(".0") + " GPU-seconds"
    return f"{gpu_ms / HOUR_MS:,.2f}".rstrip("0").rstrip(".") + " GPU-hours"


def cost(found: "WorkloadCost | None", *, over: bool = False) -> str:
    """Return what a workload costs: `1.20 EUR so far, 20.00 EUR at most`; `over`: it has ended."""
    from ganglion.specs.grammar.money import cut_money

    if found is None:
        return ""
    free = " and time without a price" if found.unpriced_gpu_us else ""
    so_far = f"{cut_money(found.so_far_micro)} {found.currency}{free}"
    return so_far if over else f"{so_far} so far, {most_cost(found)}"


def most_cost(found: "WorkloadCost") -> str:
    """Return what it costs at most: `20.00 EUR at most`, or why that is unknown."""
    from ganglion.specs.grammar.money import raised_money

    if found.most_micro is None:
        return f"the most is unknown: {found.unknown}"
    return f"{raised_money(found.most_micro)} {found.currency} at most"


def ranges(numbers: list[int]) -> str:
    """Return ascending numbers in short: [0, 1, 2, 5] -> `0-2,5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
