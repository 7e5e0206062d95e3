"""Repeats published benchmarks and compares their figures with those that docs show.

python -m tools.soak --traces DIR [NAME ...]

NAME is a file of docs/benchmarks/results without its ending; all of them where none is given. DIR
holds one folder per source of traces. What is decided is the same to the digit on every machine,
so that figures may differ by `TOLERANCE_PERMILLE` at most; times are not compared.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tools.figures import DOCS

RESULTS = DOCS / "benchmarks" / "results"
TOLERANCE_PERMILLE = 1
"""By how much a figure may differ: what other versions of numpy make of sums."""

MACHINE = (
    "per_s",
    "again_s",
    "before_mib",
    "decision_s",
    "peak_mib",
    "settled_s",
    "engine_s",
    "cpu_s",
    "cpu_ms",
    "answer_ms",
    "slowest_cycle_ms",
    "backlog_s",
    "bound_s",
    "burst_s",
    "events",
    "first_s",
    "gone_s",
    "last_s",
    "marked_s",
    "nominated_s",
    "p50_ms",
    "p99_ms",
    "rss_mib",
    "p99_s",
    "max_s",
    "total_s",
    "wall_s",
    "_us",
    "slowest_gang_ms",
    "source",
)
"""Ends of the names of figures that depend on the machine."""


class Difference(NamedTuple):
    """A figure that is not what it was.

    Attributes:
        path: where it lies in the result, with dots.
        kept: what docs show; None = nothing.
        now: what was measured; None = nothing.
    """

    path: str
    kept: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.path}: {self.kept} is {self.now} now"


def differences(kept: Any, now: Any, path: str = "") -> Iterator[Difference]:  # noqa: ANN401 - JSON
    """Every figure, name and truth value that differs, depth first.

    Args:
        kept: of the result file.
        now: of the repeated run.
        path: where both lie, with dots.
    """
    if path.endswith(MACHINE) or path == "growth":
        return
    if isinstance(kept, dict) and isinstance(now, dict):
        for key in sorted({*kept, *now}):
            inner = f"{path}.{key}" if path else key
            yield from differences(kept.get(key), now.get(key), inner)
    elif isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        for index, (one, other) in enumerate(zip(kept, now, strict=True)):
            yield from differences(one, other, f"{path}.{index}")
    elif not _is_close(kept, now):
        yield Difference(path, kept, now)


def _is_close(kept: Any, now: Any) -> bool:  # noqa: ANN401 - JSON
    if isinstance(kept, bool) or isinstance(now, bool):
        return kept is now
    if isinstance(kept, int | float) and isinstance(now, int | float):
        return abs(now - kept) * 1000 <= TOLERANCE_PERMILLE * abs(kept)
    return bool(kept == now)


def repeated(command: str, traces: Path | None) -> Any:  # noqa: ANN401 - JSON
    """The result of running a command again.

    Args:
        command: as the result file has it: `python -m benchmarks NAME --traces traces/SOURCE ...`.
        traces: folder in place of `traces`.

    Raises:
        CalledProcessError: the benchmark failed; its errors were printed.
    """
    words = [_placed(word, traces) for word in shlex.split(command.removeprefix("python "))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        run = [sys.executable, *words, "--json", str(file)]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL, cwd=DOCS.parent)
        return json.loads(file.read_text("utf-8"))


def _placed(word: str, traces: Path | None) -> str:
    source = word.removeprefix("traces/")
    return str(traces.absolute() / source) if traces and source != word else word


def main() -> int:
    """Run the tool; returns 1 where a figure differs or a benchmark fails."""
    parser = ArgumentParser(prog="python -m tools.soak")
    parser.add_argument("--traces", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    names = given.names or sorted(path.stem for path in RESULTS.glob("*.json"))
    failed = 0
    for name in names:
        kept = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
        if not kept["command"].startswith("python -m benchmarks "):
            print(f"{name}: left out, as it depends on the machine: {kept['command']}")
            continue
        print(f"{name}: {kept['command']}", flush=True)
        try:
            found = list(differences(kept["data"], repeated(kept["command"], given.traces)))
        except subprocess.CalledProcessError as error:
            print(f"  failed with exit code {error.returncode}")
            failed += 1
            continue
        for each in found:
            print(f"  {each}")
        failed += bool(found)
    print(f"{len(names) - failed} of {len(names)} as published")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
