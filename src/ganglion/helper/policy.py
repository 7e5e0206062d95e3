"""Whose programs the helper starts: its policy file, which only root can write."""

import grp
import os
import pwd
import stat
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

PATH = Path("/etc/ganglion/helper.toml")
SOCKET = Path("/run/ganglion-helper/helper.sock")
LEAST_UID = 1000
"""First uid of people, as login.defs(5) has it on the usual distributions."""
SHADOW = Path("/etc/shadow")
_DAY_S = 86_400
_NO_SHELLS = frozenset({"nologin", "false"})
_KEYS = {"server": str, "least_uid": int, "groups": list, "socket": str}


class HelperPolicy(NamedTuple):
    """The policy file.

    Attributes:
        server: uid of the server, the only one that may ask.
        least_uid: programs of accounts below are not started; at least 1.
        groups: accounts have to be in one of them; None = they need not.
        socket: where the helper listens.
    """

    server: int
    least_uid: int = LEAST_UID
    groups: tuple[str, ...] | None = None
    socket: Path = SOCKET


class Account(NamedTuple):
    """A user as the machine knows it."""

    name: str
    uid: int
    gid: int


class BadPolicy(Exception):
    """The policy file cannot be used; the message says why."""


class NotAllowed(Exception):
    """The policy does not let programs of a user run; the message says why."""


def read_policy(path: Path) -> HelperPolicy:
    """Read the policy file.

    Raises:
        BadPolicy: it is missing or wrong, or another user than root could have written it.
    """
    try:
        check_roots(path.parent)
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            check_root(os.fstat(file.fileno()), path, stat.S_ISREG)
            found = tomllib.load(file)
    except OSError as error:
        raise BadPolicy(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise BadPolicy(f"{path}: {error}") from None
    return _policy(found, path)


def check_roots(folder: Path) -> None:
    """Check that only root can change what a path leads to.

    Raises:
        BadPolicy: another user can, at the folder or above it.
        OSError: a part of the path is missing.
    """
    for each in (folder.absolute(), *folder.absolute().parents):
        check_root(os.lstat(each), each, stat.S_ISDIR)


def check_root(found: os.stat_result, path: Path, kind: Callable[[int], bool]) -> None:
    """Check that a file is one of root's that others cannot write.

    Raises:
        BadPolicy: it is not.
    """
    if not kind(found.st_mode):
        raise BadPolicy(f"{path} is a link, or no file of the kind that it should be")
    shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if found.st_uid != 0 or (shared and not sticky):
        raise BadPolicy(f"{path} can be written by others than root")


def _policy(found: dict[str, Any], path: Path) -> HelperPolicy:
    for key, value in found.items():
        kind = _KEYS.get(key)
        if kind is None:
            raise BadPolicy(f"{path}: {key} is no key; there are: {', '.join(_KEYS)}")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise BadPolicy(f"{path}: {key} should be a {kind.__name__}")
    if "server" not in found:
        raise BadPolicy(f"{path}: server is missing: the account of the server")
    try:
        server = pwd.getpwnam(found["server"]).pw_uid
    except (KeyError, ValueError):
        raise BadPolicy(f"{path}: server: there is no account {found['server']!r}") from None
    if server == 0:
        raise BadPolicy(f"{path}: server: a server with the rights of root needs no helper")
    least = found.get("least_uid", LEAST_UID)
    if least < 1:
        raise BadPolicy(f"{path}: least_uid: should be at least 1")
    groups, place = found.get("groups"), Path(found.get("socket", SOCKET))
    if groups is not None and not all(isinstance(each, str) for each in groups):
        raise BadPolicy(f"{path}: groups: should be a list of names")
    if not place.is_absolute():
        raise BadPolicy(f"{path}: socket: should be an absolute path")
    return HelperPolicy(server, least, None if groups is None else tuple(groups), place)


def allowed(uid: int, policy: HelperPolicy) -> Account:
    """The account of a user whose programs may be started.

    Raises:
        NotAllowed: they may not.
    """
    if uid == 0 or uid < policy.least_uid:
        raise NotAllowed(f"uid {uid} is below {policy.least_uid}: a system account")
    if uid == policy.server:
        raise NotAllowed("the account of the server runs no programs")
    try:
        found = pwd.getpwuid(uid)
    except KeyError:
        raise NotAllowed(f"there is no account of uid {uid}") from None
    name, gid = found.pw_name, found.pw_gid
    if gid == 0:
        raise NotAllowed(f"account {name} is in the group of root")
    if Path(found.pw_shell).name in _NO_SHELLS:
        raise NotAllowed(f"account {name} has no shell: {found.pw_shell}")
    _check_shadow(name)
    _check_groups(name, gid, policy)
    return Account(name, uid, gid)


def _check_shadow(name: str) -> None:
    """Raises NotAllowed where shadow(5) has the account locked or expired."""
    try:
        lines = SHADOW.read_text("utf-8", "surrogateescape").splitlines()
    except OSError as error:
        raise NotAllowed(f"{SHADOW}: {error.strerror}") from None
    for fields in (line.split(":") for line in lines):
        if fields[0] != name or len(fields) < 8:
            continue
        if fields[1].startswith("!"):
            raise NotAllowed(f"account {name} is locked")
        if fields[7].isdigit() and int(fields[7]) <= time.time() // _DAY_S:
            raise NotAllowed(f"account {name} has expired")


def _check_groups(name: str, gid: int, policy: HelperPolicy) -> None:
    ids = set(os.getgrouplist(name, gid))
    if 0 in ids:
        raise NotAllowed(f"account {name} is in the group of root")
    if policy.groups is None:
        return
    for each in policy.groups:
        try:
            if grp.getgrnam(each).gr_gid in ids:
                return
        except KeyError:
            continue
    raise NotAllowed(f"account {name} is in none of the groups {', '.join(policy.groups)}")
