"""Runs the tests that matter for an edit, within a minute: `make quick`.

    python -m tools.quick [--base BRANCH] [--list]

What changed is compared with the commit at which the branch left its base, with what is not
committed yet. Chosen are, the nearest first: changed tests, tests that import a changed module,
tests in the folder that mirrors a changed module's, and `tests/architecture`. Tests that the time
is not enough for are skipped and counted, so this is no replacement of `make test`.
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = "tests/architecture"
BEGIN_S = 40
"""No test begins later than that many seconds after the start."""
END_S, GRACE_S = 50, 8
"""When the tests that are running then are interrupted, and how long they have to clean up."""
LATE = 124
"""Exit status when they had to be, as that of `timeout`."""
OTHERS = {
    "charts/": "tests/charts",
    "deploy/": "tests/worlds/kubernetes/installation/test_manifests.py",
    "docs/": "tests/specs/test_docs.py",
    "examples/": "tests/examples",
    "tools/archlint/": ALWAYS,
}
"""Beginning of a path outside the sources -> tests that read what is there."""

_IMPORT = re.compile(
    r"^\s*(?:from\s+([\w.]+)\s+import\s+([^\n(]+|\([^)]*\))|import\s+([\w.]+))", re.M
)


def changed(base: str, root: Path = ROOT) -> list[str]:
    """Files that differ from where the branch left its base, new ones with them.

    Args:
        base: a branch or commit.
        root: the checkout.

    Raises:
        subprocess.CalledProcessError: the checkout has no such base.
    """
    fork = _git(root, "merge-base", "HEAD", base)[0]
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    return sorted({*_git(root, "diff", "--name-only", fork), *new})


def _git(root: Path, *args: str) -> list[str]:
    done = subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def chosen(files: Iterable[str], tests: Mapping[str, str]) -> list[str]:
    """The tests that matter for these files, the nearest first.

    Args:
        files: paths of what changed.
        tests: path of every test file and helper of tests -> its text.

    Returns:
        Paths of test files, and at last of a folder.
    """
    files = list(files)
    modules = {module for file in files if (module := module_of(file))}
    own = [file for file in files if file in tests and is_test(file)]
    using = [path for path, text in tests.items() if is_test(path) and modules & imports(text)]
    near = [path for file in files for path in mirrored(file, tests)]
    return [*dict.fromkeys([*own, *using, *near]), ALWAYS]


def is_test(path: str) -> bool:
    """Whether pytest collects a file."""
    return path.rpartition("/")[2].startswith("test_")


def module_of(path: str) -> str:
    """The name under which a file is imported; empty = it is no module."""
    if not path.endswith(".py"):
        return ""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(text: str) -> set[str]:
    """Names of all that a file imports, modules or not."""
    found = set[str]()
    for source, names, plain in _IMPORT.findall(text):
        found.add(source or plain)
        found.update(f"{source}.{name}" for name in re.findall(r"\w+", names) if source)
    return found


def mirrored(path: str, tests: Iterable[str]) -> Iterator[str]:
    """Test files of the folder that mirrors a file's, or of the nearest one above that exists."""
    for start, where in OTHERS.items():
        if path.startswith(start):
            yield from (each for each in tests if each == where or each.startswith(f"{where}/"))
            return
    inside = path.removeprefix("src/ganglion/").removeprefix("tests/")
    if inside == path:
        return
    folder = inside
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        here = [each for each in tests if each.rpartition("/")[0] == f"tests/{folder}"]
        if found := [each for each in here if is_test(each)]:
            yield from sorted(found, key=lambda each: (f"test_{Path(path).stem}" not in each, each))
            return


def sources(root: Path = ROOT) -> dict[str, str]:
    """Path of every Python file of the tests -> its text, the architecture's left out."""
    every = sorted((root / "tests").rglob("*.py"))
    found = {str(path.relative_to(root)): path.read_text("utf-8") for path in every}
    return {path: text for path, text in found.items() if not path.startswith(f"{ALWAYS}/")}


def main() -> int:
    """Run the tests; 0 = those that ran passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", default="main", help="where the branch began (default: main)")
    parser.add_argument("--list", action="store_true", help="show what would run, and run nothing")
    wish = parser.parse_args()
    began = time.time()
    paths = chosen(changed(wish.base), sources())
    if wish.list:
        print("\n".join(paths))
        return 0
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tools.quick_budget",
        "-n",
        "2",
        "--dist",
        "loadgroup",
        *paths,
    ]
    until = {"GANGLION_QUICK_UNTIL": str(began + BEGIN_S), "HYPOTHESIS_PROFILE": "quick"}
    return ended(command, os.environ | until, END_S, GRACE_S)


def ended(command: Sequence[str], env: Mapping[str, str], seconds: float, grace_s: float) -> int:
    """Run a command in a process group of its own, and leave no process of it behind.

    Args:
        command: what to run, in the root of the checkout.
        env: its environment.
        seconds: when to interrupt it.
        grace_s: how long it may take to end then.

    Returns:
        Its exit status; LATE where it had to be interrupted.
    """
    with subprocess.Popen(command, cwd=ROOT, env=dict(env), start_new_session=True) as running:
        try:
            return running.wait(seconds)
        except subprocess.TimeoutExpired:
            print(
                f"quick: tests that did not end within {seconds:g} s are stopped", file=sys.stderr
            )
            running.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(grace_s)
            return LATE
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
