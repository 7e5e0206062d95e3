"""`ganglion exec`, `attach` and `run --pty` with real terminals."""

import getpass
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from ganglion.model.errors import GanglionError
from ganglion.worlds.local.run_files import paths, records
from tests.daily.conftest import Done, Ganglion, Site
from tests.daily.person import Person
from tests.server.process import living, until

People = Callable[..., Person]
SHELL = ("env", "PS1=now> ", "sh")


@pytest.fixture
def person() -> Iterator[People]:
    """A person at a terminal; all windows are closed at the end."""
    made: list[Person] = []

    def sit_down(*args: str, **how: int) -> Person:
        made.append(Person(*args, **how))
        return made[-1]

    yield sit_down
    for each in made:
        each.close()


@pytest.fixture
def job(site: Site, ganglion: Ganglion, tmp_path: Path) -> Iterator[str]:
    """A job of two GPUs that runs in a folder of its own."""
    name = site.submit(
        f"host-{uuid4().hex[:8]}",
        "sleep 600",
        resources={"gpus": 2},
        workdir=str(tmp_path),
        env={"COLOUR": "red"},
    )
    site.reach(name, "RUNNING")
    yield name
    ganglion("cancel", name, "--force")


def run(site: Site, *args: str, typed: bytes = b"") -> Done:
    process = site.program(*args)
    out, err = process.communicate(typed, timeout=60)
    return Done(process.returncode, out.decode(), err.decode())


def test_a_command_has_the_pods_environment_directory_and_gpus(
    site: Site, job: str, tmp_path: Path
) -> None:
    script = (
        "pwd; echo $COLOUR $RANK $WORLD_SIZE $GANGLION_GANG; echo $CUDA_VISIBLE_DEVICES; exit 7"
    )
    done = run(site, "exec", job, "--", "sh", "-c", script)
    where, facts, gpus = done.out.splitlines()
    assert (done.code, where) == (7, str(tmp_path))
    assert facts == f"red 0 1 {job}/0"
    assert len(gpus.split(",")) == 2


def test_verbose_names_the_socket_of_a_command(site: Site, job: str) -> None:
    done = run(site, "exec", "-v", job, "--", "echo", "data")
    assert (done.code, done.out) == (0, "data\n")
    (line,) = done.err.splitlines()
    assert line.startswith(f"GET /api/v1/workloads/{job}/exec 101 ")
    assert line.endswith(f" via {site.home / 'api.sock'}")


def test_streams_are_kept_apart_and_carry_everything(site: Site, job: str) -> None:
    body = os.urandom(3 << 20).hex().encode()
    process = site.program("exec", "-i", job, "--", "sh", "-c", "cat; echo done >&2")
    out, err = process.communicate(body, timeout=60)
    assert (process.returncode, out == body, err) == (0, True, b"done\n")
    assert run(site, "exec", job, "--", "cat").out == ""


def test_what_cannot_be_run_is_named(site: Site, job: str, ganglion: Ganglion) -> None:
    missing = run(site, "exec", job, "--", "nonesuch")
    assert (missing.code, "nonesuch: No such file" in missing.err) == (127, True)
    refused = run(site, "exec", job, "--", "/etc")
    assert (refused.code, "/etc: Permission denied" in refused.err) == (126, True)
    assert "has no pod 5" in run(site, "exec", job, "--pod", "5", "--", "ls").err
    assert "no such rank" in run(site, "exec", job, "--rank", "5", "--", "ls").err
    ended = site.submit("over", "true")
    ganglion("wait", ended)
    assert "has ended, as SUCCEEDED" in run(site, "exec", ended, "--", "ls").err
    elsewhere = ganglion("exec", job, "--context", "prod", "--", "ls")
    assert (elsewhere.code, "kubectl exec" in elsewhere.err) == (1, True)


def test_a_shell_knows_its_window_and_hears_ctrl_c(site: Site, job: str, person: People) -> None:
    shell = person("exec", "-it", job, "--", *SHELL)
    shell.expect("now> ")
    shell.type('stty size; echo $TERM; tty; echo on"e"\n')
    before = shell.expect("one\r\n")
    assert "30 100" in before
    assert "xterm" in before
    assert "/dev/pts/" in before
    shell.resize(40, 120)
    shell.type('until [ "$(stty size)" = \'40 120\' ]; do :; done; echo big"ger"\n')
    shell.expect("bigger\r\n")
    shell.type("sh -c 'echo sle\"eps\"; exec sleep 600'\n")
    shell.expect("sleeps\r\n")
    shell.type("\x03")
    shell.expect("now> ")
    shell.type('echo inter"rupted"\n')
    shell.expect("interrupted\r\n")
    shell.type("exit 9\n")
    assert shell.leave() == 9


def test_without_a_command_it_is_a_shell(site: Site, job: str, person: People) -> None:
    shell = person("exec", job)
    shell.expect("# " if os.geteuid() == 0 else "$ ")
    shell.type("echo $0-$COLOUR; exit\n")
    shell.expect("-red\r\n")
    assert shell.leave() == 0


def started(site: Site, job: str, tmp_path: Path) -> tuple[psutil.Popen, list[int]]:
    """A command with a daemon that has left its session, and the ids of both."""
    file = tmp_path / "pids"
    script = f"setsid sleep 600 & echo $! $$ > {file}.new; mv {file}.new {file}; sleep 600"
    process = site.program("exec", job, "--", "bash", "-c", script)
    until(file.exists)
    return process, [int(pid) for pid in file.read_text().split()]  # type: ignore[return-value]


def test_everything_ends_with_the_callers_connection(site: Site, job: str, tmp_path: Path) -> None:
    process, pids = started(site, job, tmp_path)
    process.kill()
    process.communicate()
    until(lambda: not any(map(living, pids)))


def test_everything_ends_with_the_attempt(
    site: Site, job: str, tmp_path: Path, ganglion: Ganglion
) -> None:
    process, pids = started(site, job, tmp_path)
    ganglion("cancel", job)
    ganglion("wait", job)
    _, err = process.communicate(timeout=30)
    assert process.returncode != 0
    assert not any(map(living, pids)), err


def test_who_ran_what_is_in_the_ledger_and_what_was_said_is_not(
    site: Site, job: str, ganglion: Ganglion
) -> None:
    run(site, "exec", "-i", job, "--", "sh", "-c", "cat; exit 5", typed=b"typed-word")
    until(lambda: len(site.accesses(job)) == 2)
    begun, ended = site.accesses(job)
    user = getpass.getuser()
    assert (begun["verb"], begun["user"], begun["uid"]) == ("exec", user, os.geteuid())
    assert begun["command"] == ["sh", "-c", "cat; exit 5"]
    assert (ended["exit_code"], ended["session"]) == (5, begun["session"])
    assert "typed-word" not in (site.home / "server.log").read_text()
    assert b"typed-word" not in (site.home / "ledger.db").read_bytes()
    shown = ganglion("events", job).out
    assert f"exec begun by {user} (uid {os.geteuid()}) in pod 0: sh -c 'cat; exit 5'" in shown
    assert "in pod 0: exit code 5, after 0s" in shown
    assert ganglion("events", job, "--type", "pod_access").out.splitlines() == [
        line for line in shown.splitlines() if " pod_access " in line
    ]
    refused = ganglion("events", "--type", "pod_acces")
    assert (refused.code, "did you mean `pod_access`?" in refused.err) == (2, True)
    told = ganglion("describe", job).out
    assert "Last sessions in its pods" in told
    assert "sh -c 'cat; exit 5'" in told
    assert "exit code 5, after 0s" in told


def test_who_has_no_token_gets_nowhere(
    site: Site, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with site.client() as client:
        url = client.url
    monkeypatch.setenv("GANGLION_URL", url)
    monkeypatch.setenv("GANGLION_TOKEN", "wrong")
    done = run(site, "exec", job, "--", "ls")
    assert (done.code, done.out) == (1, "")


def test_the_socket_of_an_attempt_is_the_owners_and_goes_with_it(
    site: Site, job: str, ganglion: Ganglion
) -> None:
    socket = paths.run_dir(site.home, f"{job}/0", 1) / records.CALLERS
    assert socket.stat().st_mode & 0o777 == 0o600
    ganglion("cancel", job, "--force")
    ganglion("wait", job)
    assert not socket.exists()


def test_a_job_with_a_terminal_is_joined_left_and_joined_again(
    site: Site, person: People, ganglion: Ganglion
) -> None:
    first = person("run", "--pty", "--name", "talk", "-q", "blue", "--gpus", "1", "--", *SHELL)
    first.expect("now> ")
    first.type('echo $CUDA_VISIBLE_DEVICES-$TERM; stty size; mark=kept; echo on"e"\n')
    before = first.expect("one\r\n")
    assert "-xterm" in before
    assert "30 100" in before
    first.type("\x10\x11")
    first.expect("goes on")
    assert first.leave() == 0
    again = person("attach", "talk")
    again.expect("one\r\n")  # what was shown last is shown again
    again.type("echo still-$mark; exit 4\n")
    again.expect("still-kept\r\n")
    assert again.leave() == 4
    until(lambda: "still-kept" in ganglion("logs", "talk").out)
    until(lambda: len(site.accesses("talk")) == 4)
    found = [(e["verb"], e["stage"], e.get("reason", "")) for e in site.accesses("talk")]
    assert found == [
        ("attach", "begun", ""),
        ("attach", "ended", "the caller left"),
        ("attach", "begun", ""),
        ("attach", "ended", "the terminal was closed"),
    ]


def test_a_terminal_outlives_the_server_and_a_closed_window(
    site: Site, person: People, ganglion: Ganglion
) -> None:
    first = person("run", "--pty", "--name", "tough", "-q", "blue", "--", *SHELL)
    first.expect("now> ")
    first.type('echo rea"dy"\n')
    first.expect("ready\r\n")
    first.process.send_signal(signal.SIGKILL)
    first.leave()
    second = person("attach", "tough")
    second.expect("ready\r\n")
    site.restart()
    second.expect("broke")
    assert second.leave() == 1
    third = person("attach", "tough")
    third.type("exit 0\n")
    assert third.leave() == 0
    until(lambda: len(site.accesses("tough")) == 6)
    assert site.accesses("tough")[3]["reason"] == "the server ended before it"


def test_attach_to_a_job_without_a_terminal_shows_its_output(
    site: Site, person: People, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    command = f"echo hello; until [ -e {gate} ]; do sleep 0.02; done; echo bye; exit 3"
    name = site.submit("plain", command, retry={"limit": 0})
    site.reach(name, "RUNNING")
    watcher = person("attach", name)
    watcher.expect("only its output is shown")
    watcher.expect("hello")
    gate.touch()
    watcher.expect("bye")
    assert watcher.leave() == 3


def test_a_pod_of_a_wider_gang_and_a_rank_can_be_chosen(site: Site, ganglion: Ganglion) -> None:
    name = site.submit("wide", "sleep 600", nodes=2, procs_per_node=2, resources={"gpus": 2})
    site.reach(name, "RUNNING")
    show = ("--", "sh", "-c", "echo $GANGLION_NODE_RANK $RANK $CUDA_VISIBLE_DEVICES")
    assert run(site, "exec", name, "--pod", "1", *show).out.split()[:2] == ["1", "2"]
    pod, rank, gpus = run(site, "exec", name, "--pod", "1", "--rank", "3", *show).out.split()
    assert (pod, rank, len(gpus.split(","))) == ("1", "3", 1)
    ganglion("cancel", name, "--force")


def test_the_sdk_runs_a_command_too(site: Site, job: str) -> None:
    with site.client() as client, client.terminals.execute(job, [sys.executable, "-V"]) as session:
        session.close_input()
        found = session.receive()
        assert isinstance(found, tuple)
        assert found[1].startswith(b"Python 3")
        with (
            pytest.raises(GanglionError, match="there is no workload"),
            client.terminals.attach("nix"),
        ):
            pass
