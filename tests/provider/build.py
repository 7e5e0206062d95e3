"""Finds the identity provider's packages, or installs them: `python -m tests.provider.build`.

They are kept in `~/.cache/ganglion`, named after the lock file, so that all checkouts share them.
Installing needs npm and its registry, and some seconds; tests never do it themselves.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FILES = ("package.json", "package-lock.json")
CACHE = Path.home() / ".cache" / "ganglion"


def cached() -> Path:
    """Where the packages are, installed or not."""
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES))
    return CACHE / f"provider-{digest.hexdigest()[:12]}"


def missing() -> str:
    """What is missing to run the provider; empty = nothing."""
    if not shutil.which("node"):
        return "no Node.js"
    if not cached().exists():
        return f"no {cached()}: python -m tests.provider.build installs it"
    return ""


def build() -> Path:
    """Install the packages unless they are there; returns where they are.

    Raises:
        SystemExit: npm is missing or failed; has its last lines.
    """
    target = cached()
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "provider.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _install(target)
    return target


def _install(target: Path) -> None:
    npm = shutil.which("npm")
    if not npm:
        sys.exit("no npm to install the identity provider with")
    part = target.with_name(f"part-provider-{os.getpid()}")
    part.mkdir()
    try:
        for name in FILES:
            shutil.copy(HERE / name, part)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=part, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"cannot install the identity provider: {done.stderr.strip()[-500:]}")
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
