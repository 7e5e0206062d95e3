"""What the server may ask of the helper: decoded strictly, before anything is done."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ganglion.helper.wire import BadMessage, Message

MOST_UID = (1 << 32) - 2
_ATTEMPT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
_DEVICE = re.compile(r"/dev/(?:nvidia[0-9a-z-]*|nvidia-caps/[0-9a-z-]+)", re.ASCII)


class ProcessLimits(NamedTuple):
    """What the processes of an attempt may use together; 0 = any amount.

    Attributes:
        memory_bytes: of memory.
        cpu_milli: thousandths of a core.
        open_files: soft limit of open files of each process.
    """

    memory_bytes: int
    cpu_milli: int
    open_files: int


class OpenOrder(NamedTuple):
    """Begin an attempt, or join one that runs.

    Attributes:
        attempt: its name; a part of paths.
        uid: the user whose programs it runs.
        limits: of all its processes.
        devices: GPUs that they may use; None = no device is fenced off.
    """

    attempt: str
    uid: int
    limits: ProcessLimits
    devices: tuple[str, ...] | None


class EndOrder(NamedTuple):
    """End what is left of an attempt whose supervisor is gone."""

    attempt: str


class CheckOrder(NamedTuple):
    """Ask whether programs of a user would be started, and what would not be enforced."""

    uid: int


class StartOrder(NamedTuple):
    """Start a process with the three files that come along as its standard streams.

    Attributes:
        argv: argument vector.
        env: whole environment.
        workdir: directory to run in, looked up as the user.
        umask: of the process; -1 = 0o077.
        terminal: whether its standard input is a terminal that becomes its own.
        folders: directories to make before, as the user.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    umask: int
    terminal: bool
    folders: tuple[str, ...]


class SignalOrder(NamedTuple):
    """Signal a process group that was started, a child, or (0) all children."""

    pid: int
    number: int
    group: bool


class LookOrder(NamedTuple):
    """Ask which children live; with a mark, those whose environment has this `NAME=value`."""

    mark: str


FirstOrder = OpenOrder | EndOrder | CheckOrder
NextOrder = StartOrder | SignalOrder | LookOrder


def first_order(message: Message) -> FirstOrder:
    """What a connection begins with.

    Raises:
        BadMessage: it is something else; the message names the key.
    """
    if message.get("op") == "end":
        return EndOrder(_attempt(message))
    if message.get("op") == "check":
        return CheckOrder(_number(message, "uid", 0, MOST_UID))
    if message.get("op") != "open":
        raise BadMessage("op: should be open, end or check at first")
    limits = ProcessLimits(
        _number(message, "memory_bytes", 0, 1 << 62),
        _number(message, "cpu_milli", 0, 1 << 31),
        _number(message, "open_files", 0, 1 << 30),
    )
    devices = None if message.get("devices") is None else _texts(message, "devices", 1024)
    for each in devices or ():
        if not _DEVICE.fullmatch(each):
            raise BadMessage(f"devices: {each!r} is no GPU")
    uid = _number(message, "uid", 0, MOST_UID)
    return OpenOrder(_attempt(message), uid, limits, devices)


def next_order(message: Message) -> NextOrder:
    """What follows on a connection.

    Raises:
        BadMessage: it is something else; the message names the key.
    """
    kind = message.get("op")
    if kind == "signal":
        number = _number(message, "number", 0, 64)
        return SignalOrder(_number(message, "pid", 0, 1 << 30), number, _flag(message, "group"))
    if kind == "look":
        return LookOrder(_text(message.get("mark"), "mark"))
    if kind != "start":
        raise BadMessage("op: should be start, signal or look")
    argv, env = _texts(message, "argv", 1 << 20), message.get("env")
    if not argv or not argv[0]:
        raise BadMessage("argv: should name a program")
    if not isinstance(env, dict):
        raise BadMessage("env: should be an object")
    for name, value in env.items():
        if not _text(name, "env") or "=" in name:
            raise BadMessage(f"env: {name!r} is no name of a variable")
        _text(value, "env")
    return StartOrder(
        argv,
        env,
        _path(message.get("workdir"), "workdir"),
        _number(message, "umask", -1, 0o777),
        _flag(message, "terminal"),
        tuple(_path(each, "folders") for each in _texts(message, "folders", 64)),
    )


def _attempt(message: Message) -> str:
    found = _text(message.get("attempt"), "attempt")
    if not _ATTEMPT.fullmatch(found):
        raise BadMessage(f"attempt: {found[:200]!r} is no name of an attempt")
    return found


def _number(message: Message, key: str, least: int, most: int) -> int:
    found = message.get(key)
    if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= most:
        raise BadMessage(f"{key}: should be a number from {least} to {most}")
    return found


def _flag(message: Message, key: str) -> bool:
    found = message.get(key)
    if not isinstance(found, bool):
        raise BadMessage(f"{key}: should be true or false")
    return found


def _text(found: object, key: str) -> str:
    if not isinstance(found, str) or "\0" in found:
        raise BadMessage(f"{key}: should be a text without NUL")
    try:
        found.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise BadMessage(f"{key}: is no text of a file system") from None
    return found


def _texts(message: Message, key: str, most: int) -> tuple[str, ...]:
    found = message.get(key)
    if not isinstance(found, list) or len(found) > most:
        raise BadMessage(f"{key}: should be a list of at most {most} texts")
    return tuple(_text(each, key) for each in found)


def _path(found: object, key: str) -> str:
    path = _text(found, key)
    if not path.startswith("/"):
        raise BadMessage(f"{key}: {path[:200]!r} is not an absolute path")
    return path
