"""Attempts of other accounts: what the root helper is asked, and folders that they may use."""

import os
import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.model.placement import Placement
from ganglion.model.workload import Gang, UnixAccount
from ganglion.seams import acl
from ganglion.seams.processes import SYSTEM_PROCESSES, Processes
from ganglion.worlds.local.machine.gpus import device_file
from ganglion.worlds.local.ranks.env import Gpu
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.leftovers import kill_leftovers
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.supervision.children import HELPER, NotStarted, asked_once, run_as_user

SOCKET = "/run/ganglion-helper/helper.sock"
"""Where the helper listens unless its policy says otherwise."""
ASK_S = 2.0
"""How long the helper may take to say what is left of an attempt."""
CLEAR_S = 10.0
"""How long an account may take to remove what it has closed to the server."""
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
"""`PATH` of programs of accounts unless their `env` says another, as of login(1)."""
KEPT = ("LANG", "LC_ALL", "TZ")
"""Variables of the server that programs of other accounts get: they say nothing of its owner."""
MIB = 1 << 20
READS = acl.READ | acl.PASS


class AccountLogin(Struct, frozen=True):
    """An account as the machine knows it now.

    Attributes:
        account: name and number.
        home: its home directory.
        shell: its shell.
    """

    account: UnixAccount
    home: str
    shell: str

    def path(self, text: str) -> Path:
        """A path as the user means it: `~` is the account's home."""
        if text == "~" or text.startswith("~/"):
            return Path(self.home + text[1:])
        return Path(text)

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What its programs inherit: nothing of the server's own but words for a language."""
        name = self.account.name
        own = {"HOME": self.home, "USER": name, "LOGNAME": name, "SHELL": self.shell, "PATH": PATH}
        return {each: environ[each] for each in KEPT if each in environ} | own


def login_of(account: UnixAccount) -> AccountLogin:
    """Look an account up that was recorded when its workload was submitted.

    Raises:
        InputError: it is gone, or its name or number belongs to another one by now.
    """
    try:
        found = pwd.getpwnam(account.name)
    except KeyError:
        found = None
    if found is None or found.pw_uid != account.uid:
        raise InputError(f"the account {account} that it was submitted for is gone")
    return AccountLogin(account, found.pw_dir, found.pw_shell or "/bin/sh")


def order_of(
    socket: str,
    name: str,
    gang: Gang,
    placement: Placement,
    account: UnixAccount,
    *,
    gpus: Mapping[str, Sequence[Gpu]],
    open_files: int = 0,
    folders: Sequence[Path] = (),
) -> Record:
    """What the helper has to know of an attempt.

    Args:
        socket: of the helper.
        name: of the attempt's folder.
        gang: the gang; elastic ones get the limits of all their pods.
        placement: where it starts.
        account: whose programs it runs.
        gpus: node name -> its devices in the node's order.
        open_files: soft limit of open files; 0 = that of the helper.
        folders: those that the programs need; made as their user.
    """
    requests = [(pods.count, pods.request) for pods in gang.pod_sets]
    memory, cpu = (
        0 if not all(each) else sum(each)
        for each in (
            [count * request.memory_mib * MIB for count, request in requests],
            [count * request.cpu_milli for count, request in requests],
        )
    )
    return {
        "socket": socket,
        "attempt": name,
        "uid": account.uid,
        "limits": {"memory_bytes": memory, "cpu_milli": cpu, "open_files": max(open_files, 0)},
        "devices": _devices(gang, placement, gpus),
        "folders": list(map(str, folders)),
    }


def _devices(
    gang: Gang, placement: Placement, gpus: Mapping[str, Sequence[Gpu]]
) -> list[str] | None:
    """Devices that it may use; None = any: this machine has none, or they change as it runs."""
    changes = gang.replace or any(pods.min_count for pods in gang.pod_sets)
    if changes or not any(gpu.uuid for each in gpus.values() for gpu in each):
        return None
    mine = [gpus[pod.node][number] for pod in placement.pods for number in pod.devices]
    if any(gpu.uuid.startswith("MIG-") for gpu in mine):
        return None
    return [device_file(gpu.index) for gpu in mine if gpu.uuid]


def share(
    home: Path, folder: Path, uid: int, rights: int = acl.ALL, files: Sequence[str] = ()
) -> None:
    """Let one account use a folder below the home, and pass through those above it.

    What the account makes there the server may use too, unless the account says otherwise.

    Args:
        home: Ganglion's home directory.
        folder: below it.
        uid: of the account.
        rights: of the account in the folder.
        files: names in the folder that it may use so, too.

    Raises:
        EnvironmentFault: the file system of the home has no access control lists.
    """
    above = [each for each in folder.parents if each == home or home in each.parents]
    try:
        acl.allow_below(home, {})  # what its owner writes there later is for the owner alone
        for each in reversed(above):
            known = acl.users_of(each)
            if not known.get(uid, 0) & acl.PASS:
                acl.allow(each, known | {uid: known.get(uid, 0) | acl.PASS})
        acl.allow(folder, acl.users_of(folder) | {uid: rights})
        acl.allow_below(folder, {uid: rights, os.geteuid(): acl.ALL})
        for name in files:
            acl.allow(folder / name, {uid: rights})
    except OSError as error:
        raise EnvironmentFault(
            f"programs of other accounts cannot use {folder}: {error.strerror}",
            "the home has to lie on a file system with access control lists, as ext4 or xfs",
        ) from error


def end_left(run: Path, spec: Record, processes: Processes = SYSTEM_PROCESSES) -> bool:
    """Kill what a vanished supervisor left; True when nothing was, by the helper's word too.

    While the helper does not answer, something may be left.

    Raises:
        OSError: the machine does not say what runs.
    """
    gone, asked = kill_leftovers(run, processes), spec.get(HELPER)
    if not asked:
        return gone
    order = {"op": "end", "attempt": asked["attempt"]}
    try:
        return not asked_once(asked["socket"], order, ASK_S)["left"] and gone
    except NotStarted:
        return False


def exchange_of(run: Path) -> Path:
    """Where an attempt of another account and its supervisor exchange files."""
    return run / records.EXCHANGE


def clear(run: Path) -> None:
    """Have the account of an attempt remove what it has closed to the server.

    Raises:
        OSError: it cannot be removed so either.
    """
    spec = records.read(run / records.SPEC)
    asked = spec and spec.get(HELPER)
    if not asked:
        return
    plain = {"limits": dict.fromkeys(asked["limits"], 0), "folders": []}
    folders = [str(run / name) for name in (records.EXCHANGE, records.REPORTS)]
    argv = ["find", *folders, "-mindepth", "1", "-delete"]
    try:
        run_as_user(asked | plain | {"attempt": f"{run.name}.clear"}, argv, CLEAR_S)
    except NotStarted as error:
        raise OSError(str(error)) from None
