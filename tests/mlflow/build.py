"""Finds MLflow, or installs it: `python -m tests.mlflow.build`.

It has an environment of its own in `~/.cache/ganglion`, named after the file of its requirements,
so that all checkouts share it. Installing needs the registry of Python packages, some minutes and
1 GB; tests never do it themselves.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "mlflow.txt"
CACHE = Path.home() / ".cache" / "ganglion"


def cached() -> Path:
    """Where the environment is, installed or not."""
    return CACHE / f"mlflow-{hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]}"


def python() -> Path:
    """The interpreter that has MLflow."""
    return cached() / "bin" / "python"


def missing() -> str:
    """What is missing to run MLflow; empty = nothing."""
    if not python().exists():
        return f"no {cached()}: python -m tests.mlflow.build installs it"
    return ""


def build() -> Path:
    """Install MLflow unless it is there; returns where it is.

    Raises:
        SystemExit: pip failed; has its last lines.
    """
    target = cached()
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "mlflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _install(target)
    return target


def _install(target: Path) -> None:
    part = target.with_name(f"part-mlflow-{os.getpid()}")
    try:
        _run(sys.executable, "-m", "venv", str(part))
        pip = (str(part / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet")
        _run(*pip, "install", "--require-hashes", "-r", str(REQUIREMENTS))
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"cannot install MLflow: {done.stderr.strip()[-500:]}")


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
