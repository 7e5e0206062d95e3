"""From a decided start to a spec, on a machine that does not say what it has."""

import errno
import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth, at_every_call
from tests.worlds.local.jobs import Jobs

from ganglion.seams.files import SYSTEM_FILES, program
from ganglion.worlds.local.attempts.launch import prepare
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records


def made(folder: Path, name: str, mode: int = 0o755) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("")
    path.chmod(mode)
    return str(path)


def test_a_program_is_the_first_of_its_name_that_can_be_run(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    made(one, "x", 0o644)
    (two / "x").mkdir(parents=True)
    found = made(three, "x")
    search = os.pathsep.join(map(str, (one, tmp_path / "gone", two, three)))
    assert program(SYSTEM_FILES, "x", search) == found
    assert program(SYSTEM_FILES, "y", search) is None


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_folder_of_the_search_path_that_cannot_be_read_is_passed_over(
    number: int, jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (made(tmp_path / name, "bash") for name in ("one", "two"))
    ground = replace(jobs.world._ground, inherited={"PATH": f"{tmp_path}/one:{tmp_path}/two"})
    start = jobs.start_of("true")

    def shell(plan: Nth) -> str:
        monkeypatch.setattr(host, "files", FaultyFiles(plan, number, among="bash"))
        workload = jobs.workloads[start.gang.workload]
        (pod,) = prepare(ground, start, workload, set())["pods"]
        return str(pod["ranks"][0]["argv"][0])

    assert shell(Nth(9)) == one
    assert shell(Nth(1)) == two
    assert shell(Nth(1, stays=True)) == "/bin/sh"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_start_for_which_the_disk_has_no_room_is_refused_by_name_and_is_no_attempt(
    number: int, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = jobs.start_of("true")
    workload = jobs.workloads[start.gang.workload]

    def story(plan: Nth) -> None:
        for folder in ("runs", "checkpoints"):
            host.SYSTEM_FILES.remove_tree(jobs.home / folder)  # type: ignore[attr-defined]
        monkeypatch.setattr(host, "files", FaultyFiles(plan, number, among=str(jobs.home)))
        try:
            prepare(jobs.world._ground, start, workload, set())
        except OSError as error:
            assert str(jobs.home) in str(error)
        assert not (jobs.directory(start.gang.id) / records.SPEC).exists()

    assert at_every_call(story, "mkdir", "open", "write", "rename") > 9
