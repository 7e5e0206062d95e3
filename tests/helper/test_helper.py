"""What the root helper starts, and what it refuses."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ganglion.helper import cgroups, wire
from ganglion.helper.orders import ProcessLimits
from ganglion.helper.policy import BadPolicy, read_policy
from ganglion.worlds.local.supervision.children import NotStarted, asked_once
from tests.helper.shared_host import (
    PACKAGES,
    Account,
    RunningHelper,
    account,
    as_uid,
    awaited,
    lives,
    needs_root,
    running_helper,
    server_uid,
    started,
)

pytestmark = needs_root


@pytest.fixture(scope="module")
def user() -> Iterator[Account]:
    with account(0) as made:
        yield made


@pytest.fixture
def helper() -> Iterator[RunningHelper]:
    with running_helper() as made:
        made.start()
        yield made


def check(helper: RunningHelper, uid: int) -> object:
    with as_uid(server_uid()):
        return asked_once(str(helper.socket), {"op": "check", "uid": uid})


def test_a_program_runs_as_the_user_with_its_groups_and_nothing_more(
    helper: RunningHelper, user: Account
) -> None:
    log = helper.folder / "out"
    line = (
        "id -u; id -g; id -G; umask; pwd; grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status"
    )
    run = started(helper.asked(user), line, log)
    assert run.output() == 0
    uid, gid, groups, umask, where, *rights = log.read_text().splitlines()
    assert uid == str(user.uid)
    assert gid == str(user.home.stat().st_gid)
    assert "0" not in groups.split()
    assert umask == "0077"
    assert where == "/"
    assert [each.split()[1] for each in rights if "Eff" in each or "Prm" in each] == ["0" * 16] * 2
    assert rights[-1].split() == ["NoNewPrivs:", "1"]


def test_a_program_cannot_become_root_nor_signal_or_read_the_server(
    helper: RunningHelper, user: Account
) -> None:
    log, home = helper.folder / "out", helper.folder / "home"
    home.mkdir(mode=0o700)
    (home / "token").write_text("secret")
    line = (
        f"exec 2>/dev/null; kill -0 {os.getpid()} && echo signals; cat {home}/token && echo reads;"
        " kill -9 $PPID && echo kills its keeper; su -c id </dev/null && echo root;"
        "ls /proc/self/fd | tr '\\n' ' '"
    )
    run = started(helper.asked(user), line, log)
    assert run.output() == 0
    assert log.read_text().split() == ["0", "1", "2", "3"]  # the last one is that of `ls`


def test_what_a_program_leaves_behind_is_killed_when_its_supervisor_goes(
    helper: RunningHelper, user: Account
) -> None:
    log = helper.folder / "out"
    run = started(helper.asked(user), "setsid sleep 300 & echo $!; exec sleep 300", log)
    awaited(lambda: log.read_text().strip())
    stray = int(log.read_text())
    awaited(lambda: lives(stray))
    run.children.sources[0].close()
    awaited(lambda: not lives(run.pid) and not lives(stray))


def test_signals_reach_the_group_of_a_program_and_its_code_comes_back(
    helper: RunningHelper, user: Account
) -> None:
    log = helper.folder / "out"
    line = "trap 'echo told; exit 7' USR1; echo ready; while :; do sleep 0.01; done"
    run = started(helper.asked(user), line, log, OF_RUN="1")
    awaited(lambda: "ready" in log.read_text())
    assert run.children.all("OF_RUN=1") == {run.pid}
    assert run.children.group_lives(run.pid)
    assert run.children.group_lives(run.pid, signal.SIGUSR1)
    assert run.output() == 7
    assert "told" in log.read_text()
    awaited(lambda: not run.children.group_lives(run.pid))
    assert run.children.all("OF_RUN=1") == set()


def test_only_groups_that_it_started_are_signalled(helper: RunningHelper, user: Account) -> None:
    other = subprocess.Popen(["sleep", "300"], start_new_session=True)
    run = started(helper.asked(user), "sleep 300", helper.folder / "out")
    assert not run.children.group_lives(other.pid, signal.SIGKILL)
    run.children.signal(1, 0)
    assert other.poll() is None
    other.kill()
    other.wait()


def test_a_killed_helper_takes_no_attempt_along_and_the_next_one_finds_it(
    helper: RunningHelper, user: Account
) -> None:
    log = helper.folder / "out"
    asked = helper.asked(user)
    run = started(asked, "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done", log)
    awaited(lambda: "ready" in log.read_text())
    helper.kill()
    assert run.children.group_lives(run.pid)
    with pytest.raises(NotStarted, match="not at"):
        check(helper, user.uid)
    helper.start()
    with as_uid(server_uid()):
        end = asked_once(str(helper.socket), {"op": "end", "attempt": asked["attempt"]})
    assert end == {"left": True}
    run.children.group_lives(run.pid, signal.SIGUSR1)
    assert run.output() == 5


@pytest.mark.skipif(cgroups.mount() is None, reason="cgroup v2 is not mounted")
def test_what_a_killed_keeper_leaves_is_ended_by_the_control_group(
    helper: RunningHelper, user: Account
) -> None:
    log = helper.folder / "out"
    run = started(helper.asked(user), "setsid sleep 300 & echo $!; exec sleep 300", log)
    awaited(lambda: log.read_text().strip())
    stray = int(log.read_text())
    keeper = int(Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    assert run.output() == -signal.SIGKILL
    assert lives(stray)

    def ended() -> bool:
        with as_uid(server_uid()):
            order = {"op": "end", "attempt": "job-1.0.1"}
            return asked_once(str(helper.socket), order) == {"left": False}

    awaited(ended)
    assert not lives(stray)


def test_another_helper_ends_nothing_of_an_attempt_with_the_same_name(
    helper: RunningHelper, user: Account
) -> None:
    log = helper.folder / "out"
    line = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done"
    run = started(helper.asked(user), line, log)
    awaited(lambda: "ready" in log.read_text())
    with running_helper() as other:
        other.start()
        with as_uid(server_uid()):
            order = {"op": "end", "attempt": helper.asked(user)["attempt"]}
            assert asked_once(str(other.socket), order) == {"left": False}
        assert run.children.group_lives(run.pid, signal.SIGUSR1)
        assert run.output() == 5


def test_a_missing_program_or_directory_is_named(helper: RunningHelper, user: Account) -> None:
    asked = helper.asked(user) | {"folders": [f"{helper.folder}/mine"]}
    with pytest.raises(PermissionError, match="mine"):
        started(asked, "true", helper.folder / "out")
    made = user.home / "a" / "b"
    asked = helper.asked(user) | {"folders": [str(made)]}
    assert started(asked, "true", helper.folder / "out").output() == 0
    assert made.stat().st_uid == user.uid


def test_foreign_peers_are_refused(helper: RunningHelper, user: Account) -> None:
    helper.socket.chmod(0o666)  # the mode keeps them out before
    for uid in (user.uid, 0):
        with as_uid(uid), pytest.raises(NotStarted, match=r"ended|answer"):
            asked_once(str(helper.socket), {"op": "check", "uid": user.uid})
    assert "was refused: it is not the server" in helper.log()


def test_a_helper_that_is_not_roots_is_not_used(tmp_path: Path, user: Account) -> None:
    place = Path(f"{user.home}/false.sock")
    with socket.socket(socket.AF_UNIX) as false, as_uid(user.uid):
        false.bind(str(place))
        false.listen()
        with pytest.raises(NotStarted, match="not root's"):
            asked_once(str(place), {"op": "check", "uid": user.uid})


def test_system_accounts_and_unknown_ones_are_refused(helper: RunningHelper, user: Account) -> None:
    assert check(helper, user.uid) == {"unenforced": cgroups.unenforced()}
    for uid, why in (
        (0, "system account"),
        (server_uid(), "system account"),
        (61234567, "no account"),
    ):
        with pytest.raises(NotStarted, match=why):
            check(helper, uid)
    helper.allow("least_uid = 1")
    with pytest.raises(NotStarted, match="account of the server"):
        check(helper, server_uid())
    helper.allow('groups = ["games"]')
    with pytest.raises(NotStarted, match="none of the groups games"):
        check(helper, user.uid)
    helper.allow('groups = ["games", "users"]')
    check(helper, user.uid)


def test_locked_accounts_and_those_without_a_shell_are_refused(helper: RunningHelper) -> None:
    with account(1, password="!x") as locked, pytest.raises(NotStarted, match="is locked"):
        check(helper, locked.uid)
    with (
        account(2, shell="/usr/sbin/nologin") as other,
        pytest.raises(NotStarted, match="no shell"),
    ):
        check(helper, other.uid)


def test_a_policy_that_another_user_can_change_is_refused(
    helper: RunningHelper, user: Account
) -> None:
    helper.policy.chmod(0o666)
    with pytest.raises(NotStarted, match="written by others"):
        check(helper, user.uid)
    helper.policy.unlink()
    other = user.home / "helper.toml"
    other.write_text('server = "daemon"\nleast_uid = 1\n')
    helper.policy.symlink_to(other)
    with pytest.raises(NotStarted, match=r"symbolic links|Too many"):
        check(helper, user.uid)
    with pytest.raises(BadPolicy, match="written by others"):
        read_policy(other)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "server is missing"),
        ('server = "root"', "needs no helper"),
        ('server = "nobody-has-this"', "no account"),
        ('server = "daemon"\nleast_uid = 0', "at least 1"),
        ('server = "daemon"\nleast_uid = "x"', "should be a int"),
        ('server = "daemon"\nsever = 1', "sever is no key"),
        ('server = "daemon"\nsocket = "x"', "absolute"),
        ("server =", "Invalid"),
    ],
)
def test_a_wrong_policy_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "helper.toml"
    path.write_text(text)
    with pytest.raises(BadPolicy, match=why):
        read_policy(path)


def test_bad_requests_end_one_connection_and_nothing_else(
    helper: RunningHelper, user: Account
) -> None:
    for body in (b"", b"\xff\xff\xff\xff", wire.HEAD.pack(2) + b"[]", wire.HEAD.pack(9) + b"{}"):
        with as_uid(server_uid()), socket.socket(socket.AF_UNIX) as connected:
            connected.connect(str(helper.socket))
            connected.sendall(body)
            connected.shutdown(socket.SHUT_WR)
            assert b"refused" in connected.recv(4096) or body == b""
    run = started(helper.asked(user), "sleep 300", helper.folder / "out")
    wrong = {"op": "start", "argv": ["id"], "env": {}, "workdir": "/", "umask": "x"}
    assert run.children._ask(wrong) == {}
    assert run.output() == -signal.SIGKILL  # with its connection ends what it started
    check(helper, user.uid)


def test_it_starts_only_as_root(user: Account) -> None:
    done = subprocess.run(
        ["/usr/bin/python3", "-S", "-P", "-m", "ganglion.helper"],
        env={"PYTHONPATH": PACKAGES},
        user=user.uid,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "needs the rights of root" in done.stderr


@pytest.mark.parametrize(
    ("limits", "written"),
    [
        (ProcessLimits(1 << 30, 1500, 0), {"memory.max": "1073741824", "cpu.max": "150000 100000"}),
        (ProcessLimits(0, 1500, 0), {"cpu.max": "150000 100000"}),
        (ProcessLimits(1 << 30, 0, 0), {"memory.max": "1073741824"}),
        (ProcessLimits(0, 0, 0), {}),
    ],
)
def test_only_what_was_asked_for_is_limited(
    tmp_path: Path, limits: ProcessLimits, written: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    monkeypatch.setattr(cgroups, "MOUNTS", (tmp_path,))
    monkeypatch.setattr(cgroups, "SYSTEMD", tmp_path / "none")
    made = cgroups.joined("g", limits, ("/dev/nvidia0",))
    assert made.unenforced == ("devices",)
    assert made.folder
    assert {each.name: each.read_text() for each in made.folder.iterdir()} == written


def test_systemd_is_asked_for_limits_and_devices() -> None:
    call = " ".join(
        cgroups.scope_call("a.0.1", 42, ProcessLimits(1 << 30, 1500, 0), ("/dev/nvidia3",))
    )
    assert "StartTransientUnit ssa(sv)a(sa(sv)) ganglion-a.0.1.scope fail 8 PIDs au 1 42" in call
    assert "MemoryMax t 1073741824 CPUQuotaPerSecUSec t 1500000 DevicePolicy s closed" in call
    assert "DeviceAllow a(ss) 5 /dev/nvidiactl rw" in call
    assert call.endswith("/dev/nvidia3 rw 0")
