"""`router`: what the way through the router costs, and what scaling under load breaks."""

import asyncio
from itertools import cycle, islice
from typing import Any

import aiohttp
from msgspec import Struct, field

from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from benchmarks.router.load import Heard, at_rate, callers, events, for_so_long
from benchmarks.router.stage import Replica, RouterStage, router_stage

RATE = 500.0
"""Requests a second."""
SLICE_S = 2.0
ROUNDS = 5
STREAMED = 200
"""Events of a stream."""
EVENTS = 200
"""Times that a replica comes or goes."""
CHURN_RATE = 100.0
LADDER = (1, 2, 3, 4, 3, 2)
"""Replicas, step by step."""


class Ways(Struct):
    """The same measured past the router and through it.

    Attributes:
        direct: straight to the replica.
        routed: through the router.
    """

    direct: list[float] = field(default_factory=list)
    routed: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Quantiles of both, and what the router adds at the median."""
        told = {
            f"{way}_p{percent}_ms": round(Heard(times).quantile(percent), 3)
            for way, times in (("direct", self.direct), ("routed", self.routed))
            for percent in (50, 99)
        }
        return told | {"added_p50_ms": round(told["routed_p50_ms"] - told["direct_p50_ms"], 3)}


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark; it needs no traces."""
    del options
    return asyncio.run(_measured(progress))


async def _measured(progress: Progress) -> Report:
    total = ROUNDS + 2
    async with router_stage() as stage, callers() as session:
        replica = await stage.grow()
        latency = await _latency(stage, replica, session, progress)
        progress(ROUNDS, total, "streams")
        streams = await _streams(stage, replica, session)
        progress(ROUNDS + 1, total, f"{EVENTS} changes under load")
        churn = await changes(stage, session, EVENTS, CHURN_RATE)
        progress(total, total, "done")
    data = {"bench": "router", "latency": latency, "streams": streams, "changes": churn}
    return Report(data, _tables(data), _NOTES)


async def _latency(
    stage: RouterStage, replica: Replica, session: aiohttp.ClientSession, progress: Progress
) -> dict[str, Any]:
    """Slices in turn, so that whatever else the machine does hits both alike."""
    ways, failed, cpu_s = Ways(), 0, 0.0
    await for_so_long(session, stage.url, RATE, SLICE_S)
    for number in range(ROUNDS):
        progress(number, ROUNDS + 2, f"{RATE:.0f} requests a second")
        direct = await for_so_long(session, f"http://{replica.address}", RATE, SLICE_S, number)
        before = stage.cpu_s()
        routed = await for_so_long(session, stage.url, RATE, SLICE_S, number)
        cpu_s += stage.cpu_s() - before
        ways.direct += direct.took_ms
        ways.routed += routed.took_ms
        failed += len(direct.failures) + len(routed.failures)
    return {
        "rate": RATE,
        "requests": len(ways.routed),
        "failed": failed,
        **ways.figures(),
        "cpu_ms_per_request": round(cpu_s * 1000 / max(1, len(ways.routed)), 3),
        "core_share": round(cpu_s / (ROUNDS * SLICE_S), 3),
    }


async def _streams(
    stage: RouterStage, replica: Replica, session: aiohttp.ClientSession
) -> dict[str, Any]:
    direct = await events(session, f"http://{replica.address}", STREAMED)
    routed = await events(session, stage.url, STREAMED)
    return {"events": len(routed), **Ways(direct, routed).figures()}


async def changes(
    stage: RouterStage, session: aiohttp.ClientSession, count: int, per_s: float
) -> dict[str, Any]:
    """Replicas come and go, one by one up and down the ladder, while requests keep coming.

    Args:
        stage: begins with one replica.
        session: connections of callers.
        count: how many come or go.
        per_s: requests a second, each of which takes 30 ms.
    """
    end = asyncio.Event()
    load = asyncio.create_task(at_rate(session, f"{stage.url}/slow", per_s, end))
    began = asyncio.get_running_loop().time()
    for wanted in islice(cycle((*LADDER[1:], LADDER[0])), count):
        # The oldest goes: every replica is drained sooner or later.
        oldest = next(iter(stage.replicas.values()))
        await (stage.grow() if wanted > len(stage.replicas) else stage.shrink(oldest))
    seconds = asyncio.get_running_loop().time() - began
    end.set()
    heard = await load
    return {
        "changes": count,
        "requests": len(heard.took_ms) + len(heard.failures),
        "failed": len(heard.failures),
        "failures": sorted(set(heard.failures))[:5],
        "seconds": round(seconds, 1),
        "p50_ms": round(heard.quantile(50), 1),
        "p99_ms": round(heard.quantile(99), 1),
    }


def _tables(data: dict[str, Any]) -> tuple[Table, ...]:
    rows = tuple(
        (what, *(f"{data[key][name]:.2f}" for name in _COLUMNS.values()))
        for what, key in ((f"{RATE:.0f} requests a second", "latency"), ("events", "streams"))
    )
    latency, churn = data["latency"], data["changes"]
    return (
        Table("What the way through the router costs, ms", ("", *_COLUMNS), rows),
        Table(
            "The router's processor time",
            ("ms per request", "of one core"),
            ((f"{latency['cpu_ms_per_request']:.2f}", f"{latency['core_share']:.0%}"),),
        ),
        Table(
            "Scaling under load",
            ("replicas that came or went", "requests", "failed", "p50 ms", "p99 ms"),
            (tuple(str(churn[key]) for key in _CHURN),),
        ),
    )


_COLUMNS = {
    "direct p50": "direct_p50_ms",
    "routed p50": "routed_p50_ms",
    "added p50": "added_p50_ms",
    "direct p99": "direct_p99_ms",
    "routed p99": "routed_p99_ms",
}
_CHURN = ("changes", "requests", "failed", "p50_ms", "p99_ms")
_NOTES = (
    "Replicas, router and callers are processes of this machine and share its cores; what is"
    " measured past the router and through it takes turns within one run.",
    "A request is a POST of 512 bytes that is answered with 1 KiB. Events are 10 ms apart; their"
    " age is counted from when the replica sent them.",
)
BENCH = Bench("router", "what the router adds, and what breaks while services scale", run)
