"""Finds MLflow, or installs it: `python -m tests.mlflow.build`.

It is kept in a virtual environment of its own in `~/.cache/ganglion`, named after the requirements,
so that all checkouts share it. Installing needs the Python registry and a minute; tests never do
it themselves.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
CACHE = Path.home() / ".cache" / "ganglion"


def cached() -> Path:
    """Where the environment is, installed or not."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes())
    return CACHE / f"mlflow-{digest.hexdigest()[:12]}"


def missing() -> str:
    """What is missing to run MLflow; empty = nothing."""
    if not (cached() / "complete").exists():
        return f"no {cached()}: python -m tests.mlflow.build installs it"
    return ""


def build() -> Path:
    """Install it unless it is there; returns where it is.

    Raises:
        SystemExit: pip failed; has its last lines.
    """
    target = cached()
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "mlflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if missing():
            _install(target)
    return target


def _install(target: Path) -> None:
    # Scripts name the folder that they were made in, so that it cannot be renamed at the end.
    shutil.rmtree(target, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(target)])
    pip = [str(target / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    _run([*pip, "install", "--require-hashes", "-r", str(REQUIREMENTS)])
    (target / "complete").touch()


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    if done.returncode:
        sys.exit(f"cannot install MLflow: {done.stderr.strip()[-500:]}")


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
