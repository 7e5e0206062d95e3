"""The command line with a service account where every pod has it; as root, or in a user namespace.

`main` belongs into a process of its own, which nothing else sees the mount of.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from ganglion.cli import main as command_line
from ganglion.worlds.kubernetes.sign_in.config import SERVICE_ACCOUNT

NEW_MOUNTS, NEW_USERS = 0x00020000, 0x10000000
"""CLONE_NEWNS and CLONE_NEWUSER of unshare(2)."""
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
"""MS_BIND, MS_REC and MS_PRIVATE of mount(2)."""
VOLATILE = SERVICE_ACCOUNT.parents[2]
"""A folder that is there on every machine; what lies in it is hidden from the program."""


@cache
def possible() -> bool:
    """Whether programs of this machine may have mounts of their own."""
    program = shutil.which("unshare")
    if not program:
        return False
    users = ["--user", "--map-root-user"] if os.geteuid() else []
    command = [program, *users, "--mount", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def main(args: Sequence[str]) -> NoReturn:
    """Run the command line and exit.

    Args:
        args: the folder of the account, and the arguments of the command line.
    """
    account, *words = args
    _unshare()
    _mount("none", Path("/"), None, RECURSIVE | PRIVATE)
    _mount("tmpfs", VOLATILE, "tmpfs", 0)
    SERVICE_ACCOUNT.mkdir(parents=True)
    _mount(account, SERVICE_ACCOUNT, None, BIND)
    command_line.main(words)


def _unshare() -> None:
    user, group = os.geteuid(), os.getegid()
    _called("unshare", NEW_MOUNTS | (NEW_USERS if user else 0))
    if user:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            (Path("/proc/self") / name).write_text(text)


def _mount(source: str, target: Path, kind: str | None, flags: int) -> None:
    kinds = kind.encode() if kind else None
    _called("mount", source.encode(), os.fsencode(target), kinds, ctypes.c_ulong(flags), None)


def _called(name: str, *values: object) -> None:
    """Call a function of the C library. Raises OSError when it fails."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*values):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
