"""Real processes: exit codes, signals, limits, groups, what cannot start."""

import shlex
import signal
import time
from pathlib import Path

import pytest
from tests.worlds.local.jobs import NODES, Jobs, python, until

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import GangEnded, GangStarted, NodeAdded, NodeLost, Outcome
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Stop
from ganglion.model.workload import Checkpoint
from ganglion.worlds.local.machine.ports import is_free
from ganglion.worlds.local.world import LocalWorld
from ganglion.worlds.world import World

DEAF = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_it_is_a_world(jobs: Jobs) -> None:
    world: World = jobs.world
    assert abs(world.now() - time.time() * 1000) < 60_000


def test_a_job_that_ends_well_starts_once_and_succeeds_once(jobs: Jobs) -> None:
    gang = jobs.run("echo hello; echo to stderr >&2")
    end = jobs.end(gang)
    assert (end.outcome, end.exit_code, end.attempt) == (Outcome.SUCCEEDED, 0, 1)
    assert jobs.log(gang) == "hello\nto stderr\n"
    kinds = [type(f) for f in jobs.look() if not isinstance(f, NodeAdded)]
    assert kinds == [GangStarted, GangEnded]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("echo the reason; exit 3", 3, "rank 0 ended with exit code 3; its last line: the reason"),
        ("kill -SEGV $$", 128 + signal.SIGSEGV, "killed by SIGSEGV"),
        ("kill -KILL $$", 128 + signal.SIGKILL, "killed by SIGKILL"),
        ("no-such-command", 127, "ended with exit code 127"),
    ],
)
def test_a_job_that_fails_tells_its_exit_code(
    jobs: Jobs, command: str, code: int, said: str
) -> None:
    end = jobs.end(jobs.run(command))
    assert (end.outcome, end.exit_code) == (Outcome.FAILED, code)
    assert said in end.message


def test_the_first_rank_to_fail_stops_the_others_and_names_the_code(jobs: Jobs) -> None:
    wait = "test $RANK = 2 && sleep 0.2 && exit 7; trap 'echo told; exit 0' TERM; "
    gang = jobs.run(wait + "while :; do sleep 0.05; done", pods=2, procs=2)
    end = jobs.end(gang)
    assert (end.outcome, end.exit_code) == (Outcome.FAILED, 7)
    assert "rank 2" in end.message
    assert all(jobs.log(gang, rank).endswith("told\n") for rank in (0, 1, 3))


def test_success_takes_all_ranks(jobs: Jobs) -> None:
    gang = jobs.run("sleep 0.$RANK; echo $RANK", pods=2, procs=2)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert [jobs.log(gang, rank) for rank in range(4)] == ["0\n", "1\n", "2\n", "3\n"]


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (Cause(CauseKind.CANCELLED, user="ada"), Outcome.CANCELLED),
        (Cause(CauseKind.PREEMPTED, gang="urgent-3"), Outcome.PREEMPTED),
        (Cause(CauseKind.RECLAIMED, gang="b-1/0"), Outcome.PREEMPTED),
        (Cause(CauseKind.PODS_LOST, nodes=("n1",)), Outcome.NODE_LOST),
    ],
)
def test_the_cause_of_a_stop_decides_the_outcome(
    jobs: Jobs, cause: Cause, outcome: Outcome
) -> None:
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    jobs.execute(stops=(Stop(gang, 1, cause),))
    end = jobs.end(gang)
    assert (end.outcome, end.message) == (outcome, str(cause))


def test_a_stopped_job_gets_its_signal_and_reads_why(jobs: Jobs) -> None:
    contract = Checkpoint(signal="SIGUSR1", grace_ms=20_000)
    save = "trap 'cat $GANGLION_STOP_FILE; echo saved; exit 0' USR1; echo ready; "
    gang = jobs.run(save + "while :; do sleep 0.05; done", checkpoint=contract)
    jobs.says(gang, "ready")
    assert not (jobs.directory(gang) / "stop").exists()
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    assert (end.outcome, end.exit_code) == (Outcome.PREEMPTED, 0)
    assert jobs.log(gang).endswith("preempted\npreempted for urgent-3\nsaved\n")


@pytest.mark.parametrize(
    "command", ["{python} child.py; echo never", "setsid {python} child.py & wait"]
)
def test_the_shell_may_die_at_once_while_its_child_uses_the_grace(jobs: Jobs, command: str) -> None:
    child = (
        "import signal, sys, time",
        "def save(*_): time.sleep(2.4); print('saved', flush=True); sys.exit()",
        "signal.signal(signal.SIGTERM, save)",
        "print('ready', flush=True)",
        "while True: signal.pause()",
    )
    (jobs.home / "child.py").write_text("\n".join(child))
    gang = jobs.run(command.format(python=" ".join(python("")[:2])))
    jobs.says(gang, "ready\n")
    jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED))
    assert jobs.end(gang).outcome is Outcome.CANCELLED
    assert jobs.log(gang) == "ready\nsaved\n"


def test_force_is_heeded_by_what_left_its_group_too(jobs: Jobs) -> None:
    deaf = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    contract = Checkpoint(grace_ms=3_600_000)
    gang = jobs.run(f"setsid bash -c {shlex.quote(deaf)} & wait", checkpoint=contract)
    jobs.says(gang, "ready")
    jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED))
    until((jobs.directory(gang) / "stop").exists)
    jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED), force=True)
    assert jobs.end(gang).outcome is Outcome.CANCELLED


def test_a_job_that_ignores_its_signal_is_killed_after_the_grace(jobs: Jobs) -> None:
    gang = jobs.run(DEAF, checkpoint=Checkpoint(grace_ms=300))
    jobs.says(gang, "ready")
    told = time.monotonic()
    jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED, user="ada"))
    end = jobs.end(gang)
    assert (end.outcome, end.exit_code) == (Outcome.CANCELLED, 128 + signal.SIGKILL)
    assert time.monotonic() - told >= 0.3


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (Cause(CauseKind.CANCELLED, user="ada"), Outcome.CANCELLED),
        (Cause(CauseKind.CLEARED), Outcome.PREEMPTED),
    ],
)
def test_force_waits_for_no_grace_also_when_it_comes_second(
    jobs: Jobs, cause: Cause, outcome: Outcome
) -> None:
    gang = jobs.run(DEAF, checkpoint=Checkpoint(grace_ms=3_600_000))
    jobs.says(gang, "ready")
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    until((jobs.directory(gang) / "stop").exists)
    jobs.world.stop(gang, 1, cause, force=True)
    assert jobs.end(gang).outcome is outcome


def test_a_job_over_its_time_limit_is_stopped_and_says_so(jobs: Jobs) -> None:
    gang = jobs.run("cat; sleep 60", time_limit_ms=300)
    end = jobs.end(gang)
    assert end.outcome is Outcome.TIMED_OUT
    assert end.message == "it ran longer than its time limit of 0.3 s"


def test_the_time_limit_of_a_running_job_can_be_changed(jobs: Jobs) -> None:
    gang = jobs.run("echo ready; sleep 60", time_limit_ms=3_600_000)
    jobs.says(gang, "ready")
    jobs.world.set_time_limit(gang, 100)
    assert jobs.end(gang).outcome is Outcome.TIMED_OUT
    jobs.world.set_time_limit(gang, 5)  # too late, and harmless


def test_grandchildren_die_with_the_job_also_those_that_left_its_group(jobs: Jobs) -> None:
    gang = jobs.run("sleep 60 & echo $!; setsid sh -c 'echo $$; exec sleep 60' & sleep 0.2")
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    pids = [int(word) for word in jobs.log(gang).split()]
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


def test_a_flood_of_output_neither_blocks_nor_loses_the_last_line(jobs: Jobs) -> None:
    lines = 400_000
    gang = jobs.run(f"seq {lines}; echo end >&2")
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert jobs.log(gang) == "".join(f"{n}\n" for n in range(1, lines + 1)) + "end\n"


def test_setup_runs_once_per_pod_before_the_ranks(jobs: Jobs) -> None:
    gang = jobs.run("echo rank $RANK", setup="echo setup $NODE_RANK; date +%N >> once", procs=2)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert jobs.log(gang, 0) == "setup 0\nrank 0\n"
    assert jobs.log(gang, 1) == "rank 1\n"
    assert len((jobs.home / "once").read_text().splitlines()) == 1


def test_a_failed_setup_starts_no_rank(jobs: Jobs) -> None:
    gang = jobs.run("echo never", setup="echo broken; exit 9", pods=2)
    end = jobs.end(gang)
    assert (end.outcome, end.exit_code) == (Outcome.START_FAILED, 9)
    assert end.message.startswith("setup failed: rank ")
    assert "never" not in jobs.log(gang)
    assert not any(isinstance(fact, GangStarted) for fact in jobs.look())


@pytest.mark.parametrize(
    ("command", "workdir", "code", "said"),
    [
        (("no-such-program",), "/", 127, "the command no-such-program was not found on PATH"),
        (("./missing",), "/", 127, "the command ./missing does not exist"),
        (("/etc/passwd",), "/", 126, "the command /etc/passwd cannot be run: "),
        (("true",), "/no/such/dir", 126, "the working directory /no/such/dir does not exist"),
        (("true",), "relative", None, "workdir: relative is not an absolute path"),
        ((), "/", None, "there is no command to run"),
        (("a\0b",), "/", 126, "cannot be run"),
    ],
)
def test_what_cannot_start_says_why(
    jobs: Jobs, command: tuple[str, ...], workdir: str, code: int | None, said: str
) -> None:
    end = jobs.end(jobs.run(command, workdir=workdir, pods=2))
    assert (end.outcome, end.exit_code) == (Outcome.FAILED, code)
    assert said in end.message


def test_a_machine_at_fault_is_told_apart_from_a_wrong_command(jobs: Jobs) -> None:
    log = jobs.home / "logs/job-1/0/1/rank-0.log"
    log.mkdir(parents=True)  # stands where the file should be
    end = jobs.end(jobs.run("true"))
    assert (end.outcome, end.exit_code) == (Outcome.START_FAILED, 126)
    assert end.message == f"the log file {log} cannot be written: Is a directory"
    log.rmdir()


def test_an_unknown_signal_or_node_is_a_failed_start(jobs: Jobs) -> None:
    gang = jobs.run("true", name="a", checkpoint=Checkpoint(signal="SIGNONE"))
    assert "SIGNONE is no signal of this machine" in jobs.end(gang).message
    assert jobs.end(gang).outcome is Outcome.FAILED
    gang = jobs.run("true", name="b", gpus=5)
    assert jobs.end(gang).message == "node node-0 has 4 devices, not 5"
    assert jobs.end(gang).outcome is Outcome.START_FAILED
    start = jobs.start_of("true", name="c")
    jobs.workloads.clear()
    jobs.execute(start)
    assert jobs.end(start.gang.id).message == "there is no workload c-1"


def test_starting_twice_runs_once_and_stopping_twice_ends_once(jobs: Jobs) -> None:
    start = jobs.start_of("echo begun >> marks; echo ready; sleep 60")
    for _ in range(3):
        jobs.execute(start)
    jobs.says(start.gang.id, "ready")
    jobs.execute(start)
    for _ in range(3):
        jobs.execute(stops=(Stop(start.gang.id, 1, Cause(CauseKind.CANCELLED)),))
    jobs.end(start.gang.id)
    jobs.execute(start, stops=(Stop(start.gang.id, 1, Cause(CauseKind.CANCELLED)),))
    assert len(jobs.ends(start.gang.id)) == 1
    assert (jobs.home / "marks").read_text() == "begun\n"


def test_a_stop_for_an_attempt_that_never_started_ends_it(jobs: Jobs) -> None:
    start = jobs.start_of("true")
    jobs.world.stop(start.gang.id, 1, Cause(CauseKind.CANCELLED, user="ada"))
    assert jobs.end(start.gang.id).outcome is Outcome.CANCELLED


def test_a_service_tells_where_it_listens(jobs: Jobs) -> None:
    gang = jobs.run("echo port $GANGLION_PORT; sleep 60")
    jobs.says(gang, "port")
    assert jobs.world.endpoint(gang) == f"127.0.0.1:{jobs.log(gang).split()[1]}"
    jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED))
    jobs.end(gang)
    assert jobs.world.endpoint(gang) is None


def test_replicas_that_want_one_port_get_one_each_before_either_listens(jobs: Jobs) -> None:
    wanted = next(port for port in range(8000, 9000) if is_free(port))
    gangs = [jobs.run("sleep 60", name=name, port=wanted) for name in ("a", "b")]
    first, second = (jobs.world.endpoint(gang) for gang in gangs)
    assert first == f"127.0.0.1:{wanted}"
    assert second != first


def test_jobs_inherit_the_environment_without_another_jobs_variables(tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "RANK": "9", "PET_NNODES": "9", "KEPT": "yes"}
    jobs = Jobs(tmp_path)
    jobs.world.close()
    jobs.world = LocalWorld(tmp_path, NODES, environ=environ)
    jobs.reconcile()
    gang = jobs.run("echo $RANK $PET_NNODES $KEPT $MINE", env={"MINE": "too"})
    jobs.end(gang)
    assert jobs.log(gang) == "0 1 yes too\n"
    jobs.stop_all()


def test_one_home_serves_one_world_at_a_time(jobs: Jobs) -> None:
    with pytest.raises(EnvironmentFault, match="another server uses"):
        LocalWorld(jobs.home, NODES)


def test_a_home_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot write"):
        LocalWorld(tmp_path / "file", NODES)


def test_nodes_are_announced_when_new_changed_or_gone(jobs: Jobs) -> None:
    jobs.restart(nodes={})
    assert [f.node for f in jobs.look() if isinstance(f, NodeAdded)] == list(NODES)
    known = {
        "node-0": Node("node-0", 64_000, 65_536, NODES[0].devices, cordoned="repair"),
        "node-1": Node("node-1", 1, 1),
        "node-9": Node("node-9", 1, 1),
    }
    jobs.restart(nodes=known)
    added, lost = jobs.look()
    assert (added, lost) == (NodeAdded(added.at, NODES[1]), NodeLost(lost.at, "node-9"))


def test_hundreds_of_running_jobs_are_observed_in_milliseconds(jobs: Jobs) -> None:
    """One real attempt, watched as if it were 301."""
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    live = jobs.world._attempts.live
    real = live[gang, 1]
    live.update({(f"{gang}x{n}", 1): real for n in range(300)})
    began = time.process_time()
    for _ in range(20):
        jobs.world.observe()
    spent = (time.process_time() - began) / 20
    for n in range(300):
        del live[f"{gang}x{n}", 1]
    assert spent < 0.1, f"{spent * 1000:.1f} ms per look at 301 attempts"


def test_supervisors_hold_no_file_of_the_server_open(jobs: Jobs) -> None:
    gang = jobs.run("ls -l /proc/$PPID/fd /proc/self/fd; echo done")
    jobs.end(gang)
    assert ".lock" not in jobs.log(gang)
