"""The queue and the map of a large fleet in Chromium, and many readers of events.

The browser is driven by `portal/e2e/measure.mjs`. Its figures are those of the main thread of the
page, as Chromium traces it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.portal.streams import read_by
from benchmarks.registry import Bench, BenchOptions, Progress, Report, compared
from benchmarks.speed.lists import Stage, documents, started
from ganglion.model.errors import EnvironmentFault

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "portal" / "e2e" / "measure.mjs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
JOBS, NODES, READERS = 10_000, 1_000, 200
PER_NODE = 10
SECONDS = 20.0
LIMIT_S = 500

BOUNDS = {
    "queue_interactive_ms": 2_000,
    "queue_longest_script_ms": 50,
    "map_drawn_ms": 200,
    "map_core_percent": 10,
    "server_cores": 0.5,
}
_FORMS = {"measured": ("measured", "{:,.1f}"), "at most": ("bound", "{:,.1f}")}


def run(options: BenchOptions, progress: Progress) -> Report:
    """Measure the portal at a long queue, on a large fleet, and with many readers.

    Raises:
        EnvironmentFault: the portal is not built, or there is no Node.js or Chromium.
    """
    jobs, nodes = options.gangs or JOBS, options.nodes or NODES
    browser, node = _programs()
    load = round(os.getloadavg()[0], 1)
    figures: dict[str, Any] = {}
    shape = ("--nodes", str(nodes), "--fake-gpus", f"H100:{PER_NODE}", "--racks", "50")
    with started(*shape, "--cpus", "64", "--memory", "64Gi") as stage:
        progress(0, 3, f"{jobs:,} jobs begin to wait")
        _fill(stage, nodes, jobs)
        progress(1, 3, f"the queue of {jobs:,} and the map of {nodes * PER_NODE:,} GPUs")
        figures |= _measured(stage, node, browser)
        progress(2, 3, f"{READERS} readers")
        cost = read_by(stage, figures.pop("cookie"), figures.pop("url"), READERS, SECONDS)
    figures |= {
        "server_cores": cost.cores,
        "server_idle_cores": cost.idle_cores,
        "changes": cost.changes,
        "events": cost.events,
    }
    data = {"bench": "portal", "jobs": jobs, "gpus": nodes * PER_NODE, "load": load, **figures}
    rows = {name: {"measured": figures[name], "bound": bound} for name, bound in BOUNDS.items()}
    title = f"The portal: {jobs:,} jobs, {nodes * PER_NODE:,} GPUs, {READERS} readers; load {load}"
    return Report(data, (compared(title, "figure", _FORMS, rows),))


def _programs() -> tuple[str, str]:
    browser = next(filter(None, map(shutil.which, BROWSERS)), "")
    own = Path(sys.executable).parent / "node"
    node = str(own) if own.exists() else shutil.which("node") or ""
    if not browser or not node or not (ROOT / "portal" / "node_modules").exists():
        raise EnvironmentFault(
            "there is no Chromium, or no Node.js with the packages of portal/", "make portal"
        )
    return browser, node


def _fill(stage: Stage, nodes: int, jobs: int) -> None:
    """Close every node, so that nothing starts, and submit."""
    for number in range(nodes):
        stage.client.cordon(f"node-{number}", "measured")
    done = stage.client.bulk.submit(documents("train", 0, jobs)).accepted
    if done != jobs:
        raise EnvironmentFault(f"{jobs - done:,} of {jobs:,} jobs were refused")


def _measured(stage: Stage, node: str, browser: str) -> dict[str, Any]:
    made = {
        **stage.environ,
        "CHROMIUM": browser,
        "GANGLION": json.dumps([sys.executable, "-m", "ganglion"]),
    }
    done = subprocess.run(
        [node, str(SCRIPT)],
        env=made,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise EnvironmentFault(f"the browser could not be measured: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


BENCH = Bench(
    "portal",
    "The portal in Chromium at 10,000 waiting jobs and 10,000 GPUs, and 200 readers of events.",
    run,
    sizes=("nodes", "gangs"),
)
