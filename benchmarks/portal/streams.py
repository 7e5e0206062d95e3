"""Readers of the stream of events, as many browsers have open at once."""

import asyncio
import time
from collections.abc import Awaitable
from urllib.parse import urlsplit

from msgspec import Struct

from benchmarks.speed.lists import Stage
from ganglion.model.errors import EnvironmentFault

PAUSE_S = 0.2
"""Between two changes: five in a second."""
CONNECT_S = 30.0


class StreamCost(Struct):
    """What readers cost.

    Attributes:
        readers: how many read.
        changes: how many there were meanwhile.
        events: frames that all readers got together.
        cores: processor time of the server per second.
        idle_cores: the same while nothing changed.
    """

    readers: int
    changes: int
    events: int
    cores: float
    idle_cores: float


def read_by(stage: Stage, cookie: str, url: str, readers: int, seconds: float) -> StreamCost:
    """Have readers follow a server while it changes; returns what that cost the server.

    Raises:
        EnvironmentFault: a reader is refused.
    """
    return asyncio.run(_read_by(stage, cookie, url, readers, seconds))


async def _read_by(stage: Stage, cookie: str, url: str, readers: int, seconds: float) -> StreamCost:
    counts = [0] * readers
    opened = [asyncio.Event() for _ in range(readers)]
    tasks = [
        asyncio.create_task(_reader(url, cookie, counts, number, opened[number]))
        for number in range(readers)
    ]
    try:
        async with asyncio.timeout(CONNECT_S):
            for each in opened:
                await each.wait()
        idle = await _cores(stage, asyncio.sleep(seconds / 2))
        before = sum(counts)
        changes = 0

        async def change() -> None:
            nonlocal changes
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                await asyncio.to_thread(_change, stage, changes)
                changes += 1
                await asyncio.sleep(PAUSE_S)

        cores = await _cores(stage, change())
        return StreamCost(readers, changes, sum(counts) - before, cores, idle)
    finally:
        for task in tasks:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        broken = [each for each in found if isinstance(each, EnvironmentFault)]
        if broken:
            raise broken[0]


async def _cores(stage: Stage, doing: Awaitable[None]) -> float:
    used, began = stage.cpu_s(), time.monotonic()
    await doing
    return round((stage.cpu_s() - used) / (time.monotonic() - began), 3)


def _change(stage: Stage, number: int) -> None:
    """Close a node for another reason: one event, and nothing starts."""
    stage.client.cordon("node-0", f"measured, change {number}")


async def _reader(
    url: str, cookie: str, counts: list[int], number: int, opened: asyncio.Event
) -> None:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = (
        f"GET /api/v1/events?now=true HTTP/1.1\r\nHost: {place.netloc}\r\n"
        f"Cookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n\r\n"
    )
    writer.write(head.encode())
    try:
        status = await reader.readline()
        if b" 200 " not in status:
            raise EnvironmentFault(f"a reader got {status.decode().strip()}")
        opened.set()
        while piece := await reader.read(1 << 16):
            counts[number] += piece.count(b"data:")
    finally:
        writer.close()
