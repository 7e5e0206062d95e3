"""Callers of a router with a certificate speak TLS, and each of them counts from its first byte."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest
from httpx2 import Client, ConnectError

from ganglion.model.errors import EnvironmentFault
from ganglion.router import record
from ganglion.router.balancing.table import ReplicaEndpoint, RoutedService
from ganglion.router.link import RouterLink
from ganglion.router.proxy.connections import CallerLimits
from ganglion.seams.effects import SYSTEM
from ganglion.transport.hosts import LOOPBACK
from ganglion.transport.limits import CallerLimit
from ganglion.transport.tls.certificate import LOOK_S, ServedCertificate
from ganglion.transport.tls.files import TlsFiles
from tests.faults.clock import HandClock
from tests.router.stage import Stage, Wire, act, ok, request, says, stage, until
from tests.router.test_link import until as wait_until
from tests.transport.tls.certificates import der, trusting, write_pair


class Echo(BaseHTTPRequestHandler):
    """Answers with the headers that it got."""

    def do_GET(self) -> None:
        said = str(self.headers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def replica() -> Iterator[ReplicaEndpoint]:
    server = ThreadingHTTPServer((LOOPBACK, 0), Echo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield ReplicaEndpoint("chat/0", f"{LOOPBACK}:{server.server_port}")
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_router_of_its_own_process_speaks_tls_and_one_with_another_pair_takes_its_place(
    tmp_path: Path, replica: ReplicaEndpoint
) -> None:
    pair = write_pair(tmp_path)
    link = RouterLink(tmp_path, port=0, tls=pair)
    try:
        assert link.start().startswith("https://127.0.0.1:")
        version = link.publish([RoutedService("chat", (replica,))])
        wait_until(lambda: link.reading().stats.version == version)
        with Client(verify=trusting(pair), timeout=20) as client:
            found = client.get(f"{link.url}/chat/")
            assert (found.status_code, "X-Forwarded-Proto: https" in found.text) == (200, True)
            with pytest.raises(httpx2.HTTPError):
                client.get(link.url.replace("https:", "http:"))
        with pytest.raises(ConnectError), Client(timeout=20) as stranger:
            stranger.get(link.url)
        first = record.read(tmp_path)
        assert first is not None
        link.stop()
        link = RouterLink(tmp_path, port=first.port, tls=pair)
        link.start()
        assert record.read(tmp_path) == first, "the router is taken over"
        link.stop()
        link = RouterLink(tmp_path, port=first.port)
        assert link.start() == f"http://127.0.0.1:{first.port}", "it has no certificate any more"
    finally:
        link.stop(router=True)


def test_a_router_whose_pair_is_wrong_does_not_start_and_says_why(tmp_path: Path) -> None:
    pair = write_pair(tmp_path)
    Path(pair.key).chmod(0o644)
    link = RouterLink(tmp_path, port=0, tls=pair)
    with pytest.raises(EnvironmentFault, match="other users may use the key: mode 0644"):
        link.start()


def limits(pair: TlsFiles, clock: HandClock, most: int = 8, headers_s: float = 30) -> CallerLimits:
    shown = ServedCertificate(pair, SYSTEM._replace(clock=clock))
    return CallerLimits(CallerLimit(most), headers_s, shown)


def hand_clock() -> HandClock:
    return HandClock(round(datetime.now(UTC).timestamp() * 1000))


async def dial(on: Stage, pair: TlsFiles) -> tuple[Wire, bytes]:
    """An encrypted connection, and the certificate that it was shown."""
    reader, writer = await asyncio.open_connection(
        LOOPBACK, on.port, ssl=trusting(pair), server_hostname="localhost"
    )
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return Wire(reader, writer), shown


def test_a_new_certificate_is_shown_within_a_minute_and_requests_in_progress_go_on(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        pair, clock = write_pair(tmp_path), hand_clock()
        first = der(pair)
        async with stage(limits(pair, clock)) as on:
            on.route(await on.actor("a", says(ok(b"hi"))))
            before, shown = await dial(on, pair)
            assert shown == first
            asked = request("GET", "/chat/")
            await before.send(asked[:-2])
            write_pair(tmp_path)
            with pytest.raises(ssl.SSLCertVerificationError):
                await dial(on, pair)
            clock.sleep(LOOK_S)
            after, shown = await dial(on, pair)
            assert shown == der(pair) != first
            await after.send(asked)
            await before.send(asked[-2:])
            for wire in (before, after):
                assert b" 200 " in await wire.head()
                assert await wire.exactly(2) == b"hi"
                await wire.gone()

    act(story())


def test_connections_count_from_before_their_handshake_which_has_to_end_in_time(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        pair = write_pair(tmp_path)
        async with stage(limits(pair, hand_clock(), most=4, headers_s=0.3)) as on:
            on.route(await on.actor("a", says(ok(b"hi"))))
            silent = [await on.call() for _ in range(2)]
            with pytest.raises(ConnectionError):
                await dial(on, pair)
            for wire in silent:
                await wire.ended()  # it had its time
            wire, _ = await dial(on, pair)
            await wire.send(request("GET", "/chat/"))
            assert b" 200 " in await wire.head()
            await wire.gone()
            plain = await on.call()
            await plain.send(request("GET", "/chat/"))
            assert b"HTTP" not in await plain.rest()

    act(story())


def test_bodies_pass_through_tls_byte_by_byte(tmp_path: Path) -> None:
    async def story() -> None:
        async def mirror(wire: Wire) -> None:
            await wire.head()
            body = b""
            while piece := await wire.chunk():
                body += piece
            await wire.send(ok(body))

        pair, body = write_pair(tmp_path), bytes(range(256)) * 8_000
        async with stage(limits(pair, hand_clock())) as on:
            on.route(await on.actor("a", mirror))
            wire, _ = await dial(on, pair)
            head = "POST /chat/ HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
            await wire.send(head.encode())
            for start in range(0, len(body), 100_000):
                piece = body[start : start + 100_000]
                await wire.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            await wire.send(b"0\r\n\r\n")
            assert b" 200 " in await wire.head()
            assert await wire.exactly(len(body)) == body
            await wire.gone()
            await until(lambda: on.stats().done == 1)

    act(story())
