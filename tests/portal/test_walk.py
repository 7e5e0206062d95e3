"""A new user's walk through the portal, in a real browser, against a real `ganglion up`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.portal import MODULES, PORTAL, STATIC

from tests.forking import shell_command
from tests.ports import unused
from tests.server.process import end_all_of

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PICTURES = "GANGLION_PICTURES"
"""Variable that names a folder for screenshots of every page."""


def node() -> str:
    """Path of Node.js: that of this environment, else that of the machine."""
    own = Path(sys.executable).parent / "node"
    return str(own) if own.exists() else shutil.which("node") or ""


def missing() -> str:
    """What the walk lacks; empty = nothing."""
    if not (STATIC / "manifest.json").exists():
        return "the portal is not built: make portal"
    if not node() or not (MODULES / "playwright-core").exists():
        return "there is no Node.js with the packages of portal/: make portal"
    if not any(map(shutil.which, BROWSERS)):
        return f"there is no {' or '.join(BROWSERS)}: apt-get install chromium"
    return ""


@pytest.fixture
def surroundings(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a home whose server and jobs are gone afterwards."""
    home = tmp_path / "home"
    made = {**os.environ, "GANGLION_HOME": str(home), "OMP_NUM_THREADS": "1"}
    yield made
    down = [*shell_command(), "down", "--cancel"]
    subprocess.run(down, env=made, capture_output=True, timeout=60, check=False)
    end_all_of(home)


@pytest.mark.skipif(bool(missing()), reason=f"NO WALK THROUGH THE PORTAL: {missing()}")
def test_a_new_user_submits_learns_why_it_waits_and_reads_its_log(
    surroundings: dict[str, str],
) -> None:
    ganglion, port = shell_command(), unused()
    arguments = ["--port", str(port), "--fake-gpus", "H100:8"]
    up = subprocess.run(
        [*ganglion, "up", *arguments],
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert up.returncode == 0, up.stderr
    link = up.stdout.splitlines()[-1]
    assert link.startswith(f"http://127.0.0.1:{port}/#code="), up.stdout + up.stderr
    walk = subprocess.run(
        [node(), str(PORTAL / "e2e" / "walk.mjs")],
        env={
            **surroundings,
            "PORTAL_LINK": link,
            "GANGLION": json.dumps(ganglion),
            "UP": json.dumps(arguments),
            "CHROMIUM": next(filter(None, map(shutil.which, BROWSERS))),
            "OUT": os.environ.get(PICTURES, ""),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert walk.returncode == 0, walk.stdout + walk.stderr
    assert "all of it holds" in walk.stdout
