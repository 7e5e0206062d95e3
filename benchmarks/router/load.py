"""Callers of a service: requests at a rate, whatever becomes of them, and streams of events."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from random import Random

import aiohttp
from msgspec import Struct, field

QUESTION = b"x" * 512
ANSWER_BYTES = 1024
NS = 1_000_000


class Heard(Struct):
    """What callers saw.

    Attributes:
        took_ms: how long each good answer took, from sending to its last byte.
        failures: what went wrong with the others.
    """

    took_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def quantile(self, percent: int) -> float:
        """Nearest rank, in ms; 0 without good answers."""
        ordered = sorted(self.took_ms)
        return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else 0.0


@asynccontextmanager
async def callers() -> AsyncIterator[aiohttp.ClientSession]:
    """Connections of callers, kept while they are used."""
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
    timeout = aiohttp.ClientTimeout(total=60)
    cookies = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=cookies
    ) as session:
        yield session


async def one(session: aiohttp.ClientSession, url: str, heard: Heard, method: str = "POST") -> None:
    """Send one request and note what becomes of it."""
    began = time.perf_counter()
    try:
        async with session.request(method, url, data=QUESTION) as answer:
            body = await answer.read()
            good = answer.status == HTTPStatus.OK and len(body) == ANSWER_BYTES
            if not good:
                heard.failures.append(f"{answer.status}: {body[:200].decode(errors='replace')}")
                return
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        heard.failures.append(f"{type(error).__name__}: {error}")
        return
    heard.took_ms.append((time.perf_counter() - began) * 1000)


async def at_rate(
    session: aiohttp.ClientSession,
    url: str,
    per_s: float,
    end: asyncio.Event,
    seed: int = 0,
    method: str = "POST",
) -> Heard:
    """Send requests at random moments until `end` is set.

    The next is sent whether or not those before were answered.

    Args:
        session: connections.
        url: of the server to ask.
        per_s: how many a second, on average.
        end: set when it is enough; those under way are waited for.
        seed: the same seed gives the same moments.
        method: of HTTP.
    """
    heard, dice, loop = Heard(), Random(seed), asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()
    due = loop.time()
    while not end.is_set():
        due += dice.expovariate(per_s)
        await asyncio.sleep(due - loop.time())
        task = asyncio.create_task(one(session, url, heard, method))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    if tasks:
        await asyncio.wait(tasks)
    return heard


async def for_so_long(
    session: aiohttp.ClientSession, url: str, per_s: float, seconds: float, seed: int = 0
) -> Heard:
    """The same for some seconds."""
    end = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, end.set)
    return await at_rate(session, url, per_s, end, seed)


async def events(session: aiohttp.ClientSession, url: str, count: int) -> list[float]:
    """How old every event of a stream was when it arrived, in ms."""
    async with session.get(f"{url}/events?{count}") as answer:
        return [
            (time.monotonic_ns() - int(line[6:])) / NS
            async for line in answer.content
            if line.startswith(b"data: ")
        ]
