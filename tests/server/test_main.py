"""Starting and ending real servers."""

import json
import os
import re
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from ganglion.ledger.lock import FileLock
from ganglion.model.errors import FieldError
from ganglion.server.__main__ import main
from ganglion.server.rest.listening.address import bind, check_host, url_of
from ganglion.server.rest.listening.home import Home, ServerRecord
from tests.server.process import CLUSTER, Api, Nursery, until
from tests.transport.tls.certificates import write_pair


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER)
    return path


def refused(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str]:
    """Start a server that cannot; returns its exit code and what it said."""
    code = main([str(word) for word in argv])
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    return code, said.err


def test_a_port_in_use_is_named_with_its_holder(
    tmp_path: Path, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, said = refused(capsys, "--home", tmp_path / "h", "--cluster", cluster, "--port", port)
    assert code == 1
    assert re.search(rf"port {port} is in use by \w+ \(pid {os.getpid()}\)", said)
    assert "--port" in said


def test_a_second_server_on_one_home_is_refused(
    tmp_path: Path, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "h"
    home.mkdir()
    lock = FileLock(home / "server.lock", "x")
    code, said = refused(capsys, "--home", home, "--cluster", cluster, "--port", 0)
    lock.release()
    assert code == 1
    assert f"{home} is in use by another server (pid {os.getpid()})" in said


def test_a_home_that_cannot_be_written_is_named(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = refused(capsys, "--home", "/proc/none", "--cluster", cluster, "--port", 0)
    assert code == 1
    assert "cannot write /proc/none" in said
    assert "GANGLION_HOME" in said


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--host", "0.0.0.0", "tokens would travel unencrypted"),
        ("--host", "::", "tokens would travel unencrypted"),
        ("--port", "70000", "cannot listen"),
        ("--database", "mysql://x", "not a database"),
    ],
)
def test_bad_options_are_the_callers_mistake(
    tmp_path: Path,
    cluster: Path,
    capsys: pytest.CaptureFixture[str],
    option: str,
    value: str,
    message: str,
) -> None:
    argv = ["--home", tmp_path / "h", "--cluster", cluster, "--port", 0, option, value]
    code, said = refused(capsys, *argv)
    assert code == 2
    assert message in said
    assert not (tmp_path / "h" / "server.json").exists()


def test_all_that_is_wrong_with_certificate_and_key_is_said(
    tmp_path: Path, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = write_pair(tmp_path, days=-1)
    Path(pair.key).chmod(0o644)
    argv = ("--home", tmp_path / "h", "--cluster", cluster, "--port", 0)
    code, said = refused(capsys, *argv, "--tls-cert", pair.cert, "--tls-key", pair.key)
    assert code == 2
    assert f"error: {pair.cert}: has expired on " in said
    assert f"error: {pair.key}: other users may use the key" in said
    assert f"hint: chmod 600 {pair.key}" in said


def test_behind_tls_browsers_sign_in_at_an_address_of_https(
    tmp_path: Path, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "h"
    home.mkdir()
    (home / "login.yaml").write_text(
        "issuer: https://login.example.org\nclient_id: g\npublic_url: http://localhost:7077\n"
    )
    argv = ("--home", home, "--cluster", cluster, "--port", 0, "--tls", "self")
    code, said = refused(capsys, *argv)
    assert code == 2
    assert "login.yaml:public_url: the server speaks TLS" in said
    assert "https://" in said


def test_tls_needs_the_unix_socket_that_clients_of_the_home_use(
    tmp_path: Path,
    cluster: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ganglion.transport.unix.SUPPORTED", False)
    argv = ("--home", tmp_path / "h", "--cluster", cluster, "--port", 0, "--tls", "self")
    code, said = refused(capsys, *argv)
    assert (code, "TLS needs a Unix socket" in said) == (1, True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "2001:db8::7", "gpu-box"])
def test_other_machines_are_let_in_with_tls_or_behind_a_proxy(host: str) -> None:
    check_host(host, tls=True, behind_proxy=False)
    check_host(host, tls=False, behind_proxy=True)
    with pytest.raises(FieldError) as caught:
        check_host(host, tls=False, behind_proxy=False)
    assert host in caught.value.message
    assert "--behind-proxy" in caught.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "::ffff:127.0.0.1"])
def test_this_machine_alone_needs_no_tls(host: str) -> None:
    check_host(host, tls=False, behind_proxy=False)


@pytest.mark.parametrize(
    ("host", "url"), [("0.0.0.0", "https://127.0.0.1:"), ("::", "https://[::1]:")]
)
def test_a_server_on_every_address_is_found_at_loopback(host: str, url: str) -> None:
    with bind(host, 0) as taken:
        assert url_of(taken, host, tls=True) == f"{url}{taken.getsockname()[1]}"


def test_a_damaged_ledger_keeps_the_server_from_starting(
    tmp_path: Path, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "h"
    home.mkdir()
    (home / "ledger.db").write_bytes(b"not a database" * 1000)
    code, said = refused(capsys, "--home", home, "--cluster", cluster, "--port", 0)
    assert code == 1
    assert "ledger.db is not a ledger" in said


def test_the_token_is_for_its_owner_and_another_one_at_every_start(tmp_path: Path) -> None:
    home = Home(tmp_path / "h")
    token = home.new_token()
    assert len(token) >= 40
    assert (tmp_path / "h" / "token").read_text().strip() == token
    assert home.new_token() != token
    assert stat.S_IMODE((tmp_path / "h" / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "h").stat().st_mode) == 0o700


def test_only_the_own_record_is_withdrawn(tmp_path: Path) -> None:
    home = Home(tmp_path / "h")
    home.announce(ServerRecord(os.getpid() + 1, "http://x", 1))
    home.withdraw()
    assert home.announced() == ServerRecord(os.getpid() + 1, "http://x", 1)
    home.announce(ServerRecord(os.getpid(), "http://x", 1))
    home.withdraw()
    assert home.announced() is None


def test_answers_leave_at_once() -> None:
    """Without this asyncio leaves Nagle's algorithm on: every second packet waits for 40 ms."""
    with bind("127.0.0.1", 0) as taken:
        assert taken.proto == socket.IPPROTO_TCP


def test_a_free_port_is_found() -> None:
    with bind("127.0.0.1", 0) as taken:
        assert taken.getsockname()[1] > 0


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    made = Nursery(tmp_path / "home")
    made.start()
    yield made
    made.close()


@pytest.fixture
def api(nursery: Nursery) -> Iterator[Api]:
    made = Api(nursery.home)
    yield made
    made.close()


def state(api: Api, ref: str) -> str:
    return str(api.patiently("GET", f"/workloads/{ref}")["state"])


def test_jobs_run_on_while_no_server_does(nursery: Nursery, api: Api, tmp_path: Path) -> None:
    done = tmp_path / "done"
    run = f"while [ ! -e {done} ]; do sleep 0.05; done; echo survived"
    api.patiently("POST", "/workloads", json={"name": "a", "run": run, "queue": "red"})
    until(lambda: state(api, "a") == "RUNNING")
    record = json.loads((nursery.home / "server.json").read_text())
    assert record["pid"] == nursery.pid
    assert nursery.end(signal.SIGTERM) == 0
    assert not (nursery.home / "server.json").exists()
    nursery.start()
    assert state(api, "a") == "RUNNING"
    done.touch()
    until(lambda: state(api, "a") == "SUCCEEDED")
    assert api.call("GET", "/workloads/a/logs").text == "survived\n"
    log = [json.loads(line) for line in (nursery.home / "server.log").read_text().splitlines()]
    assert [line["event"] for line in log].count("serving") == 2


def test_a_shutdown_can_stop_all_jobs_first(nursery: Nursery, api: Api) -> None:
    for name in ("a", "b"):
        document = {"name": name, "run": "sleep 600", "queue": "red", "resources": {"gpus": 4}}
        api.patiently("POST", "/workloads", json=document)
    until(lambda: state(api, "a") == state(api, "b") == "RUNNING")
    api.patiently(
        "POST", "/workloads", json={"name": "c", "run": "true", "hold": True, "queue": "red"}
    )
    assert api.call("POST", "/shutdown", json={"cancel": True}).status_code == 202

    def gone() -> bool:
        try:
            api.call("GET", "/healthz")
        except httpx2.TransportError:
            return True
        return False

    until(gone)
    until(lambda: not (nursery.home / "server.json").exists())
    nursery.reap()
    nursery.start()
    assert [state(api, name) for name in "abc"] == ["CANCELLED"] * 3


def test_an_interrupt_ends_streams_and_the_server(nursery: Nursery, api: Api) -> None:
    until((nursery.home / "server.json").exists)
    url = json.loads((nursery.home / "server.json").read_text())["url"]
    headers = {"Authorization": f"Bearer {(nursery.home / 'token').read_text().strip()}"}
    with httpx2.stream("GET", f"{url}/api/v1/events", headers=headers, timeout=20) as response:
        lines = response.iter_lines()
        assert next(lines) == ": events"
        assert nursery.end(signal.SIGINT) == 0
        assert "event: end" in list(lines)
