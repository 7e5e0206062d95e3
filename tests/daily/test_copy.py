"""`ganglion cp` and `ganglion port-forward` against a real server."""

import contextlib
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.daily.conftest import Ganglion, Site
from tests.daily.person import Person
from tests.server.process import until

ECHO = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
open("port.new", "w").write(str(listener.getsockname()[1]))
import os; os.rename("port.new", "port")
def serve(one):
    got = b""
    while chunk := one.recv(65536):
        got += chunk
        open("met", "w").close()
    one.sendall(got[::-1])
    one.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],)).start()
"""


@pytest.fixture
def pod(site: Site, ganglion: Ganglion, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A running job and its directory; it answers every connection with what was sent, reversed."""
    folder = tmp_path / "pod"
    folder.mkdir()
    name = site.submit(f"copy-{uuid4().hex[:8]}", [sys.executable, "-c", ECHO], workdir=str(folder))
    site.reach(name, "RUNNING")
    until((folder / "port").exists)
    yield name, folder
    ganglion("cancel", name, "--force")


def tree(folder: Path) -> Path:
    """A folder with an empty one, a script, a private file, a link and a large file."""
    (folder / "empty").mkdir(parents=True)
    script = folder / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    private = folder / "key"
    private.write_text("secret")
    private.chmod(0o600)
    (folder / "link").symlink_to("run.sh")
    (folder / "large").write_bytes(os.urandom(1 << 20))
    return folder


def facts(folder: Path) -> dict[str, object]:
    return {
        str(each.relative_to(folder)): (
            str(each.readlink())
            if each.is_symlink()
            else (each.stat().st_mode, each.is_file() and each.read_bytes())
        )
        for each in folder.rglob("*")
    }


def test_a_folder_comes_back_as_it_went(
    pod: tuple[str, Path], ganglion: Ganglion, tmp_path: Path
) -> None:
    job, folder = pod
    source = tree(tmp_path / "data")
    assert ganglion("cp", str(source), f"{job}:inputs").code == 0
    assert facts(folder / "inputs") == facts(source)
    (folder / "taken").mkdir()
    assert ganglion("cp", str(source), f"{job}:taken").code == 0
    assert facts(folder / "taken/data") == facts(source)
    back = tmp_path / "back"
    assert ganglion("cp", f"{job}:inputs", str(back)).code == 0
    assert facts(back) == facts(source)
    assert ganglion("cp", f"{job}:inputs", str(back)).code == 0
    assert facts(back / "inputs") == facts(source)


def test_a_file_is_copied_under_either_name(
    site: Site, pod: tuple[str, Path], ganglion: Ganglion, tmp_path: Path
) -> None:
    job, folder = pod
    (folder / "out.txt").write_text("loss 0.1")
    assert ganglion("cp", f"{job}:out.txt", str(tmp_path)).code == 0
    assert ganglion("cp", f"{job}:{folder}/out.txt", str(tmp_path / "other.txt")).code == 0
    assert (tmp_path / "out.txt").read_text() == (tmp_path / "other.txt").read_text() == "loss 0.1"
    assert ganglion("cp", str(tmp_path / "other.txt"), f"{job}:third.txt").code == 0
    assert (folder / "third.txt").read_text() == "loss 0.1"
    until(lambda: len(site.accesses(job)) == 8)
    begun = [e for e in site.accesses(job) if e["stage"] == "begun"]
    assert [(e["verb"], e["path"], e["command"][:2]) for e in begun] == [
        ("cp", "out.txt", ["tar", "-cf"]),
        ("cp", f"{folder}/out.txt", ["tar", "-cf"]),
        ("cp", "third.txt", ["test", "-d"]),
        ("cp", "third.txt", ["tar", "-xpf"]),
    ]


def test_what_cannot_be_copied_is_named(
    pod: tuple[str, Path], ganglion: Ganglion, tmp_path: Path
) -> None:
    job, folder = pod
    missing = ganglion("cp", f"{job}:nothing", str(tmp_path))
    assert (missing.code, "nothing" in missing.err) == (1, True)
    nowhere = ganglion("cp", __file__, f"{job}:no/such/folder/x")
    assert (nowhere.code, "no/such/folder" in nowhere.err) == (1, True)
    assert "there is no folder" in ganglion("cp", f"{job}:port", str(tmp_path / "a/b")).err
    assert ganglion("cp", "a", "b").code == ganglion("cp", f"{job}:a", f"{job}:b").code == 2
    (folder / "evil").mkdir()
    (folder / "evil/out").symlink_to("/etc/passwd")
    refused = ganglion("cp", f"{job}:evil", str(tmp_path / "safe"))
    assert refused.code == 1
    assert "cannot copy evil" in refused.err
    assert not (tmp_path / "safe/out").exists()


def reversed_by(port: int, body: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
        one.sendall(body)
        one.shutdown(socket.SHUT_WR)
        got = b""
        while chunk := one.recv(65_536):
            got += chunk
    return got


def test_many_connections_are_forwarded_at_once(site: Site, pod: tuple[str, Path]) -> None:
    job, folder = pod
    port = (folder / "port").read_text()
    process = site.program("port-forward", job, f":{port}")
    assert process.stderr
    line = process.stderr.readline().decode()
    local = int(line.split(":")[1].split()[0])
    assert f"-> {job} port {port}" in line
    bodies = [os.urandom(100_000 + n) for n in range(10)]
    got: dict[int, bytes] = {}

    def one(n: int) -> None:
        got[n] = reversed_by(local, bodies[n])

    threads = [threading.Thread(target=one, args=(n,)) for n in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {n: body[::-1] for n, body in enumerate(bodies)}
    process.terminate()
    process.communicate(timeout=30)
    until(lambda: len(site.accesses(job)) == 2 * len(bodies))
    assert {(e["verb"], e["port"]) for e in site.accesses(job)} == {("port-forward", int(port))}


def test_a_local_port_in_use_is_named_with_its_holder(
    site: Site, pod: tuple[str, Path], ganglion: Ganglion
) -> None:
    job, _ = pod
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = ganglion("port-forward", job, f"{port}:80")
    assert done.code == 1
    assert f"port {port} is in use by" in done.err
    assert f"{port + 1}:80" in done.err
    assert ganglion("port-forward", job, "0x80").code == 2
    assert "listens on no known port" in ganglion("port-forward", job, "--pod", "0").err


def test_a_port_where_nothing_listens_is_said(site: Site, pod: tuple[str, Path]) -> None:
    job, _ = pod
    with socket.create_server(("127.0.0.1", 0)) as other:
        free = other.getsockname()[1]
    process = site.program("port-forward", job, f":{free}")
    assert process.stderr
    local = int(process.stderr.readline().decode().split(":")[1].split()[0])
    with contextlib.suppress(ConnectionResetError):
        assert reversed_by(local, b"hello") == b""
    assert f"nothing takes connections at port {free}" in process.stderr.readline().decode()
    process.terminate()
    process.communicate(timeout=30)


def test_a_port_of_another_program_is_refused(site: Site, pod: tuple[str, Path]) -> None:
    job, _ = pod
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        process = site.program("port-forward", job, f":{taken}")
        assert process.stderr
        local = int(process.stderr.readline().decode().split(":")[1].split()[0])
        with contextlib.suppress(ConnectionResetError):
            assert reversed_by(local, b"hello") == b""
        said = process.stderr.readline().decode()
        assert f"no process of {job}/0 listens at port {taken}" in said
        other.settimeout(0)
        with pytest.raises(BlockingIOError):
            other.accept()
    begun, refused = until(lambda: site.accesses(job)[1:] and site.accesses(job))
    assert (begun["port"], refused["stage"]) == (taken, "refused")
    assert f"listens at port {taken}: another program does" in refused["reason"]
    process.terminate()
    process.communicate(timeout=30)


def test_ctrl_c_ends_it_while_connections_are_open(site: Site, pod: tuple[str, Path]) -> None:
    job, folder = pod
    forwarding = Person("port-forward", job, ":" + (folder / "port").read_text())
    forwarding.expect("127.0.0.1:")
    local = int(forwarding.expect(" ->"))
    forwarding.expect("Ctrl-C ends it")
    with socket.create_connection(("127.0.0.1", local)) as one:
        one.sendall(b"kept open")
        until((folder / "met").exists)
        blocked = interrupts_blocked(forwarding.process.pid)
        forwarding.type("\x03")
        code = forwarding.leave()
    forwarding.close()
    assert code == 0
    assert blocked == {True}, "a thread that takes the signal leaves the main thread asleep"


def interrupts_blocked(pid: int) -> set[bool]:
    """Whether the threads of a process besides its main one block SIGINT."""
    others = [each for each in Path(f"/proc/{pid}/task").iterdir() if each.name != str(pid)]
    masks = [re.findall(r"SigBlk:\t(.*)", (each / "status").read_text())[0] for each in others]
    return {bool(int(mask, 16) >> (signal.SIGINT - 1) & 1) for mask in masks}
