"""What the router's benchmark says is what happened, and scaling under load breaks nothing."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from tests.effort import examples

from benchmarks.registry import BenchOptions, load, silent
from benchmarks.router import overhead as router
from benchmarks.router.load import at_rate, callers, events, for_so_long
from benchmarks.router.overhead import Ways, changes
from benchmarks.router.stage import router_stage
from ganglion.router.port import bind
from ganglion.transport.hosts import LOOPBACK

PATIENCE_S = 240.0


def test_no_request_fails_across_replicas_that_come_and_go_under_load() -> None:
    count = examples(80, nightly=200)

    async def story() -> dict[str, Any]:
        async with router_stage() as stage, callers() as session:
            await stage.grow()
            return await changes(stage, session, count, 60.0)

    told = asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
    assert told["failures"] == []
    assert (told["changes"], told["failed"]) == (count, 0)
    assert told["requests"] > count


def test_the_report_has_figures_of_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROUNDS", 1), ("SLICE_S", 0.4), ("STREAMED", 5), ("EVENTS", 6)):
        monkeypatch.setattr(router, name, value)
    report = load("router").run(BenchOptions(), silent)
    latency, streams = report.data["latency"], report.data["streams"]
    assert latency["requests"] > 50
    assert (latency["failed"], report.data["changes"]["failed"]) == (0, 0)
    assert streams["events"] == 5
    for told in (latency, streams):
        assert told["added_p50_ms"] == pytest.approx(told["routed_p50_ms"] - told["direct_p50_ms"])
        assert 0 < told["direct_p50_ms"] <= told["direct_p99_ms"]
    assert 0 < latency["cpu_ms_per_request"] < 1_000 / latency["rate"] * 10
    assert len(report.tables) == 3


def test_callers_count_what_fails() -> None:
    async def handle(asked: web.BaseRequest) -> web.StreamResponse:
        seen.append(asked.raw_path)
        if len(seen) % 3 == 1:
            return web.Response(status=503, text="nobody")
        if len(seen) % 3 == 2 and asked.transport:
            asked.transport.abort()
        return web.Response(body=b"x" * 1024)

    seen: list[str] = []

    async def story() -> None:
        runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
        await runner.setup()
        taken = bind(LOOPBACK, 0)
        url = f"http://{LOOPBACK}:{taken.getsockname()[1]}/"
        await web.SockSite(runner, taken).start()
        async with callers() as session:
            heard = await for_so_long(session, url, 200.0, 0.3)
        await runner.cleanup()
        assert len(seen) == len(heard.took_ms) + len(heard.failures)
        assert abs(len(heard.took_ms) - len(seen) / 3) <= 1
        assert "503: nobody" in heard.failures

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def test_callers_do_not_wait_for_one_another() -> None:
    async def story() -> None:
        async with router_stage() as stage, callers() as session:
            # No replica serves yet: all of them wait at the router.
            end = asyncio.Event()
            load = asyncio.create_task(at_rate(session, f"{stage.url}/slow", 200.0, end))
            await asyncio.sleep(0.3)
            await stage.grow()
            end.set()
            heard = await load
            assert heard.failures == []
            assert len(heard.took_ms) > 20
            assert len(await events(session, stage.url, 3)) == 3

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def test_what_is_added_is_the_difference_of_the_medians() -> None:
    told = Ways([1.0, 2.0, 9.0], [3.0, 4.0, 10.0]).figures()
    assert (told["direct_p50_ms"], told["routed_p50_ms"], told["added_p50_ms"]) == (2.0, 4.0, 2.0)
    assert told["routed_p99_ms"] == 10.0
