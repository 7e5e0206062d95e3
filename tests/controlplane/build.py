"""Finds the control plane's binary, or builds it: `python -m tests.controlplane.build`.

It is kept in `~/.cache/ganglion`, named after what it was built from, so that all checkouts of
one state share it. Building needs Go and its modules, 13 minutes of one core, and 6 GiB.
`--minor 1.37` builds that one: tests use it where it is, and never build it themselves.
"""

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.controlplane.programs import ASSETS, BINARY, CACHE, HINT, Programs, find
from ganglion.model.errors import EnvironmentFault

HERE = Path(__file__).parent
PINNED, NEXT = "1.36", "1.37"
"""Minor versions of Kubernetes: of all tests, and of those that compare the two."""
MODULES = {PINNED: "go.mod", NEXT: f"go-{NEXT}.mod"}
"""Minor version -> the file that pins its modules; their sums lie beside it."""
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
        _build_once(binary, PINNED, say)
    return Programs(binary)


def _build_once(binary: Path, minor: str, say: Callable[[str], None]) -> None:
    with _alone():
        if not binary.exists():
            say(f"building the control plane of Kubernetes {minor} once, some minutes: {binary}")
            build(binary, minor)


def built(minor: str) -> Programs:
    """The programs of another minor version, which are never built on the way.

    Raises:
        EnvironmentFault: they were not built yet; says how they are.
    """
    binary = cached(minor)
    if not binary.exists():
        raise EnvironmentFault(
            f"no control plane of Kubernetes {minor}",
            f"build it with `python -m tests.controlplane.build --minor {minor}` (13 minutes)",
        )
    return Programs(binary)


def cached(minor: str = PINNED) -> Path:
    """Where the binary of these sources is, built or not.

    Only the pinned version has a name that the benchmarks look for.
    """
    digest = hashlib.sha256()
    modules = MODULES[minor]
    for name in (modules, f"{modules.removesuffix('.mod')}.sum", "main.go"):
        digest.update((HERE / name).read_bytes())
    prefix = "controlplane" if minor == PINNED else f"kubernetes-{minor}"
    return CACHE / f"{prefix}-{digest.hexdigest()[:12]}"


def build(target: Path, minor: str = PINNED) -> None:
    """Build it, so that `target` is there whole or not at all.

    Raises:
        EnvironmentFault: the Go tool failed; has its last lines.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"part-{os.getpid()}")
    command = ["go", "build", "-trimpath", "-buildvcs=false", f"-p={AT_ONCE}"]
    command += [f"-modfile={MODULES[minor]}"]
    command += ["-ldflags", _link_flags(minor), "-o", str(part), "."]
    environ = os.environ | {"CGO_ENABLED": "0"}
    done = subprocess.run(
        command, cwd=HERE, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        part.unlink(missing_ok=True)
        raise EnvironmentFault("cannot build the control plane", done.stderr.strip()[-500:])
    part.rename(target)


def _link_flags(minor: str) -> str:
    version = _version(minor)
    stamps = {
        "gitVersion": version,
        "gitMajor": minor.partition(".")[0],
        "gitMinor": minor.partition(".")[2],
        "gitTreeState": "clean",
    }
    return " ".join(["-s -w", *(f"-X {_STAMP}.{name}={text}" for name, text in stamps.items())])


def _version(minor: str) -> str:
    """The version that is pinned, as `v1.36.2`."""
    pinned = (HERE / MODULES[minor]).read_text()
    found = re.search(r"^\tk8s\.io/kubernetes (v\S+)$", pinned, re.MULTILINE)
    if not found:
        raise EnvironmentFault(f"{MODULES[minor]} pins no k8s.io/kubernetes", "")
    return found[1]


@contextmanager
def _alone() -> Iterator[None]:
    """Let one process at a time build: test workers all find out at once that it is missing."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(minor: str) -> Path:
    """Build the programs of a minor version unless they are there; where they are."""

    def say(text: str) -> None:
        sys.stderr.write(f"{text}\n")

    if minor == PINNED:
        return programs(say).path
    _build_once(cached(minor), minor, say)
    return built(minor).path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="build a Kubernetes control plane for tests")
    parser.add_argument("--minor", choices=MODULES, default=PINNED)
    try:
        sys.stdout.write(f"{main(parser.parse_args().minor)}\n")
    except EnvironmentFault as fault:
        sys.exit(f"{fault.message}\n{fault.hint}")
