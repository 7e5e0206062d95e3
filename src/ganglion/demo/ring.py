"""All-reduce among the processes of a gang, over plain TCP.

The processes meet at `MASTER_ADDR:MASTER_PORT`, as PyTorch's do, then sum arrays around a
ring: reduce-scatter followed by all-gather (Patarasuk and Yuan, 2009). Each part of an array
is summed in one fixed order and then copied, so every rank ends with the same bits.
"""

import os
import socket
import struct
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Address = tuple[str, int]
T = TypeVar("T")

PATIENCE_S = 60.0
"""How long ranks wait for each other: at the meeting, and for every part of an array."""


class Ring:
    """A closed chain of processes; use as a context manager.

    Args:
        rank: this process, from 0.
        size: how many processes there are.
        master: where rank 0 listens for the others.

    Raises:
        OSError: the others could not be reached in `PATIENCE_S` seconds.
    """

    def __init__(self, rank: int, size: int, master: Address) -> None:
        self.rank, self.size = rank, size
        self._left: socket.socket | None = None
        self._right: socket.socket | None = None
        self._sender = ThreadPoolExecutor(max_workers=1)
        if size > 1:
            self._left, self._right = _meet(rank, size, master)

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Self:
        """Join the ring that `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT` describe."""
        rank, size = int(env.get("RANK", "0")), int(env.get("WORLD_SIZE", "1"))
        master = (env.get("MASTER_ADDR", "127.0.0.1"), int(env.get("MASTER_PORT", "29500")))
        return cls(rank, size, master)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sender.shutdown()
        for end in (self._left, self._right):
            if end is not None:
                end.close()

    def all_reduce(self, values: Floats) -> Floats:
        """Return the element-wise sum over all ranks, float64 of the shape of `values`."""
        parts = [part.copy() for part in np.array_split(values.ravel(), self.size)]
        for turn in range(self.size - 1):
            gives, takes = (self.rank - turn) % self.size, (self.rank - turn - 1) % self.size
            parts[takes] += self._exchange(parts[gives], len(parts[takes]))
        for turn in range(self.size - 1):
            gives, takes = (self.rank - turn + 1) % self.size, (self.rank - turn) % self.size
            parts[takes] = self._exchange(parts[gives], len(parts[takes]))
        return np.concatenate(parts).reshape(values.shape)

    def all_gather(self, value: float) -> Floats:
        """Return every rank's value, float64[size], by rank."""
        mine = np.zeros(self.size)
        mine[self.rank] = value
        return self.all_reduce(mine)

    def broadcast(self, values: Floats) -> Floats:
        """Return rank 0's values on every rank; all ranks give the same shape."""
        return self.all_reduce(values if self.rank == 0 else np.zeros_like(values))

    def _exchange(self, outgoing: Floats, length: int) -> Floats:
        """Send to the right while receiving from the left: neither may wait for the other."""
        assert self._left is not None
        assert self._right is not None
        sent = self._sender.submit(self._right.sendall, outgoing.astype("<f8").tobytes())
        incoming = _receive(self._left, 8 * length)
        sent.result()
        return np.frombuffer(incoming, dtype="<f8").astype(np.float64)


def _meet(rank: int, size: int, master: Address) -> tuple[socket.socket, socket.socket]:
    """Learn all ranks' addresses from rank 0, then link up with both neighbours."""
    board = _listen(master) if rank == 0 else None
    to_master = _patiently(lambda: socket.create_connection(master, timeout=PATIENCE_S))
    with to_master, _listen((to_master.getsockname()[0], 0)) as door:
        _send_message(to_master, (rank, door.getsockname()[:2]))
        if board is not None:
            with board:
                _announce(board, size)
        doors = _receive_message(to_master, list[Address])
        next_door = doors[(rank + 1) % size]
        right = _patiently(lambda: socket.create_connection(next_door, timeout=PATIENCE_S))
        left, _ = door.accept()
    for end in (left, right):
        end.settimeout(PATIENCE_S)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return left, right


def _listen(address: Address) -> socket.socket:
    door = socket.create_server(address, backlog=256)
    door.settimeout(PATIENCE_S)
    return door


def _announce(board: socket.socket, size: int) -> None:
    """Collect the address of every rank and send all of them to every rank."""
    guests = [board.accept()[0] for _ in range(size)]
    doors = dict(_receive_message(guest, tuple[int, Address]) for guest in guests)
    for guest in guests:
        _send_message(guest, [doors[rank] for rank in range(size)])
        guest.close()


def _patiently(connect: Callable[[], socket.socket]) -> socket.socket:
    """Try until the other side listens: ranks start in any order."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return connect()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _send_message(end: socket.socket, message: object) -> None:
    body = msgspec.json.encode(message)
    end.sendall(struct.pack("<I", len(body)) + body)


def _receive_message(end: socket.socket, kind: type[T]) -> T:
    end.settimeout(PATIENCE_S)
    (length,) = struct.unpack("<I", _receive(end, 4))
    return msgspec.json.decode(_receive(end, length), type=kind)


def _receive(end: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = end.recv(length - len(parts))
        if not part:
            raise ConnectionError("a neighbour left the ring")
        parts += part
    return bytes(parts)
