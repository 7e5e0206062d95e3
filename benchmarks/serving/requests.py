"""Requests of a trace of image generation, each repeated so often that they fill a fleet."""

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from benchmarks.common.traces import main_file
from ganglion.model.errors import FieldError, FileError

COPIES = 20
"""Every request of the trace represents this number."""

SPREAD_MS = 600_000
"""Time, in ms, within which its copies arrive, each at a time of its own."""

HOUR = 3_600_000
DAY = 24 * HOUR


class Request(Struct, frozen=True):
    """One request.

    Attributes:
        at: when it arrives, in ms.
        takes: how long a replica works on it, in ms.
        model: the base model it needs; empty = any.
    """

    at: int
    takes: int
    model: str = ""


def busy_hours(requests: Sequence[Request]) -> float:
    """Replica-hours of work: no autoscaler can do with fewer."""
    return sum(request.takes for request in requests) / HOUR


def read_requests(folder: Path) -> list[Request]:
    """The requests of a trace, by time; columns `arrival_s`, `exec_s` and `base_model`.

    Raises:
        FileError: there is no such folder, or the file cannot be read.
        FieldError: a column is missing, or a value is no number.
    """
    path = main_file(folder, "requests")
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as lines:
            rows = [_request(row, path, n) for n, row in enumerate(csv.DictReader(lines), 2)]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    return sorted(rows, key=lambda request: request.at)


def within_days(requests: Sequence[Request], days: tuple[int, int] | None) -> list[Request]:
    """The requests of some days of a trace, with time counted from the first of these days.

    Args:
        requests: of the whole trace.
        days: first and last, from 0; None = all of them.

    Raises:
        FieldError: there is no request on these days.
    """
    if days is None:
        return list(requests)
    begin, end = days[0] * DAY, (days[1] + 1) * DAY
    kept = [
        Request(each.at - begin, each.takes, each.model)
        for each in requests
        if begin <= each.at < end
    ]
    if not kept:
        last = max((each.at for each in requests), default=0) // DAY
        raise FieldError(
            f"the trace has no request on days {days[0]}..{days[1]}",
            key="days",
            hint=f"its last day is {last}",
        )
    return kept


def _request(row: dict[str, str], path: Path, line: int) -> Request:
    try:
        at, takes = float(row["arrival_s"]), float(row["exec_s"])
    except KeyError as error:
        raise FieldError(f"has no column {error}", file=str(path), line=line) from error
    except (TypeError, ValueError) as error:
        raise FieldError(f"has a time that is none: {error}", file=str(path), line=line) from error
    return Request(round(at * 1000), round(takes * 1000), row.get("base_model") or "")


def repeated(
    requests: list[Request], seed: int, copies: int = COPIES, spread_ms: int = SPREAD_MS
) -> list[Request]:
    """Every request `copies` times, each at an even chance within `spread_ms` after it."""
    chance = np.random.default_rng(seed)
    shifts = chance.integers(0, spread_ms, size=len(requests) * copies).tolist()
    many = [
        Request(request.at + shifts[place * copies + copy], request.takes, request.model)
        for place, request in enumerate(requests)
        for copy in range(copies)
    ]
    return sorted(many, key=lambda request: request.at)


def made_up(seed: int, days: int = 2) -> list[Request]:
    """Requests of some days with a daily cycle and busy half hours, where there is no trace."""
    chance = np.random.default_rng(seed)
    minutes = np.arange(days * 1440)
    cycle = 1 + np.sin(2 * np.pi * minutes / 1440)
    busy = np.repeat(chance.random(days * 48) < 0.15, 30) * 4
    counts = chance.poisson(0.4 * cycle * (1 + busy))
    at = np.repeat(minutes * 60_000, counts) + chance.integers(0, 60_000, size=counts.sum())
    takes = chance.lognormal(np.log(20_000), 0.6, size=len(at)).astype(int) + 1_000
    models = chance.zipf(1.6, size=len(at)) % 40
    rows = zip(at.tolist(), takes.tolist(), models.tolist(), strict=True)
    return sorted((Request(a, t, f"M{m:04d}") for a, t, m in rows), key=lambda r: r.at)
