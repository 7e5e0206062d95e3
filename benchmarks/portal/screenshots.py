"""Takes the pictures of README from the product itself: `python -m benchmarks.portal.screenshots`.

A server of its own with a pretend fleet runs real processes; Chromium shows the portal.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.portal import MODULES, PORTAL, ROOT, environment

from benchmarks.speed.lists import Stage, started
from ganglion.model.errors import EnvironmentFault

PICTURES = ROOT / "docs" / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CLUSTER = """
levels: [block, rack]
pools:
- {name: h100, nodes: 24, per_block: 12, per_rack: 6, gpus: "H100:80GB:8", cpus: 96, memory: 1TiB}
- {name: a100, nodes: 6, racks: [r9], gpus: "A100:40GB:4", cpus: 64, memory: 512GiB}
queues:
- {name: org}
- {name: research, parent: org, quota: {H100: 96}, weight: 2}
- {name: product, parent: org, quota: {H100: 72, A100: 16}, lend_limit: {H100: 32}}
- {name: platform, parent: org, quota: {H100: 24, A100: 8}}
"""
RUNS = (
    ("llama-sft", "research", 4, 8, "any"),
    ("moe-pretrain", "research", 6, 8, "prefer_rack"),
    ("reward-model", "product", 2, 8, "any"),
    ("ranker", "product", 2, 8, "any"),
    ("asr-large", "product", 3, 8, "any"),
    ("diffusion-xl", "research", 1, 8, "any"),
    ("embeddings", "product", 1, 6, "any"),
    ("ocr-finetune", "platform", 1, 4, "any"),
    ("eval-nightly", "platform", 1, 3, "any"),
)
"""Name, queue, nodes, GPUs of each and where, of what runs."""
WAITS = (
    ("llama-dpo", "research", 4, 8, "rack"),
    ("moe-longer-context", "research", 8, 8, "block"),
    ("video-tokenizer", "research", 2, 8, "any"),
    ("speech-clone-eval", "product", 4, 8, "any"),
    ("ranker-ablation", "product", 2, 8, "rack"),
    ("tabular-foundation", "platform", 3, 8, "any"),
    ("retriever-refresh", "platform", 2, 8, "any"),
    ("vision-encoder", "research", 6, 8, "block"),
    ("code-model-sft", "product", 6, 8, "rack"),
)
"""The same of what comes later and has to wait."""


def main() -> int:
    """Take the pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or not MODULES.exists():
        raise EnvironmentFault("there is no Chromium, or the portal is not built", "make portal")
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder) / "cluster.yaml"
        cluster.write_text(CLUSTER)
        with started("--cluster", str(cluster)) as stage:
            waiting = _filled(stage)
            PICTURES.mkdir(exist_ok=True)
            _taken(stage, browser, waiting)
    return 0


def _filled(stage: Stage) -> str:
    """Have a fleet at work; returns the workload whose reason is shown."""
    for document in map(_document, RUNS):
        stage.client.submit(document)
    chosen, *_ = [stage.client.submit(_document(each)).id for each in WAITS]
    closed = [each.name for each in stage.client.nodes() if each.flavor == "A100"][-1]
    stage.client.cordon(closed, "a new power supply")
    return chosen


def _document(about: tuple[str, str, int, int, str]) -> dict[str, Any]:
    name, queue, nodes, gpus, placement = about
    return {
        "name": name,
        "queue": queue,
        "run": "sleep 600",
        "nodes": nodes,
        "resources": {"gpus": gpus, "cpus": 1},
        "placement": placement,
        "time_limit": "8h",
        "workdir": "/",
    }


def _taken(stage: Stage, browser: str, waiting: str) -> None:
    """Raises EnvironmentFault where the browser fails."""
    found = environment()
    made = {
        **stage.environ,
        "PATH": found["PATH"],
        "CHROMIUM": browser,
        "GANGLION": json.dumps([sys.executable, "-m", "ganglion"]),
        "WAITING": waiting,
        "OUT": str(PICTURES),
    }
    script = str(PORTAL / "e2e" / "screenshots.mjs")
    node = str(shutil.which("node", path=found["PATH"]))
    done = subprocess.run([node, script], env=made, cwd=ROOT, check=False)
    if done.returncode:
        raise EnvironmentFault("the pictures could not be taken")


if __name__ == "__main__":
    os.environ.pop("GANGLION_HOME", None)
    sys.exit(main())
