"""What vanishes while it is looked at says nothing false about a job."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.effort import examples
from tests.worlds.local.faulty import Faulty
from tests.worlds.local.jobs import Jobs, until

from ganglion.model.events import Outcome
from ganglion.seams.files import SystemFiles, Where
from ganglion.worlds.local.attempts import watch
from ganglion.worlds.local.machine import host, outages
from ganglion.worlds.local.machine.presence import total
from ganglion.worlds.local.run_files import leftovers, logs, paths
from ganglion.worlds.local.run_files.records import EXIT
from ganglion.worlds.local.run_files.resume import settle

ROOT = Path(__file__).parents[4]
STORM = "while :; do /bin/true & /bin/true & /bin/true; done"
SEEDS = int(os.environ.get("GANGLION_FAULT_SEEDS") or examples(4, nightly=40))
ROUNDS = int(os.environ.get("GANGLION_STORM_ROUNDS") or examples(20, nightly=200))


@pytest.fixture
def storm() -> Iterator[int]:
    """Processes that begin and end as fast as the machine can."""
    storms = [subprocess.Popen(["/bin/sh", "-c", STORM], start_new_session=True) for _ in range(2)]
    yield storms[0].pid
    for each in storms:
        os.killpg(each.pid, 9)
        each.wait()


def test_a_storm_of_processes_hides_none_that_stays_and_raises_nothing(storm: int) -> None:
    mark = f"GANGLION_RUN_DIR=/stays/{os.getpid()}"
    name, _, value = mark.partition("=")
    stays = subprocess.Popen(["sleep", "600"], env={name: value})
    seen = set[int]()
    try:
        for _ in range(ROUNDS):
            found = {each.pid: each for each in host.tasks()}
            assert found[stays.pid].parent == os.getpid()
            assert (stays.pid, value) in set(host.marks(name))
            assert total(storm, 0) is not None
            seen |= set(found)
    finally:
        stays.kill()
        stays.wait()
    assert len(seen) > ROUNDS, "there was no storm"


@pytest.mark.usefixtures("storm")
def test_jobs_that_end_well_amid_a_storm_are_never_reported_as_failed(jobs: Jobs) -> None:
    leaves = "for i in 1 2 3 4 5 6 7 8; do (sleep 0.01; true) & done; setsid sleep 0.05 & exit 0"
    gangs = [jobs.run(leaves, name=f"j{i}", procs=2) for i in range(6)]
    assert [jobs.end(gang).outcome for gang in gangs] == [Outcome.SUCCEEDED] * 6


def test_a_machine_that_answers_badly_does_not_change_how_a_job_ends(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Supervisors with seeded faults under every look at a process, a record, a folder."""
    monkeypatch.setattr(watch, "SUPERVISOR", "tests.worlds.local.faulty")
    monkeypatch.setattr(watch, "_PACKAGES", f"{watch._PACKAGES}:{ROOT}:{os.pathsep.join(sys.path)}")
    ends: dict[str, tuple[Outcome, int]] = {}
    for seed in range(SEEDS):
        well = jobs.run("setsid sleep 0.1 & echo ok", name=f"well-{seed}", procs=2)
        badly = jobs.run("setsid sleep 0.1 & exit 3", name=f"bad-{seed}")
        ends |= {well: (Outcome.SUCCEEDED, 0), badly: (Outcome.FAILED, 3)}
    found = {gang: (jobs.end(gang).outcome, jobs.end(gang).exit_code) for gang in ends}
    assert found == ends, [jobs.end(gang).message for gang in ends]


def test_faults_of_the_machine_are_kept_apart_from_what_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").write_text("x")
    assert host.text(tmp_path / "there") == "x"
    assert host.text(tmp_path / "gone") is None
    assert host.names(tmp_path / "gone" / "deeper") == []
    assert host.stat(tmp_path / "there" / "below") is None
    refuse(monkeypatch, errno.EMFILE)
    for question in (host.text, host.names, host.stat, host.exists):
        with pytest.raises(OSError, match="Too many open files"):
            question(tmp_path / "there")
    with pytest.raises(OSError, match="Too many open files"):
        host.start_time(os.getpid())


def refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """From now on the machine says nothing."""

    class Mute(SystemFiles):
        def read(self, path: Where) -> bytes:
            raise OSError(number, os.strerror(number), str(path))

        def names(self, path: Where) -> list[str]:
            raise OSError(number, os.strerror(number), str(path))

        def stat(self, path: Where, *, follow: bool = True) -> os.stat_result:
            raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(host, "files", Mute())


def test_a_job_whose_records_cannot_be_read_goes_on(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    gang = jobs.run("echo ready; while [ ! -e go ]; do sleep 0.02; done")
    jobs.says(gang, "ready")
    with monkeypatch.context() as patch:
        refuse(patch, errno.EIO)
        assert jobs.ends(gang) == []
    (jobs.home / "go").touch()
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_a_disk_that_is_away_for_a_while_ends_no_job(jobs: Jobs) -> None:
    gang = jobs.run("echo ready; while [ ! -e /proc/$$/cwd/go ]; do sleep 0.02; done")
    jobs.says(gang, "ready")
    away = jobs.home / "runs.away"
    (jobs.home / "runs").rename(away)
    watched = jobs.world._attempts.live[gang, 1]
    watched._looked = 0.0
    assert jobs.ends(gang) == []
    away.rename(jobs.home / "runs")
    (jobs.home / "go").touch()
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_a_boot_id_that_cannot_be_read_is_no_restart_of_the_machine(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    with monkeypatch.context() as patch:
        patch.setattr(watch.records, "boot_id", lambda: "")  # type: ignore[attr-defined]
        watched = jobs.world._attempts.live[gang, 1]
        watched._looked = 0.0
        assert jobs.ends(gang) == []


def test_a_checkpoint_on_a_file_system_that_does_not_answer_is_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"resume": [{"step": 7, "path": "/ckpt/7"}], "attempt": 2, "must_resume": True}
    refuse(monkeypatch, errno.ESTALE)
    assert settle(tmp_path, spec) == {
        "GANGLION_RESUME_STEP": "7",
        "GANGLION_RESUME_PATH": "/ckpt/7",
    }


def test_a_folder_of_outages_that_cannot_be_listed_brings_no_node_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.worlds.local.jobs import NODES  # noqa: PLC0415 - only here

    outages.take_away(tmp_path, "node-0")
    away = outages.Outages(tmp_path, NODES)
    assert away.look() == ({"node-0"}, set())
    refuse(monkeypatch, errno.ENFILE)
    assert away.look() == (set(), set())
    assert away.away == {"node-0"}


@pytest.mark.parametrize("seed", range(4))
def test_lists_of_folders_that_are_removed_meanwhile_are_shorter_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    for number in range(30):
        (tmp_path / "runs" / f"w-{number}" / "0" / "1").mkdir(parents=True)
        (tmp_path / "logs" / f"w-{number}" / "0" / "1").mkdir(parents=True)
    whole = paths.attempts_on_disk(tmp_path)
    faulty = Faulty(seed)
    monkeypatch.setattr(faulty, "_fails", lambda path: vanish(faulty, path))
    monkeypatch.setattr(host, "files", faulty)
    assert set(paths.attempts_on_disk(tmp_path)) < set(whole)
    assert set(logs.attempts(tmp_path, "w-1/0")) <= {1}


def vanish(faulty: Faulty, path: str) -> None:
    if faulty._chance.random() < 0.2:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def test_what_is_left_of_a_run_is_found_although_it_forks_without_end(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "w-1" / "0" / "1"
    run.mkdir(parents=True)
    # Every process begins the next one and ends: none of them stays. A failed test leaves them.
    source = (
        "import os, time\nend = time.monotonic() + 20\n"
        "while time.monotonic() < end:\n    if os.fork(): os._exit(0)\n    os.setsid()\n"
    )
    env = {**os.environ, leftovers.MARK: str(run)}
    subprocess.Popen([sys.executable, "-S", "-c", source], env=env).wait()
    until(lambda: leftovers.kill_leftovers(run), "the chain is broken")
    assert not (run / EXIT).exists()


@pytest.mark.parametrize(
    ("family", "at"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_a_socket_that_listens_is_found_in_its_process(family: int, at: str) -> None:
    try:
        made = socket.create_server((at, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {at}")
    with made:
        port = made.getsockname()[1]
        assert len(host.listening(port)) == 1
        assert host.listening(port) <= host.sockets(os.getpid())
    assert host.listening(port) == frozenset()
    assert host.sockets(1 << 30) == frozenset()
