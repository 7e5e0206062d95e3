"""A shared host: a root helper, a server of an account without rights, and users with accounts."""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from ganglion.api.workloads import WorkloadDetail
from ganglion.client import Client
from ganglion.client.home import read_server
from ganglion.lifecycle.status import State
from ganglion.model.errors import EnvironmentFault
from tests.helper.shared_host import (
    PACKAGES,
    SERVER,
    Account,
    RunningHelper,
    account,
    awaited,
    running_helper,
    server_uid,
)

ENDED = (State.SUCCEEDED, State.FAILED, State.CANCELLED)
LONG_S = 60.0
"""Patience with programs of a machine that does other things, too."""


def as_server() -> list[str]:
    """How Python is started with the account of the server, and no rights but its own.

    Where the interpreter lies in a folder of root's own, it gets a mount of its own.
    """
    gid = pwd.getpwnam(SERVER).pw_gid
    become = f"setpriv --reuid {server_uid()} --regid {gid} --clear-groups --inh-caps=-all"
    argv = [*become.split(), "--bounding-set=-all", sys.executable]
    base = Path(sys.base_prefix).resolve()
    closed = [each for each in (base, *base.parents) if not each.stat().st_mode & 0o001]
    if not closed:
        return argv
    script = (
        'spare=$(mktemp -d) && mount --bind "$1" "$spare" && mount -t tmpfs -o mode=755 none "$2"'
        ' && mkdir -p "$1" && mount --bind "$spare" "$1" && shift 2 && exec "$@"'
    )
    return ["unshare", "-m", "sh", "-c", script, "sh", str(base), str(closed[-1]), *argv]


class SharedServer:
    """The server, as an account of its own.

    Args:
        folder: where its home is made.
        helper: starts the programs.
        users: user -> account.
    """

    def __init__(self, folder: Path, helper: RunningHelper, users: dict[str, Account]) -> None:
        self.helper, self.users, self.home = helper, users, folder / "home"
        self.home.mkdir()
        self.socket = folder / "api.sock"  # the folder belongs to the server: see `map`
        self._process: subprocess.Popen[bytes] | None = None
        self.map({user: each.name for user, each in users.items()})

    def map(self, users: dict[str, str], **more: str) -> None:
        """Write `accounts.yaml`."""
        says = {"helper": str(self.helper.socket), "socket": str(self.socket), **more}
        path = self.home / "accounts.yaml"
        path.write_text(yaml.safe_dump({**says, "users": users}))
        for each in (self.home.parent, self.home, path):
            os.chown(each, server_uid(), pwd.getpwnam(SERVER).pw_gid)

    def start(self, *flags: str) -> None:
        """Start it, and wait until it answers."""
        with (self.home.parent / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*as_server(), "-m", "ganglion", "up", "--foreground", "--port", "0", *flags],
                env={
                    "PYTHONPATH": PACKAGES,
                    "GANGLION_HOME": str(self.home),
                    "PATH": os.environ["PATH"],
                    "HOME": str(self.home),
                    "LOGNAME": SERVER,
                    "OWNERS_SECRET": "hunter2",
                },
                stdout=log,
                stderr=log,
                cwd="/",
            )
        awaited(self._answers, LONG_S)

    def _answers(self) -> bool:
        assert self._process
        assert self._process.poll() is None, self.said()
        with contextlib.suppress(EnvironmentFault), self.owner() as client:
            return client.healthy()
        return False

    def said(self) -> str:
        """What it has printed."""
        return (self.home.parent / "log").read_text()

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End all jobs, then the server."""
        if self._process and self._process.poll() is None:
            with self.owner() as client:
                client.shutdown(cancel=True)
            self._process.wait(LONG_S)

    def owner(self) -> Client:
        """A client of the owner: of root, which may call too."""
        return Client.of_home(self.home)

    def by_socket(self) -> Client:
        """A client on the socket for other accounts."""
        return Client("http://localhost", unix=self.socket, shared=True)

    def user(self, name: str, role: str = "submitter") -> Client:
        """A client of a user with a personal token."""
        record = read_server(self.home)
        assert record
        with self.owner() as client:
            client.access.grant(f"user:{name}", role, "default")
            token = client.access.create_token(name, role="admin").token
        return Client(record.url, token)

    def until(
        self, ref: str, found: Callable[[WorkloadDetail], bool], seconds: float = LONG_S
    ) -> WorkloadDetail:
        """Wait until a workload is as it should be."""
        with self.owner() as client:
            awaited(lambda: found(client.workload(ref)), seconds)
            return client.workload(ref)

    def ended(self, ref: str) -> WorkloadDetail:
        """Wait until a workload has ended."""
        return self.until(ref, lambda each: each.state in ENDED)

    def printed(self, ref: str, text: str) -> None:
        """Wait until rank 0 of a workload has written something."""
        self.until(ref, lambda each: each.state == State.RUNNING)
        awaited(lambda: text in self.log(ref), LONG_S)

    def log(self, ref: str, client: Client | None = None) -> str:
        """What rank 0 of a workload has written."""
        with client or self.owner() as asking, asking.logs(ref) as chunks:
            return b"".join(chunks).decode()


@contextlib.contextmanager
def shared_server(*flags: str) -> Iterator[SharedServer]:
    """A server with the users eve and bob."""
    name = tempfile.mkdtemp(prefix="ganglion-shared-", dir="/tmp")
    folder = Path(name)
    folder.chmod(0o755)
    with account(0) as eve, account(1) as bob, running_helper() as helper:
        helper.start()
        made = SharedServer(folder, helper, {"eve": eve, "bob": bob})
        try:
            made.start("--fake-gpus", "4", *flags)
            yield made
        finally:
            made.close()
            made.kill()
            shutil.rmtree(folder)
