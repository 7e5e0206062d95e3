"""Anchors get signed checkpoints: a file, syslog by a real socket, a real repository of git."""

import errno
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.audit.trail import write
from tests.server.process import Api, Nursery, until

from ganglion.audit.anchored import Anchored, read_anchor
from ganglion.audit.anchors import AnchorReached, AuditSettings, read_audit_settings
from ganglion.audit.folder import AuditFolder
from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import FileError
from ganglion.seams.effects import SYSTEM
from ganglion.seams.files import OWNER, SystemFiles, Where
from ganglion.server.audit.anchoring import SILENT_MS
from ganglion.server.audit.signing import Signing


class Rig:
    """A ledger that is signed, with its anchors; every `step` signs two events more."""

    def __init__(self, home: Path, files: SystemFiles | None = None) -> None:
        effects = SYSTEM._replace(files=files) if files else SYSTEM
        self.home, self.ledger = home, Ledger.open(home / "ledger.db")
        self.signing = Signing(home, self.ledger, lambda: 1_000, effects)

    def step(self) -> str:
        """Sign, and write to the anchors; returns what is wrong."""
        write(self.ledger, 1)
        assert self.signing.step(ending=True)
        self.signing._anchoring.step()
        return self.signing.unanchored

    def anchored(self, path: Path) -> Anchored:
        """What an anchor holds of the log, without a flaw."""
        found = read_anchor(path, AuditFolder(self.home).signer().public)
        assert found.flaws == []
        return found


@contextmanager
def signed(home: Path, settings: str, files: SystemFiles | None = None) -> Iterator[Rig]:
    (home / "audit.yaml").write_text(settings)
    rig = Rig(home, files)
    yield rig
    rig.ledger.close()


def git(folder: Path, *argv: str) -> str:
    made = subprocess.run(
        ["git", "-C", str(folder), *argv], check=True, capture_output=True, text=True, timeout=30
    )
    return made.stdout


def test_a_file_gets_every_checkpoint_once_also_after_a_restart(tmp_path: Path) -> None:
    anchor = tmp_path / "elsewhere"
    settings = f"anchors:\n- file: {anchor}\n"
    with signed(tmp_path, settings) as rig:
        assert [rig.step(), rig.step()] == ["", ""]
        assert [*rig.anchored(anchor).roots] == [2, 4]
        before = anchor.read_bytes()
        again = Signing(tmp_path, rig.ledger, lambda: 0)
        assert again.step() is None
        assert again.newest
        again._anchoring.step()
        assert (again.unanchored, anchor.read_bytes()) == ("", before)


@pytest.mark.parametrize("cut", [1, 20, 60, 100, 150, -1])
@pytest.mark.parametrize("notes", [0, 1])
def test_what_a_power_cut_left_of_a_note_is_cut_off(tmp_path: Path, notes: int, cut: int) -> None:
    anchor = tmp_path / "elsewhere"
    with signed(tmp_path, f"anchors:\n- file: {anchor}\n") as rig:
        rig.step()
        whole = anchor.read_bytes()
        anchor.write_bytes(whole * notes + whole[:cut])
        assert rig.step() == ""
        assert [*rig.anchored(anchor).roots] == [2, 4][1 - notes :]


def test_how_far_an_anchor_is_known_and_one_that_does_not_answer_is_named(tmp_path: Path) -> None:
    good, files = tmp_path / "elsewhere", RefusingFiles()
    files.broken = False
    with signed(tmp_path, f"anchors:\n- file: {good}\n", files) as rig:
        (anchor,) = read_audit_settings(tmp_path).anchors
        assert rig.signing.reached(anchor) == AnchorReached(begun=1_000)
        rig.step()
        assert rig.signing.reached(anchor) == AnchorReached(2, 1_000)
        files.broken = True
        rig.step()
        assert rig.signing.reached(anchor) == AnchorReached(2, 1_000, os.strerror(errno.EIO))
        files.broken = False
        rig.step()
        assert rig.signing.reached(anchor) == AnchorReached(6, 1_000)
        rig.signing._anchoring._busy = anchor, 1_000 - SILENT_MS
        assert rig.signing.missing() == f"anchor file {good} has not answered for 120 s"


def test_a_file_of_something_else_is_not_written_to(tmp_path: Path) -> None:
    anchor = tmp_path / "elsewhere"
    anchor.write_text("minutes of the meeting")
    with signed(tmp_path, f"anchors:\n- file: {anchor}\n") as rig:
        trouble = f"anchor file {anchor}: it does not end with a checkpoint of this log"
        assert rig.step() == trouble
    assert anchor.read_text() == "minutes of the meeting"


class RefusingFiles(SystemFiles):
    """Refuses to sync an anchor while `broken`."""

    def __init__(self) -> None:
        self.broken = True
        self._anchors = set[int]()

    def open(self, path: Where, flags: int, mode: int = OWNER) -> int:
        descriptor = super().open(path, flags, mode)
        if Path(path).name == "elsewhere":
            self._anchors.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        self._anchors.discard(descriptor)
        super().close(descriptor)

    def sync(self, descriptor: int) -> None:
        if self.broken and descriptor in self._anchors:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(descriptor)


def test_an_anchor_that_refuses_holds_up_no_other_and_gets_the_newest_later(
    tmp_path: Path,
) -> None:
    disk, bad, good = RefusingFiles(), tmp_path / "elsewhere", tmp_path / "good"
    with signed(tmp_path, f"anchors:\n- file: {bad}\n- file: {good}\n", disk) as rig:
        assert rig.step() == f"anchor file {bad}: Input/output error"
        assert rig.signing.trouble == ""
        assert [*rig.anchored(good).roots] == [2]
        disk.broken = False
        assert rig.step() == ""
        assert [*rig.anchored(good).roots] == [2, 4]
        assert max(rig.anchored(bad).roots) == 4


def test_a_socket_of_syslog_gets_lines_that_verify(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as collector:
        collector.bind(str(tmp_path / "log"))
        collector.settimeout(5)
        with signed(tmp_path, f"anchors:\n- syslog: {tmp_path}/log\n") as rig:
            assert [rig.step(), rig.step()] == ["", ""]
            lines = [collector.recv(8192).decode() for _ in range(2)]
            (tmp_path / "collected").write_text("\n".join(lines) + "\n")
            assert [*rig.anchored(tmp_path / "collected").roots] == [2, 4]
    head = r"<110>1 1970-01-01T00:00:01\.000Z \S+ ganglion \d+ checkpoint - ganglion-checkpoint "
    (text,) = re.findall(f"^{head}(.*)$", lines[0])
    assert json.loads(text).count("\n") == 5


def test_a_collector_gets_datagrams_of_udp_and_one_that_is_away_is_said(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as collector:
        collector.bind(("127.0.0.1", 0))
        collector.settimeout(5)
        place = f"udp://127.0.0.1:{collector.getsockname()[1]}"
        settings = f"anchors:\n- syslog: {place}\n- syslog: {tmp_path}/gone\n"
        with signed(tmp_path, settings) as rig:
            assert rig.step() == f"anchor syslog {tmp_path}/gone: No such file or directory"
            (tmp_path / "collected").write_bytes(collector.recv(8192) + b"\n")
            assert [*rig.anchored(tmp_path / "collected").roots] == [2]


def test_a_repository_gets_a_commit_per_checkpoint_and_its_remote_too(tmp_path: Path) -> None:
    repository, remote = tmp_path / "anchor", tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    git(tmp_path, "init", "-q", "-b", "main", str(repository))
    git(repository, "remote", "add", "origin", str(remote))
    (repository / "draft").write_text("of somebody else")
    git(repository, "add", "draft")
    with signed(tmp_path, f"anchors:\n- git: {repository}\n  push: origin\n") as rig:
        assert [rig.step(), rig.step()] == ["", ""]
        assert [*rig.anchored(repository).roots] == [2, 4]
    name = AuditFolder(tmp_path).signer().public.name
    said = [f"Checkpoint of {count} records of {name}" for count in (4, 2)]
    assert git(remote, "log", "--format=%s", "main").splitlines() == said
    assert git(remote, "ls-tree", "--name-only", "main").split() == ["checkpoints"]
    assert git(repository, "status", "--porcelain") == "A  draft\n"


def test_a_repository_that_refuses_is_said_and_gets_the_commit_later(tmp_path: Path) -> None:
    repository = tmp_path / "anchor"
    repository.mkdir()
    with signed(tmp_path, f"anchors:\n- git: {repository}\n") as rig:
        assert "git rev-parse: fatal: not a git repository" in rig.step()
        assert not (repository / "checkpoints").exists()
        git(repository, "init", "-q")
        lock = repository / ".git" / "index.lock"
        lock.touch()
        assert "index.lock" in rig.step()
        lock.unlink()
        rig.signing._anchoring.step()
        assert rig.signing.unanchored == ""
        assert git(repository, "log", "--format=%s").count("Checkpoint of 4 records") == 1
        assert [*rig.anchored(repository).roots] == [4]


def test_the_last_checkpoint_is_anchored_when_the_server_ends(tmp_path: Path) -> None:
    with signed(tmp_path, f"anchors:\n- file: {tmp_path}/elsewhere\n") as rig:
        rig.signing.start()
        write(rig.ledger, 1)
        rig.signing.close()
        assert max(rig.anchored(tmp_path / "elsewhere").roots) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("anchors: [{}]", "one of file, syslog, git and bucket"),
        ("anchors: [{file: /a, git: /b}]", "one of file, syslog, git and bucket"),
        ("anchors: [{file: relative}]", "relative is not an absolute path"),
        ("anchors: [{file: /a, push: origin}]", "push goes with git"),
        ("anchors: [{git: /a, push: --force}]", "no name of a remote"),
        ("anchors: [{syslog: 'udp://h:99999'}]", "is not as udp://HOST:PORT"),
        ("anchors: [{syslog: 'udp://'}]", "is not as udp://HOST:PORT"),
        ("anchor: []", "unknown field"),
        ("[", "expected"),
    ],
)
def test_settings_that_are_wrong_are_said_and_signing_goes_on(
    tmp_path: Path, text: str, said: str
) -> None:
    with signed(tmp_path, text) as rig:
        assert said in rig.step()
        assert rig.signing.newest
        with pytest.raises(FileError, match=r"audit\.yaml"):
            read_audit_settings(tmp_path)
        (tmp_path / "audit.yaml").unlink()
        assert rig.step() == ""
    assert read_audit_settings(tmp_path) == AuditSettings()


def test_a_server_is_ready_and_warns_of_an_anchor_that_is_away(tmp_path: Path) -> None:
    with closing(Nursery(tmp_path / "h")) as nursery, closing(Api(nursery.home)) as api:
        nursery.start()
        api.patiently("GET", "/nodes")
        assert nursery.end(signal.SIGTERM) == 0
        (nursery.home / "audit.yaml").write_text(f"anchors:\n- syslog: {tmp_path}/gone\n")
        nursery.start()
        api.patiently("GET", "/nodes")

        def warned() -> str:
            health = api.call("GET", "/../../readyz").json()
            assert health["status"] == "ok"
            return str({each["name"]: each.get("message") for each in health["checks"]}["audit"])

        assert until(warned) == f"anchor syslog {tmp_path}/gone: No such file or directory"
