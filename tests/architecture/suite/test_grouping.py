"""Tests of one group run in one process, so that what they share is made once."""

from pathlib import Path

import pytest
from tests.grouping import ROOT, WAITING, group_of, order

pytest_plugins = ("pytester",)

MODULE = """import os
import pytest
{mark}
@pytest.mark.parametrize("number", range(4))
def test_it(number):
    with open({note!r}, "a") as file:
        print(__name__, os.environ["PYTEST_XDIST_WORKER"], file=file)
"""
PHASES = """import pytest
@pytest.fixture
def fixture(request):
    if request.param == "before":
        raise KeyError("before")
    if request.param == "skips":
        pytest.skip("no reason")
    yield
    if request.param == "after":
        raise KeyError("after")
@pytest.mark.parametrize("fixture", ["before", "skips", "after"], indirect=True)
def test_errs(fixture):
    pass
def test_fails():
    raise KeyError("in it")
def test_skips():
    pytest.skip("no reason")
"""


def test_modules_name_their_groups() -> None:
    marked = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if "pytest.mark.xdist_group(" in path.read_text("utf-8") and path != Path(__file__)
    ]
    assert marked
    assert [each for each in marked if not group_of(each)] == []


def test_modules_that_wait_come_between_others_and_are_not_the_last() -> None:
    others = [f"tests/engine/test_{n}.py" for n in range(8)]
    waiting = [f"{WAITING}test_{n}.py" for n in range(3)]
    found = order([*others, "demo", *waiting])
    assert found[0] == "demo"
    assert [each for each in found if each in others] == others
    assert [found.index(each) for each in waiting] == [2, 5, 8]
    assert order(others) == others
    assert order(waiting) == waiting


def test_a_module_stays_in_one_process_and_so_does_a_group(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # importing all takes seconds
    mark = 'pytestmark = pytest.mark.xdist_group("one")'
    note = tmp_path / "note"
    for name, own in {"test_a": "", "test_b": mark, "test_c": "", "test_d": mark}.items():
        pytester.makepyfile(**{name: MODULE.format(mark=own, note=str(note))})
    pytester.makeconftest(
        f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from tests import grouping
grouping.ROOT = Path.cwd()
from tests.conftest import pytest_xdist_make_scheduler
from tests.lean import send_less as pytest_configure
"""
    )
    pytester.makepyfile(test_e=PHASES)
    done = pytester.runpytest_subprocess("-p", "xdist", "-n", "2", "--dist", "loadgroup")
    done.assert_outcomes(passed=17, failed=1, skipped=2, errors=2)
    said = [f"{each} - KeyError*" for each in ("ERROR *before?", "ERROR *after?", "FAILED *_fails")]
    done.stdout.fnmatch_lines_random(said)
    ran = [(name, worker) for name, worker in map(str.split, note.read_text().splitlines())]
    workers = dict(ran)
    assert len(set(ran)) == len(workers) == 4
    assert workers["test_b"] == workers["test_d"]
    assert len(set(workers.values())) == 2
