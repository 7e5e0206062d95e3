"""Who may feed and read a router, and what it makes of nonsense."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import msgspec

from ganglion.router.balancing.registry import ServiceRegistry
from ganglion.router.balancing.stats import Stats
from ganglion.router.balancing.table import (
    ReplicaEndpoint,
    RoutedService,
    RoutingState,
    RoutingTable,
)
from ganglion.router.control import Control
from ganglion.router.decisions import RoleDecisions
from ganglion.router.port import bind
from ganglion.router.process import controlled
from ganglion.transport.hosts import LOOPBACK
from tests.router.stage import act

TOKEN = {"Authorization": "Bearer secret"}


class Balancer:
    """A control side, and what came of it."""

    def __init__(self) -> None:
        self.services = ServiceRegistry(lambda _balancer, _replica: None)
        self.left = 0

    async def leave(self) -> None:
        self.left += 1


@asynccontextmanager
async def control(
    headers: dict[str, str] = TOKEN,
) -> AsyncIterator[tuple[Balancer, httpx2.AsyncClient]]:
    balancer, own = Balancer(), bind(LOOPBACK, 0)
    url = f"http://{LOOPBACK}:{own.getsockname()[1]}"
    async with (
        controlled(Control(balancer.services, "secret", balancer.leave, RoleDecisions()), own),
        httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False) as client,
    ):
        yield balancer, client


def table(version: int, name: str = "chat") -> bytes:
    endpoints = (ReplicaEndpoint(f"{name}/0", "127.0.0.1:1", RoutingState.READY),)
    return msgspec.json.encode(RoutingTable(version, (RoutedService(name, endpoints),)))


def test_nothing_is_told_or_done_without_the_token() -> None:
    async def story() -> None:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
            async with control(headers) as (balancer, client):
                for method, path in (("GET", "/stats"), ("PUT", "/table"), ("POST", "/leave")):
                    assert (await client.request(method, path)).status_code == 401
                assert (balancer.left, balancer.services.stats().version) == (0, 0)

    act(story())


def test_a_table_is_in_force_as_a_whole_and_never_an_older_one() -> None:
    async def story() -> None:
        async with control() as (balancer, client):
            for version, name, routed in ((5, "a", "a"), (4, "old", "a"), (6, "b", "b")):
                assert (await client.put("/table", content=table(version, name))).is_success
                assert list(balancer.services.balancers) == [routed]
            assert balancer.services.stats().version == 6

    act(story())


def test_a_wrong_table_changes_nothing_and_is_named() -> None:
    async def story() -> None:
        async with control() as (balancer, client):
            await client.put("/table", content=table(1))
            for wrong in (b"", b"{", b'{"services": 3}', b'{"vesion": 1}', table(2, "a/b")):
                answer = await client.put("/table", content=wrong)
                assert answer.status_code == 400
                assert answer.json()["code"] == "router.table"
            assert list(balancer.services.balancers) == ["chat"]

    act(story())


def test_whoever_waits_for_news_hears_it_at_once_and_else_in_time() -> None:
    async def story() -> None:
        async with control() as (balancer, client):
            asked = {"news": balancer.services.news, "wait_ms": 15_000}
            call = asyncio.create_task(client.get("/stats", params=asked, timeout=20))
            while not call.done():
                await asyncio.sleep(0.02)
                await client.put("/table", content=table(balancer.services.stats().version + 1))
            told = msgspec.json.decode((await call).content, type=Stats)
            assert told.news > asked["news"]
            assert [each.name for each in told.services] == ["chat"]
            asked = {"news": balancer.services.news, "wait_ms": 20}
            told = msgspec.json.decode(
                (await client.get("/stats", params=asked)).content, type=Stats
            )
            assert told.news == asked["news"]

    act(story())


def test_metrics_and_leaving() -> None:
    async def story() -> None:
        async with control() as (balancer, client):
            await client.put("/table", content=table(1))
            text = (await client.get("/metrics")).text
            assert 'ganglion_router_replicas_ready{service="chat"} 1.0' in text
            assert (await client.post("/leave")).is_success
            assert balancer.left == 1

    act(story())
