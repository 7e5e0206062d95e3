"""Starting and stopping the server: what is wrong is said here, not in a log."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.cli.harness import Done, Ganglion
from tests.forking import shell_command
from tests.server.process import living, until

from ganglion.cli.server.background import _until, start
from ganglion.cli.server.up import ServerWish, _pretend
from ganglion.client.home import read_server
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import NotExecutor
from ganglion.model.events import GangStopping
from ganglion.server.recovery.executor import hold

CALM = {"OMP_NUM_THREADS": "1"}
END_S = 30.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home whose server, if one was started, is gone afterwards."""
    folder = tmp_path / "home"
    monkeypatch.setenv("GANGLION_HOME", str(folder))
    yield folder
    record = read_server(folder)
    for server in living(record.pid) if record else ():
        with suppress(psutil.NoSuchProcess):
            server.terminate()
            server.wait(END_S)


def ganglion_process(home: Path, *args: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run the real program; `test_up_tls` starts it without help."""
    return subprocess.run(
        [*shell_command(), *args],
        env={**os.environ, **CALM, "GANGLION_HOME": str(home), **more},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--nodes", "0"], "0 nodes are not between"),
        (["--nodes", "2", "--racks", "3"], "3 racks for 2 nodes"),
        (["--fake-gpus", "-3"], "is no description of pretend GPUs"),
        (["--memory", "much"], "much"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--cluster", "/nowhere.yaml"], "there is no file /nowhere.yaml"),
        (["--cluster", "a", "--queues", "b"], "leave --queues out"),
        (["--policy", "kuue"], "'kuue' is neither a preset nor a file"),
        (["--policy", "./nowhere.yaml"], "there is no file"),
    ],
)
def test_a_wrong_wish_is_refused_before_anything_starts(
    ganglion: Ganglion, home: Path, args: list[str], says: str
) -> None:
    done = ganglion("up", *args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert not (home / "console.log").exists()


def test_what_is_wrong_in_files_and_flags_is_told_at_once(
    ganglion: Ganglion, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "queues.yaml").write_text("queues:\n- {name: red, quota: {H100: lots}}\nzebra: 1\n")
    (tmp_path / "policy.yaml").write_text("order: fiar\nbackfill: {enabled: perhaps}\n")
    files = ("--queues", str(tmp_path / "queues.yaml"), "--policy", str(tmp_path / "policy.yaml"))
    for more in ((), ("--foreground",)):
        done = ganglion("up", *files, "--nodes", "0", *more)
        assert (done.code, done.out) == (2, "")
        for said in (
            *("0 nodes are not between", "queues.yaml:2", "queues.yaml:3", "unknown key `zebra`"),
            *("policy.yaml:1", "`fiar`", "policy.yaml:2"),
        ):
            assert said in done.err, said
    assert not (home / "console.log").exists()


def test_a_cluster_file_and_flags_about_nodes_exclude_each_other(
    ganglion: Ganglion, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("pools: [{name: a, count: 1, gpus: H100:8, cpus: 8, memory: 64Gi}]\n")
    done = ganglion("up", "--cluster", str(file), "--nodes", "2")
    assert done.code == 2
    assert "says what the nodes are" in done.err


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("", ""),
        ("8", "8"),
        ("H100:8", "8:H100"),
        ("A100:40GB:4", "4:A100:40GB"),
        ("8:A100:40GB", "8:A100:40GB"),
        ("nonsense", "nonsense"),
    ],
)
def test_pretend_gpus_may_be_written_as_in_workload_files(text: str, form: str) -> None:
    assert _pretend(text) == form


def test_a_wish_becomes_arguments_that_work_in_any_directory() -> None:
    wish = ServerWish(nodes=2, fake_gpus="8", cluster="cluster.yaml")
    words = wish.arguments()
    assert words[words.index("--cluster") + 1] == str(Path("cluster.yaml").absolute())
    assert words[words.index("--fake-gpus") + 1] == "8"
    assert "--db" not in words


def test_stopping_nothing_is_no_error(ganglion: Ganglion) -> None:
    done = ganglion("down")
    assert (done.code, done.err) == (0, "No server is running.\n")


def test_stopping_what_died_is_no_error(ganglion: Ganglion, home: Path) -> None:
    home.mkdir()
    (home / "server.json").write_text('{"pid": 999999999, "url": "http://127.0.0.1:1"}')
    (home / "token").write_text("secret")
    done = ganglion("down")
    assert (done.code, done.err) == (0, "No server is running.\n")


def test_a_port_in_use_is_said_on_the_terminal_with_the_place_of_the_log(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = ganglion_process(home, "up", "--port", str(port))
    assert done.returncode == 1
    assert f"Error: port {port} is in use" in done.stderr
    assert "console.log" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = ganglion_process(tmp_path / "file" / "home", "up")
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_goes_up_runs_work_and_goes_down(home: Path) -> None:
    def call(*args: str) -> "subprocess.CompletedProcess[str]":
        return ganglion_process(home, *args)

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        where = ("--port", "0", "--services-port", str(port))
        up = call("up", *where, "--nodes", "2", "--fake-gpus", "H100:4")
    assert up.returncode == 0, up.stderr
    assert f"have no address: port {port}, where the router listens, is in use" in up.stderr
    assert "up --services-port" in up.stderr
    assert "2 nodes, 8 GPUs" in up.stdout
    assert "ganglion run --gpus 1" in up.stderr
    assert "already running" in call("up").stdout

    run = call("run", "--gpus", "2", "-e", "A=b", "--", "sh", "-c", "echo $A $RANK; exit 7")
    assert (run.returncode, run.stdout) == (7, "b 0\n"), run.stderr

    fits = call("run", "--gpus", "4", "--nodes", "2", "--dry-run", "--", "true")
    assert (fits.returncode, "would start now" in fits.stdout) == (0, True)
    never = call("run", "--gpus", "64", "--dry-run", "--", "true")
    assert (never.returncode, "can never start" in never.stdout) == (1, True)

    hog = call("run", "-d", "--name", "hog", "--gpus", "4", "--nodes", "2", "--", "sleep", "600")
    assert hog.stdout.startswith("hog-")
    waiting = call("run", "-d", "--name", "waiting", "--gpus", "3", "--", "true").stdout.strip()
    why = call("why", waiting)
    assert (why.returncode, f"{waiting} waits" in why.stdout) == (0, True), why.stderr
    (item,) = json.loads(call("queue", "-o", "json").stdout)
    assert (item["workload"], item["position"]) == (waiting, 1)
    assert call("update", waiting, "--priority", "99").returncode == 0

    assert call("cancel", "hog").returncode == 0
    assert _ended(call, waiting) == "SUCCEEDED"
    kinds = [json.loads(line)["event"]["type"] for line in _lines(call, "events", waiting)]
    assert [kind for kind in kinds if kind.startswith("gang_")] == [
        f"gang_{what}"
        for what in ("submitted", "updated", "reserved", "placed", "started", "ended")
    ]
    assert "start_expected" in kinds

    down = call("down", "--cancel")
    assert (down.returncode, down.stdout) == (0, "Server stopped.\n")
    assert "no server is running" in call("ps").stderr


def _lines(call: object, *args: str) -> list[str]:
    assert callable(call)
    return list(call(*args, "-o", "json").stdout.splitlines())


def _ended(call: object, job: str) -> str:
    """Wait for the end of a job; its state."""
    assert callable(call)
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline:
        view = json.loads(call("get", job, "-o", "json").stdout)
        if view["ended"]:
            return str(view["state"])
        time.sleep(0.2)
    raise AssertionError(f"{job} did not end: {view}")


def test_a_submit_killed_before_its_answer_is_neither_lost_nor_done_twice(home: Path) -> None:
    assert ganglion_process(home, "up", "--port", "0", "--fake-gpus", "1").returncode == 0
    record = read_server(home)
    assert record is not None
    server = psutil.Process(record.pid)
    command = [sys.executable, "-m", "ganglion", "run", "-d", "--name", "once", "--", "true"]
    environment = {**os.environ, **CALM, "GANGLION_HOME": str(home)}

    server.suspend()  # it takes the request into its socket and does not answer
    client = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    until(lambda: _waits_for_answer(client.pid, home), END_S)
    client.kill()
    assert client.communicate()[0] == ""
    server.resume()

    again = ganglion_process(home, *command[3:])
    assert "Resuming the interrupted submit of once." in again.stderr
    listed = json.loads(ganglion_process(home, "ps", "--all", "-o", "json").stdout)
    assert [view["id"] for view in listed] == [again.stdout.strip()]
    assert list((home / "submits").iterdir()) == []


def _waits_for_answer(pid: int, home: Path) -> bool:
    """Whether a client has sent its request: its key is written, its connection stands."""
    connected = any(
        each.status == psutil.CONN_NONE and each.type == socket.SOCK_STREAM
        for each in psutil.Process(pid).net_connections("unix")
    )
    return connected and any((home / "submits").iterdir())


def test_a_policy_file_is_found_from_anywhere_and_a_preset_is_no_path() -> None:
    assert str(Path("p.yaml").absolute()) in ServerWish(policy="p.yaml").arguments()
    assert "slurm-like" in ServerWish(policy="slurm-like").arguments()


def test_a_take_over_is_passed_on_to_the_server_in_the_background() -> None:
    assert "--take-over" in ServerWish(take_over=True).arguments()
    assert "--take-over" not in ServerWish().arguments()


def test_an_address_for_other_machines_is_handed_on() -> None:
    usual = ServerWish().arguments()
    given = ServerWish(host="::", behind_proxy=True).arguments()
    assert sorted(given) == sorted([*usual, "--behind-proxy", "--host", "::"])
    assert given[given.index("--host") + 1] == "::"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7"])
@pytest.mark.parametrize("more", [(), ("--foreground",)])
def test_other_machines_are_not_let_in_without_tls(
    ganglion: Ganglion, home: Path, host: str, more: tuple[str, ...]
) -> None:
    assert_refused(home, host, ganglion("up", "--host", host, *more))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7"])
def test_a_server_of_clusters_lets_no_other_machines_in_without_tls(
    ganglion: Ganglion, home: Path, host: str
) -> None:
    assert_refused(home, host, ganglion("server", "--host", host))


def assert_refused(home: Path, host: str, done: Done) -> None:
    assert (done.code, done.out) == (2, "")
    assert f"--host: other machines reach {host}" in done.err
    assert "--behind-proxy" in done.err
    assert not (home / "console.log").exists()


def test_a_server_in_the_background_that_may_not_execute_the_ledger_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two homes are given one file; the second one is refused until it takes over."""
    database = f"sqlite:///{tmp_path}/ledger.db"
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    hold(database, tmp_path / "first", take_over=False, say=print).ledger.close()
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "second"))
    with pytest.raises(NotExecutor, match=f"run by {tmp_path}/first on ") as refused:
        start(tmp_path / "second", ["--port", "0", "--db", database])
    assert "ganglion up --take-over" in refused.value.hint
    assert refused.value.exit_code == 3


def test_up_names_events_that_were_set_apart_and_down_ends_a_server_whose_turns_fail(
    home: Path,
) -> None:
    home.mkdir()
    ledger = Ledger.open(home / "ledger.db")
    ledger.append(Batch(1, [GangStopping(1, "ghost-1/0", 1, Cause(CauseKind.OTHER, text="x"))]))
    ledger.close()
    up = ganglion_process(home, "up", "--nodes", "1", "--fake-gpus", "2", "--port", "0")
    assert up.returncode == 0, up.stderr
    assert "Warning: event 1 of the ledger, gang_stopping, was set apart" in up.stderr
    record = read_server(home)
    assert record
    with sqlite3.connect(home / "ledger.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")  # until it ends, the server cannot write
        refused = ganglion_process(home, "queues", "set", "team")
        assert refused.returncode == 1
        assert "locked" in refused.stderr
        down = ganglion_process(home, "down")
        other.execute("ROLLBACK")
    other.close()
    assert (down.returncode, "Server stopped." in down.stdout) == (0, True), down.stderr
    assert not psutil.pid_exists(record.pid)


def test_up_waits_for_as_long_as_the_server_says_how_far_it_is(tmp_path: Path) -> None:
    log, looks = tmp_path / "console.log", 0
    log.touch()

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks <= 8:
            with log.open("a") as out:
                out.write("replaying the ledger, event 10,000\n")

    begun = time.monotonic()
    assert _until(look, 0.3, log) is None
    assert looks > 8
    assert time.monotonic() - begun > 0.8
