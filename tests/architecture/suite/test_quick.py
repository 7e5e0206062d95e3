"""`make quick` chooses the tests that are near to an edit, and says what it had no time for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.process import living, until
from tools.quick import ALWAYS, LATE, ROOT, changed, chosen, ended, sources

TESTS = {
    "tests/engine/build.py": "",
    "tests/engine/gangs/test_rank.py": "from ganglion.engine.gangs.rank import rank\n",
    "tests/engine/gangs/test_gates.py": "",
    "tests/engine/test_cycle.py": "from ganglion.engine.gangs import (\n    gates,\n    rank,\n)\n",
    "tests/server/test_main.py": "import ganglion.server.main\n",
    "tests/architecture/test_soak.py": "from tools import soak\n",
    "tests/charts/test_chart.py": "",
}


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("src/ganglion/engine/gangs/rank.py", ["rank", "cycle", "gates"]),
        ("src/ganglion/engine/gangs/gates.py", ["cycle", "gates", "rank"]),
        ("src/ganglion/engine/gangs/deeper/new.py", ["gates", "rank"]),
        ("src/ganglion/server/main.py", ["main"]),
        ("tests/engine/gangs/test_gates.py", ["gates", "rank"]),
        ("tests/engine/build.py", ["cycle"]),
        ("tools/soak.py", ["soak"]),
        ("charts/ganglion/values.yaml", ["chart"]),
        ("LICENSE", []),
    ],
)
def test_the_nearest_tests_come_first_and_the_architecture_last(
    file: str, names: list[str]
) -> None:
    *found, last = chosen([file], TESTS)
    assert [Path(each).stem.removeprefix("test_") for each in found] == names
    assert last == ALWAYS


def test_a_module_of_this_checkout_has_its_own_test_first() -> None:
    first, *_ = chosen(["src/ganglion/engine/preemption/knapsack.py"], sources())
    assert first == "tests/engine/preemption/test_knapsack.py"


def test_changes_are_those_since_the_branch_left_its_base(tmp_path: Path) -> None:
    def git(*args: str) -> None:
        name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *name, *args], cwd=tmp_path, check=True, capture_output=True)

    def commit(file: str) -> None:
        (tmp_path / file).write_text(file)
        git("add", file)
        git("commit", "-m", file)

    git("init", "-b", "main")
    commit("before")
    git("checkout", "-b", "mine")
    commit("committed")
    git("checkout", "main")
    commit("of-others")
    git("checkout", "mine")
    (tmp_path / "before").write_text("edited")
    (tmp_path / "new").touch()
    assert changed("main", tmp_path) == ["before", "committed", "new"]


@pytest.mark.parametrize(("until", "words"), [("0", "2 tests did not run"), ("inf", "2 passed")])
def test_what_there_is_no_time_for_is_counted(tmp_path: Path, until: str, words: str) -> None:
    (tmp_path / "test_two.py").write_text("def test_a(): ...\ndef test_b(): ...\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tools.quick_budget",
            "-c",
            os.devnull,
            str(tmp_path),
        ],
        cwd=ROOT,
        env=os.environ | {"GANGLION_QUICK_UNTIL": until},
        capture_output=True,
        text=True,
        check=False,
    )
    assert words in done.stdout
    assert done.returncode == 0


CLEANS_UP = """
import signal, subprocess, sys, time
left = subprocess.Popen(["sleep", "600"])
try:
    print(left.pid, flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    open(sys.argv[1], "w").write(str(left.pid))
"""


def test_tests_that_take_too_long_are_interrupted_and_leave_no_process(tmp_path: Path) -> None:
    note = tmp_path / "cleaned"
    command = [sys.executable, "-c", CLEANS_UP, str(note)]
    assert ended(command, os.environ, seconds=4, grace_s=20) == LATE
    pid = int(note.read_text())
    until(lambda: not living(pid))


def test_the_status_of_tests_that_end_in_time_is_theirs() -> None:
    assert ended([sys.executable, "-c", "exit(3)"], os.environ, seconds=60, grace_s=1) == 3
