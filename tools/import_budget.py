"""Measures what `ganglion --help` costs before it prints, in CPU time.

    python tools/import_budget.py [--limit SECONDS]

The best of several runs counts: a busy machine makes single runs slow, never faster.
"""

import argparse
import os
import resource
import subprocess
import sys

LIMIT_S = 0.25
RUNS = 7
COMMAND = (sys.executable, "-m", "ganglion", "--help")


def cpu_seconds(command: tuple[str, ...]) -> float:
    """Run a command and return the CPU time of it and its children, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Compare the best run with the limit; 1 = too slow."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="CPU seconds allowed")
    limit = parser.parse_args().limit
    best = min(cpu_seconds(COMMAND) for _ in range(RUNS))
    verdict = "within" if best <= limit else "OVER"
    print(f"ganglion --help: {best:.3f} s of CPU, {verdict} the budget of {limit} s")
    return int(best > limit)


if __name__ == "__main__":
    sys.exit(main())
