"""Replicas that have one base model loaded at a time, and how long loading takes."""

import csv
import gzip
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.common.traces import choose, csv_files
from benchmarks.serving.fleet import Replica
from benchmarks.serving.requests import Request
from ganglion.model.errors import FieldError, FileError, NotFound

Quantiles = Sequence[tuple[float, float]]
"""(share, ms), rising in both."""

LOAD = "base_model_load"
"""Name of the row that says how long base models take to load."""

MADE_UP: Quantiles = ((0.0, 2_000), (0.3, 4_000), (0.5, 22_000), (0.9, 42_000), (1.0, 60_000))
"""Times to load a model where there is no trace, in ms."""


def read_quantiles(folder: Path, metric: str) -> Quantiles:
    """How long something took, from the table of latencies of a trace.

    Raises:
        FileError, NotFound: there is no such folder or file.
        FieldError: the file has no such row, or a value is no number.
    """
    path = choose(csv_files(folder), "latency_quantiles_ms", folder)
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    for row in rows:
        if row.get("metric") == metric:
            return _quantiles(row, path)
    raise NotFound(f"{path} has no row {metric!r}")


def _quantiles(row: dict[str, str], path: Path) -> Quantiles:
    try:
        found = [
            (float(name[1:]) / 100, float(text))
            for name, text in row.items()
            if name.startswith("p") and name[1:2].isdigit()
        ]
    except (TypeError, ValueError) as error:
        raise FieldError(f"a quantile is no number: {error}", file=str(path)) from error
    if len(found) < 2:
        raise FieldError("has fewer than two quantiles", file=str(path))
    return sorted(found)


def drawn(quantiles: Quantiles, seed: int, least_ms: int = 0) -> Callable[[], int]:
    """Draws times in ms, straight between the quantiles; what lies outside is cut off.

    Args:
        quantiles: of the times.
        seed: the same seed draws the same times.
        least_ms: added to every one.
    """
    chance = np.random.default_rng(seed)
    shares, times = zip(*quantiles, strict=True)
    return lambda: least_ms + round(float(np.interp(chance.random(), shares, times)))


class Loaded:
    """Idle replicas, each with the model it served last; an `Idle`.

    Args:
        load: how long the next model takes to load, in ms.
        affinity: whether a request goes to a replica that has its model, if one is idle; and
            otherwise to the one that was idle for longest, whose model is missed least. Without
            it, the one that was busy last takes the request, whatever it has.
    """

    def __init__(self, load: Callable[[], int], *, affinity: bool) -> None:
        self._load, self._affinity = load, affinity
        self._all: OrderedDict[int, Replica] = OrderedDict()
        self._having: dict[str, OrderedDict[int, Replica]] = {}
        self.loads = 0

    def add(self, replica: Replica) -> None:
        """It has nothing to do."""
        self._all[replica.number] = replica
        self._having.setdefault(replica.model, OrderedDict())[replica.number] = replica

    def take(self, request: Request) -> tuple[Replica, int]:
        """The replica for a request, and how long it loads the model, in ms."""
        replica = self._chosen(request.model)
        self._drop(replica)
        if replica.model == request.model:
            return replica, 0
        replica.model = request.model
        self.loads += 1
        return replica, self._load()

    def release(self) -> Replica:
        """The one that was idle for longest."""
        replica = next(iter(self._all.values()))
        self._drop(replica)
        return replica

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all)

    def _chosen(self, model: str) -> Replica:
        if not self._affinity:
            return next(reversed(self._all.values()))
        having = self._having.get(model)
        return next(reversed(having.values())) if having else next(iter(self._all.values()))

    def _drop(self, replica: Replica) -> None:
        del self._all[replica.number]
        having = self._having[replica.model]
        del having[replica.number]
        if not having:
            del self._having[replica.model]
