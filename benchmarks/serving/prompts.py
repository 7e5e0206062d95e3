"""Requests of traces of language models, and what a replica needs for them."""

import csv
import gzip
from pathlib import Path

import numpy as np
from msgspec import Struct

from benchmarks.common.traces import workload_files
from ganglion.model.errors import FieldError, FileError, NotFound


class Prompt(Struct, frozen=True):
    """One request.

    Attributes:
        at: when it arrives, in ms.
        tokens_in: length of the prompt.
        tokens_out: tokens that are generated.
    """

    at: int
    tokens_in: int
    tokens_out: int


class Model(Struct, frozen=True):
    """How fast a replica is.

    Attributes:
        prefill: tokens of prompts it reads in a second, one prompt after the other.
        decode: tokens it generates in a second for each request.
        slots: requests at once.
    """

    prefill: int = 10_000
    decode: int = 30
    slots: int = 32

    def prefill_ms(self, prompt: Prompt) -> int:
        """How long it reads a prompt."""
        return -(-prompt.tokens_in * 1_000 // self.prefill)

    def decode_ms(self, prompt: Prompt) -> int:
        """How long it generates the answer."""
        return -(-prompt.tokens_out * 1_000 // self.decode)

    def per_replica(self, prompts: list[Prompt], busy_pct: int = 70) -> float:
        """Requests at once with which a replica is busy to the given per cent.

        Whichever comes first: its slots are taken, or it reads prompts all the time.
        """
        reads = sum(self.prefill_ms(each) for each in prompts)
        lasts = reads + sum(self.decode_ms(each) for each in prompts)
        return busy_pct / 100 * min(self.slots, lasts / max(1, reads))


_COLUMNS = (
    ("arrival_s", "context_tokens", "generated_tokens", 1_000.0),
    ("arrival_ms", "input_tokens", "output_tokens", 1.0),
)
"""(arrival, prompt, answer, ms in the unit of arrival) as the known sources call them."""


def read_prompts(folder: Path, wanted: str | None) -> dict[str, list[Prompt]]:
    """Requests by workload: each file of a folder, or the one that is wanted.

    Raises:
        FileError, NotFound: there is no such folder or file, or it cannot be read.
        FieldError: the columns are not known, or a value is no number.
    """
    found = workload_files(folder, "")
    if wanted is not None and wanted not in found:
        raise NotFound(f"{folder} has no workload {wanted!r}", f"found: {', '.join(found)}")
    if not found:
        raise NotFound(f"{folder} has no CSV files", "give the folder of one source with --traces")
    chosen = {name: path for name, path in found.items() if wanted in (None, name)}
    return {name: _read(path) for name, path in chosen.items()}


def _read(path: Path) -> list[Prompt]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    names = rows[0].keys() if rows else ()
    for at, tokens_in, tokens_out, unit in _COLUMNS:
        if at in names:
            columns = (at, tokens_in, tokens_out)
            prompts = [_prompt(row, columns, unit, path, n) for n, row in enumerate(rows, 2)]
            return sorted(prompts, key=lambda prompt: prompt.at)
    known = " or ".join(columns[0] for columns in _COLUMNS)
    raise FieldError(f"has no column {known}", file=str(path), line=1)


def _prompt(
    row: dict[str, str], columns: tuple[str, str, str], unit: float, path: Path, line: int
) -> Prompt:
    try:
        at, tokens_in, tokens_out = (float(row[name]) for name in columns)
    except KeyError as error:
        raise FieldError(f"has no column {error}", file=str(path), line=line) from error
    except (TypeError, ValueError) as error:
        raise FieldError(f"a value is no number: {error}", file=str(path), line=line) from error
    return Prompt(round(at * unit), max(1, int(tokens_in)), max(1, int(tokens_out)))


def repeated(prompts: list[Prompt], seed: int, copies: int, spread_ms: int) -> list[Prompt]:
    """Every request `copies` times, each at an even chance within `spread_ms` after it."""
    chance = np.random.default_rng(seed)
    shifts = chance.integers(0, spread_ms, size=len(prompts) * copies).tolist()
    many = [
        Prompt(prompt.at + shifts[place * copies + copy], prompt.tokens_in, prompt.tokens_out)
        for place, prompt in enumerate(prompts)
        for copy in range(copies)
    ]
    return sorted(many, key=lambda prompt: prompt.at)


def made_up(seed: int, minutes: int = 60) -> list[Prompt]:
    """Requests of an hour with busy minutes, where there is no trace."""
    chance = np.random.default_rng(seed)
    rates = 60 * (1 + 3 * (chance.random(minutes) < 0.2))
    counts = chance.poisson(rates)
    at = np.repeat(np.arange(minutes) * 60_000, counts)
    at = at + chance.integers(0, 60_000, size=len(at))
    tokens_in = chance.lognormal(np.log(800), 1.0, size=len(at)).astype(int) + 1
    tokens_out = chance.lognormal(np.log(150), 0.8, size=len(at)).astype(int) + 1
    rows = zip(at.tolist(), tokens_in.tolist(), tokens_out.tolist(), strict=True)
    return sorted((Prompt(*row) for row in rows), key=lambda prompt: prompt.at)
