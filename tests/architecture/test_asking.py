"""The local world asks the machine in one place."""

import pytest
from tools.archlint.machine.asking import ASKING_ALLOWED, asks_past_the_seam
from tools.archlint.source import ROOT, parse, sources

pytestmark = pytest.mark.xdist_group("sources")  # one process parses the package

PATH = "src/ganglion/worlds/local/bad.py"


@pytest.mark.parametrize(
    "line",
    [
        "import psutil",
        "from pynvml import nvmlInit",
        "path.exists()",
        "Path(name).stat().st_size",
        "found = folder.glob('*')",
        "os.scandir(folder)",
        "os.access(path, os.F_OK)",
        "open(f'/proc/{pid}/stat')",
        "path = '/sys/fs/cgroup'",
    ],
)
def test_a_look_past_the_one_reader_is_found(line: str) -> None:
    assert [each.rule for each in asks_past_the_seam([parse(PATH, line)])] == ["asking"]


@pytest.mark.parametrize("line", ["host.exists(path)", "host.stat(path)", "text = 'see /proc'"])
def test_what_goes_through_it_is_not(line: str) -> None:
    assert list(asks_past_the_seam([parse(PATH, line)])) == []


def test_other_rooms_are_not_bound() -> None:
    assert list(asks_past_the_seam([parse("src/ganglion/cli/x.py", "path.exists()")])) == []


def test_every_exception_is_needed() -> None:
    bare = {source.module: source for source in sources()}
    for module, what in ASKING_ALLOWED:
        text = (ROOT / bare[module].path).read_text("utf-8")
        assert what in text
