"""Tests that need a control plane are counted where there is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = "tests/controlplane/test_kubelet.py"


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_did_not_run_is_counted_loudly(workers: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", workers, "-p", "no:cacheprovider", FILE],
        cwd=ROOT,
        env=os.environ | {"GANGLION_CONTROL_PLANE": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    number = (ROOT / FILE).read_text("utf-8").count("\ndef test_")
    assert f" {number} tests on a real Kubernetes API server did not run " in done.stdout
    assert done.returncode == 0, done.stdout
