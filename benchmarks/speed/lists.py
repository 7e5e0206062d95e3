"""How long lists and verbs take at many waiting jobs: a real server, its SDK, its command line."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from msgspec import Struct

from benchmarks.registry import Bench, BenchOptions, Progress, Report, compared
from ganglion.client import Client
from ganglion.client.home import read_server
from ganglion.model.errors import EnvironmentFault

JOBS = 10_000
"""Jobs that wait, unless the person says otherwise."""
ONE_BY_ONE = 1_000
"""Jobs submitted one by one: the first ones, and as many more while all wait."""
FLEET = ("--nodes", "1", "--fake-gpus", "H100:8", "--cpus", "64", "--memory", "64Gi")
START_S = 60.0
LISTS = (("ps",), ("queue",), ("ps", "--state", "running"), ("ps", "-o", "json"))

_FORMS = {
    "first row s": ("first_s", "{:.2f}"),
    "all s": ("wall_s", "{:.2f}"),
    "CPU s, client": ("client_cpu_s", "{:.2f}"),
    "CPU s, server": ("server_cpu_s", "{:.2f}"),
    "lines": ("lines", "{:,}"),
}
_SUBMITS = {
    "a second": ("per_s", "{:,.0f}"),
    "CPU ms, client": ("client_cpu_ms", "{:.2f}"),
    "CPU ms, server": ("server_cpu_ms", "{:.2f}"),
}


class Stage(Struct):
    """A server of its own in a temporary home.

    Attributes:
        environ: of its command line.
        client: a connection to it.
        process: the server.
    """

    environ: dict[str, str]
    client: Client
    process: psutil.Process

    def cpu_s(self) -> float:
        """Processor time of the server so far, in seconds."""
        used = self.process.cpu_times()
        return float(used.user + used.system)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Fill a queue, list it, and cancel all of it."""
    jobs, load = options.gangs or JOBS, round(os.getloadavg()[0], 1)
    steps = len(LISTS) + 4
    with started(*FLEET) as stage:
        stage.client.submit(
            {"name": "holder", "run": "sleep 100000", "resources": {"gpus": 8}, "workdir": "/"}
        )
        alone = min(ONE_BY_ONE, jobs)
        progress(0, steps, f"{alone:,} submits one by one")
        submits = {"one by one": _singly(stage, documents("train", 0, alone))}
        progress(1, steps, f"{jobs - alone:,} submits in batches")
        rest = documents("train", alone, jobs)
        submits["batches"] = _submitted(
            stage, len(rest), lambda: stage.client.bulk.submit(rest).accepted
        )
        progress(2, steps, f"{alone:,} submits one by one while {jobs:,} wait")
        submits["one by one while all wait"] = _singly(stage, documents("late", 0, alone))
        stage.client.bulk.cancel(name="late-*")
        lists: dict[str, dict[str, Any]] = {}
        for number, words in enumerate((*LISTS, ("cancel", "--all", "--yes")), 3):
            progress(number, steps, " ".join(words))
            lists[" ".join(words)] = _command(stage, *words)
        left = len(stage.client.workloads(limit=1000).items)
    data = {
        "bench": "lists",
        "jobs": jobs,
        "load": load,
        "submits": submits,
        "commands": lists,
        "left": left,
    }
    tables = (
        compared(f"Submits through the SDK, one thread; load {load} before", "", _SUBMITS, submits),
        compared(f"Commands at {jobs:,} waiting jobs", "", _FORMS, lists),
    )
    return Report(data, tables)


def documents(name: str, begin: int, end: int) -> list[dict[str, Any]]:
    """Jobs of one of eight sizes that have to wait, with these numbers in their names."""
    return [
        {
            "name": f"{name}-{number:06}",
            "run": "python train.py --lr 0.1",
            "resources": {"gpus": 1 + number % 8},
            "workdir": "/",
        }
        for number in range(begin, end)
    ]


def _singly(stage: Stage, jobs: list[dict[str, Any]]) -> dict[str, float]:
    """Figures of submitting jobs one after the other."""
    submit = stage.client.submit
    return _submitted(stage, len(jobs), lambda: sum(submit(each).gangs for each in jobs))


def _submitted(stage: Stage, count: int, submit: Callable[[], int]) -> dict[str, float]:
    """Figures of submitting a number of jobs.

    Raises:
        EnvironmentFault: some were refused.
    """
    server, client, began = stage.cpu_s(), time.process_time(), time.monotonic()
    accepted = submit()
    wall = time.monotonic() - began
    if accepted != count:
        raise EnvironmentFault(f"{count - accepted:,} of {count:,} jobs were refused")
    each = 1000 / max(1, count)
    return {
        "jobs": count,
        "wall_s": round(wall, 3),
        "per_s": round(count / wall, 1) if wall else 0.0,
        "client_cpu_ms": round((time.process_time() - client) * each, 3),
        "server_cpu_ms": round((stage.cpu_s() - server) * each, 3),
    }


def _command(stage: Stage, *words: str) -> dict[str, Any]:
    """Figures of one command whose output goes into a pipe."""
    server, began = stage.cpu_s(), time.monotonic()
    before = os.times()
    command = [sys.executable, "-m", "ganglion", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=stage.environ) as process:
        assert process.stdout
        lines, first = 0, 0.0
        for line in process.stdout:
            lines += 1
            # The first line is the heading, or the bracket of a list.
            first = first or (lines > 1 or b"cancel" in line) * (time.monotonic() - began)
    after = os.times()
    if process.returncode:
        raise EnvironmentFault(f"ganglion {' '.join(words)} ended with {process.returncode}")
    used = after.children_user + after.children_system
    return {
        "first_s": round(first, 3),
        "wall_s": round(time.monotonic() - began, 3),
        "client_cpu_s": round(used - before.children_user - before.children_system, 3),
        "server_cpu_s": round(stage.cpu_s() - server, 3),
        "lines": lines,
    }


@contextmanager
def started(*fleet: str) -> Iterator[Stage]:
    """Start a server, and stop it at the end.

    Args:
        fleet: options of `ganglion up` that say which nodes there are.

    Raises:
        EnvironmentFault: it does not start.
    """
    home = Path(tempfile.mkdtemp(prefix="ganglion-lists-"))
    environ = os.environ | {"GANGLION_HOME": str(home), "NO_COLOR": "1"}
    for name in ("GANGLION_URL", "GANGLION_TOKEN"):
        environ.pop(name, None)
    ports = ("--port", "0", "--services-port", "0")
    command = [sys.executable, "-m", "ganglion", "up", *fleet, *ports]
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        record = read_server(home)
        if done.returncode or record is None:
            raise EnvironmentFault(f"the server did not start: {done.stderr.strip()[-500:]}")
        with Client.of_home(home, timeout_s=START_S) as client:
            yield Stage(environ, client, psutil.Process(record.pid))
    finally:
        down = [sys.executable, "-m", "ganglion", "down", "--cancel"]
        subprocess.run(down, env=environ, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)


BENCH = Bench(
    "lists",
    "Lists, cancelling and submitting at 10,000 waiting jobs; --gangs says how many.",
    run,
    sizes=("gangs",),
)
