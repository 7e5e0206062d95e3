"""Measures the API of a real server under thousands of connections."""

import os
import resource
import selectors
import socket
import time
from pathlib import Path

import psutil

from ganglion.client import Client
from tests.server.process import Nursery, until

WORKLOADS = 50
ROUNDS = 300


def measure(folder: Path, idle: int, streams: int) -> None:
    """Print quantiles of `GET /v1/workloads` without and with the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.environ["GANGLION_HOME"] = str(folder / "home")
    nursery = Nursery(folder / "home")
    try:
        nursery.start("--max-connections", str(2 * (idle + streams) + 200))
        until((nursery.home / "server.json").exists)
        with Client.from_home() as client:
            for number in range(WORKLOADS):
                document = {"name": f"w{number}", "run": "true", "queue": "red", "hold": True}
                client.submit(document)
            port = int(client.url.rpartition(":")[2])
            token = (nursery.home / "token").read_text().strip()
            print()  # noqa: T201 - a measurement
            _lists(client, nursery.pid, "alone")
            opened = [_dial(port, token, "/healthz") for _ in range(idle)]
            opened += [_dial(port, token, "/api/v1/events") for _ in range(streams)]
            listened = selectors.DefaultSelector()
            for each in opened[idle:]:
                listened.register(each, selectors.EVENT_READ)
            for over, events in (("idle", 0), ("each list after an event to all streams", 1)):
                said = f"{idle} idle connections, {streams} streams, {over}"
                _lists(client, nursery.pid, said, events)
            for each in opened:
                each.close()
    finally:
        nursery.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _dial(port: int, token: str, path: str) -> socket.socket:
    """A connection that has asked, and has read the head of its answer."""
    made = socket.create_connection(("127.0.0.1", port), 30)
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    made.sendall(head.encode())
    assert b" 200 " in made.recv(65_536)
    return made


def _lists(client: Client, pid: int, what: str, events: int = 0) -> None:
    server = psutil.Process(pid)
    before = server.cpu_times()
    took = []
    for _ in range(ROUNDS):
        for _ in range(events):
            client.update("w0", priority=51)
            client.update("w0", priority=50)
        begun = time.perf_counter()
        client.workloads()
        took.append((time.perf_counter() - begun) * 1_000)
        time.sleep(0.02)
    after = server.cpu_times()
    cpu = after.user + after.system - before.user - before.system
    took.sort()
    p50, p99 = (took[len(took) * percent // 100] for percent in (50, 99))
    rss = server.memory_info().rss >> 20
    print(f"{what}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, CPU {cpu:.1f} s, RSS {rss} MiB")  # noqa: T201 - a measurement
    if "idle" in what:
        assert p99 < 100
