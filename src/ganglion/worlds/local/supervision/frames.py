"""Messages between a terminal and its callers; standard library only.

A message is one byte that names a channel, and its payload. The channels are those that
Kubernetes uses for `exec` and `attach` (subprotocol `v5.channel.k8s.io`). On a stream every
message follows its length.
"""

import contextlib
import json
import select
import socket
import struct
import time
from typing import Any

STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
"""Channels. The payload of CLOSE is the number of the channel that ends."""
HEAD = struct.Struct(">I")
CHUNK = 1 << 16
"""Most bytes of one payload that this side sends."""
MOST = 1 << 20
"""Longest message that is accepted; more than this is not kept for a slow reader."""


class BrokenMessage(Exception):
    """What came is no message."""


def message(channel: int, payload: bytes) -> bytes:
    """Return a message without its length."""
    return bytes((channel,)) + payload


def framed(body: bytes) -> bytes:
    """Return a message after its length."""
    return HEAD.pack(len(body)) + body


def status(**facts: Any) -> bytes:  # noqa: ANN401 - whatever JSON has
    """Return the message that ends a terminal, framed."""
    return framed(message(STATUS, json.dumps(facts).encode()))


class FrameSocket:
    """The other end of a socket: reads and writes whole messages, and never blocks.

    Attributes:
        gone: whether it has closed its end, or broken the protocol.
    """

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._in, self._out = bytearray(), bytearray()
        self.gone = False

    def fileno(self) -> int:
        """For `select`."""
        return self._socket.fileno()

    @property
    def waiting(self) -> int:
        """Bytes that it has not taken yet."""
        return len(self._out)

    def send(self, channel: int, payload: bytes) -> None:
        """Send a message, now or as soon as it takes more."""
        self._out += framed(message(channel, payload))
        self.flush()

    def end(self, **facts: Any) -> None:  # noqa: ANN401 - whatever JSON has
        """Send the last message."""
        self._out += status(**facts)
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as it takes it."""
        while self._out and not self.gone:
            try:
                del self._out[: self._socket.send(self._out)]
            except BlockingIOError:
                return
            except OSError:
                self.gone = True

    def receive(self) -> list[tuple[int, bytes]]:
        """Return the messages that have come: (channel, payload)."""
        try:
            chunk = self._socket.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            chunk = b""
        self.gone |= not chunk
        self._in += chunk
        try:
            return list(self._split())
        except BrokenMessage:
            self.gone = True
            return []

    def _split(self) -> list[tuple[int, bytes]]:
        found = []
        while len(self._in) >= HEAD.size:
            (size,) = HEAD.unpack_from(self._in)
            if not 0 < size <= MOST:
                raise BrokenMessage
            if len(self._in) < HEAD.size + size:
                break
            body = bytes(self._in[HEAD.size : HEAD.size + size])
            del self._in[: HEAD.size + size]
            found.append((body[0], body[1:]))
        return found

    def linger(self, seconds: float) -> None:
        """See the last message delivered: wait until the other end has taken it and closed.

        Input that was still on its way would make the kernel throw away what waits there.
        """
        give_up = time.monotonic() + seconds
        shut = False
        while not self.gone and (left := give_up - time.monotonic()) > 0:
            if not self._out and not shut:
                shut = True
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_WR)
            readable, _, _ = select.select([self], [self] if self._out else [], [], left)
            if readable:
                self.receive()
            self.flush()

    def close(self) -> None:
        """Close the socket."""
        with contextlib.suppress(OSError):
            self._socket.close()
