"""The way to the server through a proxy that tunnels."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ApiUnavailable
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.http.double import PATIENCE_S, with_api


class Tunnel:
    """A proxy that knows `CONNECT` only; `asked` are the heads of the requests it got."""

    def __init__(self, refuses: bool = False) -> None:
        self.asked: list[str] = []
        self._refuses = refuses

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        if self._refuses:
            writer.write(b"HTTP/1.1 407 Who are you\r\n\r\n")
            writer.close()
            return
        host, _, port = head.split()[1].rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Go on\r\nX-Proxy: yes\r\n\r\n")
        await asyncio.gather(_pass(reader, back), _pass(there, writer), return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.transport.abort()


def through(tunnel: Tunnel, endpoint: ApiEndpoint, body: Callable[[Api], object]) -> None:
    async def task() -> None:
        server = await asyncio.start_server(tunnel.serve, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        proxied = replace(endpoint.server, proxy=f"http://ada:a%40b@127.0.0.1:{port}")
        async with server:
            await with_api(replace(endpoint, server=proxied), body)  # type: ignore[arg-type]
            await asyncio.sleep(0.05)  # both directions of the tunnel end

    asyncio.run(asyncio.wait_for(task(), PATIENCE_S))


def test_requests_and_watches_go_through_a_proxy(cluster: Cluster) -> None:
    tunnel = Tunnel()

    async def body(api: Api) -> None:
        spaces = "/api/v1/namespaces"
        listing = await api.list(spaces, Anything, limit=1)
        assert len(listing.items) > 1
        async for line in api.stream(spaces, {"watch": True}):
            assert b'"ADDED"' in line
            break

    through(tunnel, cluster.endpoint, body)
    target = cluster.plane.url.removeprefix("https://")
    first = tunnel.asked[0].split("\r\n")
    assert first[:2] == [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    assert "Proxy-Authorization: Basic YWRhOmFAYg==" in first
    assert len(tunnel.asked) == 2  # the connection of the pages was kept


def test_a_proxy_that_refuses_is_named(cluster: Cluster) -> None:
    async def body(api: Api) -> None:
        with pytest.raises(ApiUnavailable, match=r"the proxy 127\.0\.0\.1 answered 407"):
            await api.list("/api/v1/namespaces", Anything)

    through(Tunnel(refuses=True), cluster.endpoint, body)
