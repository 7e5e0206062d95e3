"""A router in its own process: found again, replaced when it dies, fed and heard."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import msgspec
import psutil
import pytest

from ganglion.model.errors import EnvironmentFault, FieldError
from ganglion.router import launch, record
from ganglion.router.balancing.table import (
    ReplicaEndpoint,
    RoutedService,
    RoutingState,
    RoutingTable,
)
from ganglion.router.link import RouterLink
from ganglion.router.port import bind
from ganglion.router.process import Router
from tests.server.process import living

PATIENCE_S = 20.0


def until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def replica() -> Iterator[ReplicaEndpoint]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield ReplicaEndpoint("chat/0", f"127.0.0.1:{server.server_port}", RoutingState.STARTING)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def linked(
    home: Path,
    news: Callable[[], None] = lambda: None,
    port: int = 0,
    hosts: Sequence[str] = (),
) -> Iterator[RouterLink]:
    """A link, and at the end neither it nor a router is left."""
    link = RouterLink(home, port=port, news=news, hosts=hosts)
    try:
        link.start()
        yield link
    finally:
        found = record.read(home)
        link.stop(router=True)
        if found:
            psutil.wait_procs(living(found.pid))


def pid_of(home: Path) -> int:
    found = record.read(home)
    return found.pid if found else 0


def test_a_router_is_started_fed_and_heard(tmp_path: Path, replica: ReplicaEndpoint) -> None:
    heard = threading.Event()
    with linked(tmp_path, heard.set) as link:
        version = link.publish([RoutedService("chat", (replica,))])
        until(lambda: link.reading().stats.version >= version)
        assert heard.is_set()
        assert httpx2.get(f"{link.url}/chat/").text == "hello"
        until(lambda: link.reading().stats.services[0].done == 1)
        assert link.reading().stats.services[0].replicas[0].ready
        assert link.reading().age_ms < 5_000


def test_the_same_services_are_the_same_table(tmp_path: Path, replica: ReplicaEndpoint) -> None:
    with linked(tmp_path) as link:
        first = link.publish([RoutedService("chat", (replica,))])
        assert link.publish([RoutedService("chat", (replica,))]) == first
        assert link.publish([]) == first + 1


def test_a_wrong_table_is_refused_and_the_one_before_stays(
    tmp_path: Path, replica: ReplicaEndpoint
) -> None:
    with linked(tmp_path) as link:
        link.publish([RoutedService("chat", (replica,))])
        with pytest.raises(FieldError):
            link.publish([RoutedService("no/name")])
        until(lambda: link.reading().stats.version == 1)
        assert httpx2.get(f"{link.url}/chat/").text == "hello"


def test_a_router_serves_on_without_its_server_and_is_found_again(
    tmp_path: Path, replica: ReplicaEndpoint
) -> None:
    first = RouterLink(tmp_path, port=0)
    url = first.start()
    version = first.publish([RoutedService("chat", (replica,))])
    until(lambda: first.reading().stats.version == version)
    first.stop()
    pid = pid_of(tmp_path)
    assert httpx2.get(f"{url}/chat/").text == "hello"
    with linked(tmp_path) as second:
        assert (second.url, pid_of(tmp_path)) == (url, pid)
        assert second.publish([RoutedService("other", (replica,))]) > version
        until(lambda: httpx2.get(f"{url}/other/").text == "hello")
    until(lambda: not psutil.pid_exists(pid))


def test_a_router_that_is_killed_is_replaced_where_callers_know_it(
    tmp_path: Path, replica: ReplicaEndpoint
) -> None:
    with linked(tmp_path) as link:
        url = link.url
        link.publish([RoutedService("chat", (replica,))])
        until(lambda: link.reading().stats.version > 0)
        before = pid_of(tmp_path)
        os.kill(before, signal.SIGKILL)
        until(lambda: pid_of(tmp_path) not in {0, before})
        # A request that reaches the new one before its first table waits for that.
        assert httpx2.get(f"{url}/chat/").text == "hello"
        assert link.url == url


def test_a_router_of_another_version_is_replaced_and_finishes_what_it_has(
    tmp_path: Path, replica: ReplicaEndpoint
) -> None:
    first = RouterLink(tmp_path, port=0)
    first.start()
    first.publish([RoutedService("chat")])
    until(lambda: first.reading().stats.version == 1)
    with ThreadPoolExecutor() as pool:
        call = pool.submit(httpx2.get, f"{first.url}/chat/", timeout=PATIENCE_S)
        until(lambda: first.reading().stats.services[0].waiting == 1)
        old = record.read(tmp_path)
        assert old
        record.write(tmp_path, msgspec.structs.replace(old, version="another"))
        with launch.control(tmp_path, old) as client, ExitStack() as stack:
            client.get("/stats").raise_for_status()  # it has a connection from before
            second = stack.enter_context(linked(tmp_path, port=old.port))
            assert pid_of(tmp_path) != old.pid
            assert second.url == first.url
            # The old one still has a request, and gets the replica it waits for.
            body = msgspec.json.encode(RoutingTable(2, (RoutedService("chat", (replica,)),)))
            client.put("/table", content=body).raise_for_status()
            assert call.result(PATIENCE_S).text == "hello"
            until(lambda: not psutil.pid_exists(old.pid))
    first.stop()


def test_a_router_whose_home_is_gone_ends(tmp_path: Path) -> None:
    link = RouterLink(tmp_path, port=0)
    link.start()
    pid = pid_of(tmp_path)
    link.stop()
    (tmp_path / record.FILE).unlink()
    until(lambda: not psutil.pid_exists(pid))


def test_a_router_without_a_server_ends_once_no_replica_answers(tmp_path: Path) -> None:
    def fed(port: int) -> None:
        until(lambda: record.read(tmp_path) is not None)
        endpoint = ReplicaEndpoint("chat/0", f"127.0.0.1:{port}", RoutingState.READY)
        table = RoutingTable(1, (RoutedService("chat", (endpoint,)),))
        found = record.read(tmp_path)
        assert found
        with launch.control(tmp_path, found) as client:
            client.put("/table", content=msgspec.json.encode(table)).raise_for_status()

    async def lived() -> None:
        running = asyncio.create_task(Router(tmp_path, "127.0.0.1", 0, alone_s=0.1).run())
        with socket.create_server(("127.0.0.1", 0)) as replica:
            await asyncio.to_thread(fed, replica.getsockname()[1])
            assert not (await asyncio.wait({running}, timeout=1.0))[0]
        await asyncio.wait_for(running, 60)

    asyncio.run(lived())
    assert record.read(tmp_path) is None


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    taken = bind("127.0.0.1", 0)
    taken.listen()
    port = taken.getsockname()[1]
    try:
        with pytest.raises(EnvironmentFault, match=f"cannot listen on 127.0.0.1:{port}"):
            RouterLink(tmp_path, port=port).start()
    finally:
        taken.close()


def test_nobody_else_may_read_the_token(tmp_path: Path) -> None:
    with linked(tmp_path):
        assert (tmp_path / record.FILE).stat().st_mode & 0o077 == 0
