"""Programs of others that tests run, built from pinned Go modules: `python -m tools.go_programs`.

Helm, kubectl and promtool, each from `tools/programs/NAME/go.mod`. A binary is kept in
`~/.cache/ganglion`, named after what it was built from, so that all checkouts share it. Building
takes Go, its modules, and some minutes of one core.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "programs"
CACHE = Path.home() / ".cache" / "ganglion"
PACKAGES = {
    "helm": "helm.sh/helm/v3/cmd/helm",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "promtool": "github.com/prometheus/prometheus/cmd/promtool",
}
AT_ONCE = 2


class BuildError(Exception):
    """A program cannot be built; the message has the end of what Go said."""


def cached(name: str) -> Path:
    """Where the binary of a program is, built or not."""
    digest = hashlib.sha256()
    for file in ("go.mod", "go.sum"):
        digest.update((FOLDER / name / file).read_bytes())
    return CACHE / f"{name}-{digest.hexdigest()[:12]}"


def found(name: str) -> str:
    """Path of a program that is there; empty = it is not.

    `$HELM`, `$KUBECTL` and `$PROMTOOL` name one; else it is the one that was built, or one on the
    path.
    """
    named = os.environ.get(name.upper(), "")
    return named or (str(cached(name)) if cached(name).exists() else shutil.which(name) or "")


def built(name: str) -> str:
    """Path of a program, which is built where it is not there; empty = there is no Go either.

    Raises:
        BuildError: Go cannot build it.
    """
    if found(name) or not shutil.which("go"):
        return found(name)
    CACHE.mkdir(parents=True, exist_ok=True)
    # Test workers all find out at once that it is missing.
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return found(name) or _build(name)


def _build(name: str) -> str:
    target = cached(name)
    part = target.with_name(f"part-{name}-{os.getpid()}")
    command = ["go", "build", "-trimpath", "-buildvcs=false", f"-p={AT_ONCE}"]
    command += ["-ldflags=-s -w", "-o", str(part), PACKAGES[name]]
    done = subprocess.run(
        command,
        cwd=FOLDER / name,
        env=os.environ | {"CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        part.unlink(missing_ok=True)
        raise BuildError(f"cannot build {name}: {done.stderr.strip()[-500:]}")
    part.rename(target)
    return str(target)


if __name__ == "__main__":
    for each in sys.argv[1:] or PACKAGES:
        sys.stdout.write(f"{built(each) or f'{each}: there is no Go to build it'}\n")
