"""Finds the control plane's binary, or builds it: `python -m tests.controlplane.build`.

It is kept in `~/.cache/ganglion`, named after what it was built from, so that all checkouts of
one state share it. Building needs Go and its modules, 13 minutes of one core, and 6 GiB.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ganglion.bench.programs import ASSETS, BINARY, CACHE, HINT, Programs, find
from ganglion.model.errors import EnvironmentFault

HERE = Path(__file__).parent
SOURCES = ("go.mod", "go.sum", "main.go")
VERSION = ("1", "36", "2")
AT_ONCE = 2  # a compiler of these packages takes up to 2.4 GiB
_STAMP = "k8s.io/component-base/version"


def programs(say: Callable[[str], None]) -> Programs:
    """The programs that tests use.

    Args:
        say: told before something that takes minutes.

    Raises:
        EnvironmentFault: there are none and they cannot be built; says what to do.
    """
    if os.environ.get(BINARY) or os.environ.get(ASSETS):
        return find()
    binary = cached()
    if not binary.exists():
        if not shutil.which("go"):
            raise EnvironmentFault("no Kubernetes control plane and no Go to build one", HINT)
        with _alone():
            if not binary.exists():
                say(f"building the Kubernetes control plane once, some minutes: {binary}")
                build(binary)
    return Programs(binary)


def cached() -> Path:
    """Where the binary of these sources is, built or not."""
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update((HERE / name).read_bytes())
    return CACHE / f"controlplane-{digest.hexdigest()[:12]}"


def build(target: Path) -> None:
    """Build it, so that `target` is there whole or not at all.

    Raises:
        EnvironmentFault: the Go tool failed; has its last lines.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"part-{os.getpid()}")
    command = ["go", "build", "-trimpath", "-buildvcs=false", f"-p={AT_ONCE}"]
    command += ["-ldflags", _link_flags(), "-o", str(part), "."]
    environ = os.environ | {"CGO_ENABLED": "0"}
    done = subprocess.run(
        command, cwd=HERE, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        part.unlink(missing_ok=True)
        raise EnvironmentFault("cannot build the control plane", done.stderr.strip()[-500:])
    part.rename(target)


def _link_flags() -> str:
    major, minor, patch = VERSION
    stamps = {
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    return " ".join(["-s -w", *(f"-X {_STAMP}.{name}={text}" for name, text in stamps.items())])


@contextmanager
def _alone() -> Iterator[None]:
    """Let one process at a time build: test workers all find out at once that it is missing."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        found = programs(lambda text: print(text, file=sys.stderr))  # noqa: T201 - a program
        sys.stdout.write(f"{found.path}\n")
    except EnvironmentFault as fault:
        sys.exit(f"{fault.message}\n{fault.hint}")
