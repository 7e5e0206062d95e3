"""Asks replicas and Prometheus what services have to do, in a thread of its own."""

import asyncio
import threading
from collections.abc import Mapping

import httpx2
import msgspec
import structlog
from msgspec import Struct, field

from ganglion.lifecycle.metrics.merge import Pages
from ganglion.lifecycle.metrics.page import MetricsPage, read
from ganglion.model.behaviour import Signal
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.transport.egress import CheckedTransport, Egress

EVERY_S = 1.0
"""Pause between two rounds."""
PATIENCE_S = 2.0
"""Time without an answer after which a target counts as silent."""
MOST_BYTES = 8 << 20
"""Larger pages are not read."""
MOST_AT_ONCE = 64
"""Questions under way at a time."""

log = structlog.get_logger(__name__)


class Job(Struct, frozen=True):
    """What to ask for one service.

    Attributes:
        pages: replica -> URL of its metrics.
        prometheus: URL of a Prometheus; empty = none is asked.
        queries: what to ask it.
    """

    pages: dict[str, str] = field(default_factory=dict)
    prometheus: str = ""
    queries: dict[Signal, str] = field(default_factory=dict)


class ScrapedRound(Struct, frozen=True):
    """What was found out in one round.

    Attributes:
        since: when, by the monotonic clock, in s.
        pages: of replicas; `at` is in ms by the same clock.
        answers: of Prometheus.
        trouble: why Prometheus did not answer a query; empty = it did.
    """

    since: float
    pages: Pages
    answers: dict[Signal, float] = field(default_factory=dict)
    trouble: str = ""


class _Answer(Struct):
    """What Prometheus answers to an instant query, as far as it is read."""

    class Data(Struct):
        """The result by its type: series, or one value."""

        resultType: str  # noqa: N815 - the key of its API
        result: list[msgspec.Raw]

    data: Data


class _Series(Struct):
    value: tuple[float, str]


class Scraper:
    """Asks again and again; what it found last can be had at any time.

    No target can block it: one that is silent for too long is passed over.

    Args:
        egress: which Prometheus may be asked; replicas always may.
        clock: says when something was found.
    """

    def __init__(self, egress: Egress | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._egress = egress or Egress()
        self._jobs: Mapping[str, Job] = {}
        self._found: dict[str, ScrapedRound] = {}
        self._work, self._leaving = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="scraper", daemon=True)

    def start(self) -> None:
        """Begin to ask, once there is a target."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._leaving.set()
        self._work.set()
        self._thread.join()

    def want(self, jobs: Mapping[str, Job]) -> None:
        """Ask for these services from now on, and for no others."""
        self._jobs = jobs
        for gone in self._found.keys() - jobs.keys():
            del self._found[gone]
        if jobs:
            self._work.set()

    def found(self, service: str) -> ScrapedRound | None:
        """What was found last; None = nothing yet."""
        return self._found.get(service)

    def age_ms(self, found: ScrapedRound) -> int:
        """How long ago something was found."""
        return round((self._clock.monotonic() - found.since) * 1_000)

    def _run(self) -> None:
        while True:
            self._work.wait()
            if self._leaving.is_set():
                return
            self._work.clear()
            asyncio.run(self._ask_all())

    async def _ask_all(self) -> None:
        """Rounds, as long as there are targets."""
        limits = httpx2.Limits(max_connections=MOST_AT_ONCE)
        outside = CheckedTransport(self._egress, MOST_AT_ONCE)
        async with (
            httpx2.AsyncClient(timeout=PATIENCE_S, trust_env=False, limits=limits) as own,
            httpx2.AsyncClient(timeout=PATIENCE_S, transport=outside) as far,
        ):
            while self._jobs and not self._leaving.is_set():
                jobs = dict(self._jobs)
                await asyncio.gather(*(self._ask(own, far, *each) for each in jobs.items()))
                await self._clock.pause(EVERY_S)

    async def _ask(
        self, own: httpx2.AsyncClient, far: httpx2.AsyncClient, service: str, job: Job
    ) -> None:
        """Ask replicas, whose addresses are known, and a Prometheus, which a user named."""
        try:
            pages, answers = await asyncio.gather(_pages(own, job, self._clock), _answers(far, job))
        except Exception:
            # Whatever one service's replicas say must not keep others from being asked.
            log.exception("cannot ask", service=service)
            return
        if service in self._jobs:
            self._found[service] = ScrapedRound(self._clock.monotonic(), pages, *answers)


async def _pages(client: httpx2.AsyncClient, job: Job, clock: Clock) -> Pages:
    said = await asyncio.gather(*(_page(client, url) for url in job.pages.values()))
    both = dict(zip(job.pages, said, strict=True))
    return Pages(
        round(clock.monotonic() * 1_000),
        {key: each for key, each in both.items() if isinstance(each, MetricsPage)},
        {key: each for key, each in both.items() if isinstance(each, str)},
    )


async def _page(client: httpx2.AsyncClient, url: str) -> MetricsPage | str:
    """A replica's page, or why there is none."""
    try:
        return read((await body_of(client, url)).decode("utf-8", "replace"))
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        return f"{url} does not answer: {_words(error)}"


async def body_of(
    client: httpx2.AsyncClient, url: str, params: dict[str, str] | None = None
) -> bytes:
    """The body, within patience as a whole: a trickle of bytes is no answer.

    Raises:
        TimeoutError, httpx2.HTTPError, httpx2.InvalidURL: there is none.
        ValueError: it is too long.
    """
    body = bytearray()
    async with asyncio.timeout(PATIENCE_S), client.stream("GET", url, params=params) as response:
        response.raise_for_status()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                raise ValueError(f"it says more than {MOST_BYTES >> 20} MiB")
    return bytes(body)


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return f"nothing within {PATIENCE_S:.0f} s"
    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    return str(error) or type(error).__name__


async def _answers(client: httpx2.AsyncClient, job: Job) -> tuple[dict[Signal, float], str]:
    """What Prometheus says, and why it does not."""
    said = await asyncio.gather(
        *(_answer(client, job.prometheus, query) for query in job.queries.values())
    )
    both = dict(zip(job.queries, said, strict=True))
    values = {key: each for key, each in both.items() if isinstance(each, float)}
    trouble = next((each for each in both.values() if isinstance(each, str)), "")
    return values, trouble


async def _answer(client: httpx2.AsyncClient, url: str, query: str) -> float | str | None:
    """The sum of what a query yields; a sentence = why there is none; None = it yields nothing."""
    try:
        body = await body_of(client, f"{url}/api/v1/query", {"query": query})
        return _value(msgspec.json.decode(body, type=_Answer))
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        return f"{url} does not answer {query!r}: {_words(error)}"


def _value(answer: _Answer) -> float | None:
    result = answer.data.result
    if answer.data.resultType == "scalar":
        return float(msgspec.json.decode(result[1], type=str))
    if answer.data.resultType != "vector":
        raise ValueError(f"the result is a {answer.data.resultType}, not a vector or scalar")
    values = [float(msgspec.json.decode(each, type=_Series).value[1]) for each in result]
    return sum(values) if values else None
