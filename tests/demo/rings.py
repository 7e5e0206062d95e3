"""Rings among the threads of a test."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ganglion.demo.ring import Ring

T = TypeVar("T")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def together(size: int, work: Callable[[Ring], T]) -> list[T]:
    """Run `work` on `size` ranks that are linked to a ring; results by rank."""
    master = ("127.0.0.1", free_port())

    def one(rank: int) -> T:
        with Ring(rank, size, master) as ring:
            return work(ring)

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))
