"""Messages between the helper and the server: a length, a JSON object, and file descriptors."""

import json
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

HEAD = struct.Struct(">I")
MOST_BYTES = 4 << 20
"""Longest message: more than the kernel takes as arguments and environment of one program."""
MOST_FILES = 3

Message = dict[str, Any]
"""A decoded JSON object."""


class BadMessage(Exception):
    """What came is no message."""


def send(connected: socket.socket, message: Mapping[str, Any], files: Sequence[int] = ()) -> None:
    """Send a message with the file descriptors that belong to it.

    Raises:
        BadMessage: it is too long.
        OSError: the other end is gone.
    """
    body = json.dumps(message).encode("ascii")
    if len(body) > MOST_BYTES:
        raise BadMessage(f"a message of {len(body):,} bytes; {MOST_BYTES:,} are allowed")
    framed = HEAD.pack(len(body)) + body
    sent = socket.send_fds(connected, [framed], list(files)) if files else 0
    connected.sendall(framed[sent:])


def receive(connected: socket.socket) -> tuple[Message, list[int]] | None:
    """Receive a message and the file descriptors that came with it; None = the other end left.

    Raises:
        BadMessage: it is none; what came with it is closed.
        OSError: the other end is gone.
    """
    files = list[int]()
    try:
        head = b""
        while len(head) < HEAD.size:
            chunk, came, flags, _ = socket.recv_fds(
                connected, HEAD.size - len(head), MOST_FILES, socket.MSG_CMSG_CLOEXEC
            )
            files += came
            if not chunk and not head:
                return None
            if not chunk or flags & socket.MSG_CTRUNC or len(files) > MOST_FILES:
                raise BadMessage("it was cut short, or too many files came with it")
            head += chunk
        (size,) = HEAD.unpack(head)
        if size > MOST_BYTES:
            raise BadMessage(f"a message of {size:,} bytes; {MOST_BYTES:,} are allowed")
        return decoded(_exactly(connected, size)), files
    except (BadMessage, OSError):
        for each in files:
            os.close(each)
        raise


def decoded(body: bytes) -> Message:
    """The JSON object of a message.

    Raises:
        BadMessage: it is none.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"no JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadMessage("no JSON object")
    return found


def _exactly(connected: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        chunk = connected.recv(min(1 << 16, size - len(found)))
        if not chunk:
            raise BadMessage("it was cut short")
        found += chunk
    return bytes(found)
