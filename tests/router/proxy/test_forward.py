"""What callers send reaches a replica, and what it says reaches them, unchanged."""

import gzip
import json

import pytest

from ganglion.router.balancing.table import Limits, RoutedService, RoutingState
from tests.router.stage import Script, Stage, Wire, act, ok, request, says, stage, until


def echo(length: int = 0) -> Script:
    """A replica that answers with the head it was sent, and then the body."""

    async def script(wire: Wire) -> None:
        while True:
            head = await wire.head()
            body = await wire.exactly(length)
            await wire.send(ok(head + body))

    return script


async def told(the: Stage, data: bytes, length: int = 0) -> bytes:
    """What a replica is sent for a request."""
    the.route(await the.actor("chat/0", echo(length)))
    head, body = await the.fetch(data)
    assert head.startswith(b"HTTP/1.1 200 OK")
    return body


def test_a_request_reaches_its_replica_without_the_services_name() -> None:
    async def story() -> None:
        async with stage() as the:
            body = await told(the, request("POST", "/chat/v1/a%2Fb?q=%20x", b"hello"), 5)
            assert body.startswith(b"POST /v1/a%2Fb?q=%20x HTTP/1.1\r\n")
            assert body.endswith(b"\r\n\r\nhello")

    act(story())


def test_a_request_by_host_keeps_its_path() -> None:
    async def story() -> None:
        async with stage() as the:
            body = await told(the, b"GET /chat/v1 HTTP/1.1\r\nHost: chat.localhost:7078\r\n\r\n")
            assert body.startswith(b"GET /chat/v1 HTTP/1.1\r\nHost: chat.localhost:7078\r\n")

    act(story())


def test_a_service_that_keeps_its_prefix_is_sent_the_path_as_it_came() -> None:
    async def story() -> None:
        async with stage() as the:
            actor = await the.actor("lab/0", echo())
            the.publish(RoutedService("lab", (actor.endpoint(),), keep_prefix=True))
            _, body = await the.fetch(request("GET", "/lab/tree?x=1"))
            assert body.startswith(b"GET /lab/tree?x=1 HTTP/1.1\r\n")
            assert b"X-Forwarded-Prefix" not in body

    act(story())


def test_replicas_learn_who_asked_and_how() -> None:
    async def story() -> None:
        async with stage() as the:
            body = await told(the, request("GET", "/chat/", extra="X-Forwarded-For: 10.0.0.9\r\n"))
            assert b"\r\nHost: here\r\n" in body
            assert b"\r\nX-Forwarded-For: 10.0.0.9, 127.0.0.1\r\n" in body
            assert b"\r\nX-Forwarded-Proto: http\r\n" in body
            assert b"\r\nX-Forwarded-Host: here\r\n" in body
            assert b"\r\nX-Forwarded-Prefix: /chat\r\n" in body

    act(story())


def test_headers_between_neighbours_go_no_further() -> None:
    async def story() -> None:
        extra = "Connection: keep-alive, X-Secret\r\nX-Secret: 1\r\nTE: trailers\r\nX-Kept: 2\r\n"
        async with stage() as the:
            body = (await told(the, request("GET", "/chat/", extra=extra))).lower()
            assert b"x-kept: 2" in body
            assert b"x-secret" not in body
            assert b"trailers" not in body

    act(story())


def test_nothing_is_added_that_would_change_the_answer() -> None:
    async def story() -> None:
        async with stage() as the:
            body = (await told(the, request("POST", "/chat/", b"x"), 1)).lower()
            for name in (b"accept", b"accept-encoding", b"user-agent", b"content-type"):
                assert b"\r\n" + name + b":" not in body

    act(story())


def test_repeated_headers_and_reason_come_back_as_they_were() -> None:
    async def story() -> None:
        said = (
            b"HTTP/1.1 299 Quite Fine\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nServer: own\r\n"
            b"Connection: close, X-Hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nhi"
        )
        async with stage() as the:
            the.route(await the.actor("chat/0", says(said)))
            head, body = await the.fetch(request("GET", "/chat/"))
            assert head.startswith(b"HTTP/1.1 299 Quite Fine\r\n")
            assert b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n" in head
            assert b"Server: own\r\n" in head
            assert b"X-Ganglion-Replica: chat/0\r\n" in head
            assert b"X-Hop" not in head
            assert body == b"hi"

    act(story())


def test_compressed_bodies_are_not_touched_in_either_direction() -> None:
    async def story() -> None:
        packed = gzip.compress(b"hello" * 100)

        async def script(wire: Wire) -> None:
            head = await wire.head()
            assert b"Content-Encoding: gzip" in head
            body = await wire.exactly(len(packed))
            await wire.send(ok(body, "Content-Encoding: gzip\r\n"))

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            extra = "Content-Encoding: gzip\r\n"
            head, body = await the.fetch(request("POST", "/chat/", packed, extra))
            assert b"Content-Encoding: gzip" in head
            assert body == packed

    act(story())


@pytest.mark.parametrize(
    ("said", "length"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", b"\r\nContent-Length: 1234\r\n"),
        (b"HTTP/1.1 304 Not Modified\r\nAge: 7\r\n\r\n", b"\r\nAge: 7\r\n"),
    ],
)
def test_answers_without_a_body_say_what_its_length_would_be(said: bytes, length: bytes) -> None:
    async def story() -> None:
        async with stage() as the:
            the.route(await the.actor("chat/0", says(said)))
            wire, head = await the.ask(request("HEAD", "/chat/") * 2)
            assert length in head
            # The connection goes on: nothing followed the first head.
            assert (await wire.head()).partition(b"\r\n")[0] == said.partition(b"\r\n")[0]

    act(story())


def test_an_answer_that_ends_with_its_connection_is_whole() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            head, body = await the.fetch(request("GET", "/chat/"))
            assert b"Transfer-Encoding: chunked" in head
            assert body == b"until the end"

    act(story())


def test_a_body_over_the_limit_is_refused_before_it_is_sent() -> None:
    async def story() -> None:
        async with stage() as the:
            actor = await the.actor("chat/0", echo())
            the.route(actor, body_bytes=10)
            head, body = await the.fetch(request("POST", "/chat/", b"x" * 11))
            assert head.startswith(b"HTTP/1.1 413 ")
            assert json.loads(body)["detail"] == "the body has more than 10 bytes"
            assert actor.connections == 0

    act(story())


def test_a_body_of_unknown_length_is_counted_as_it_comes() -> None:
    async def story() -> None:
        async with stage() as the:
            actor = await the.actor("chat/0", echo(100))
            the.route(actor, body_bytes=10)
            wire = await the.call()
            await wire.send(request("POST", "/chat/", extra="Transfer-Encoding: chunked\r\n"))
            await wire.send(b"8\r\n12345678\r\n")
            await until(lambda: actor.connections == 1)
            await wire.send(b"8\r\n12345678\r\n")
            assert (await wire.head()).startswith(b"HTTP/1.1 413 ")
            # The replica is not to blame.
            assert the.stats().replicas[0].failed == 0

    act(story())


def test_a_caller_that_waits_to_be_invited_is_invited_when_a_replica_is_there() -> None:
    async def story() -> None:
        async with stage() as the:
            the.publish(RoutedService("chat"))
            wire = await the.call()
            extra = "Expect: 100-continue\r\nContent-Length: 5\r\n"
            await wire.send(request("PUT", "/chat/", extra=extra))
            await until(lambda: the.stats().waiting == 1)
            the.route(await the.actor("chat/0", echo(5)))
            assert await wire.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
            await wire.send(b"hello")
            assert (await wire.head()).startswith(b"HTTP/1.1 200 OK")

    act(story())


def test_an_unknown_service_is_named() -> None:
    async def story() -> None:
        async with stage() as the:
            the.publish(RoutedService("chat"))
            head, body = await the.fetch(request("GET", "/chta/v1"))
            assert head.startswith(b"HTTP/1.1 404 ")
            assert b"Content-Type: application/problem+json" in head
            assert json.loads(body) == {
                "type": "urn:ganglion:problem:router.unknown",
                "title": "Not Found",
                "status": 404,
                "detail": "no service is at /chta/v1 of here",
                "instance": "",
                "code": "router.unknown",
                "hint": "services are at /NAME/ and at http://NAME.localhost:PORT/",
                "errors": [],
            }

    act(story())


def test_a_replica_that_says_nonsense_is_a_bad_gateway() -> None:
    async def story() -> None:
        async with stage() as the:
            the.route(await the.actor("chat/0", says(b"nonsense\r\n\r\n")), tries=1)
            head, _ = await the.fetch(request("GET", "/chat/"))
            assert head.startswith(b"HTTP/1.1 502 ")
            assert the.stats().broken == 1

    act(story())


def test_a_starting_replica_gets_requests_once_its_health_is_well() -> None:
    async def story() -> None:
        well = [b"HTTP/1.1 503 Not Yet\r\nContent-Length: 0\r\n\r\n"]

        async def script(wire: Wire) -> None:
            while True:
                head = await wire.head()
                await wire.send(well[-1] if b" /health " in head else ok(b"hi"))

        async with stage() as the:
            actor = await the.actor("chat/0", script)
            starting = actor.endpoint(RoutingState.STARTING)
            the.publish(RoutedService("chat", (starting,), Limits(hold_ms=60), health="/health"))
            head, _ = await the.fetch(request("GET", "/chat/"))
            assert head.startswith(b"HTTP/1.1 503 ")
            well.append(ok(b""))
            await until(lambda: the.stats().replicas[0].ready)
            _, body = await the.fetch(request("GET", "/chat/"))
            assert body == b"hi"

    act(story())


def test_metrics_and_health_are_at_their_own_paths() -> None:
    async def story() -> None:
        async with stage() as the:
            the.route(await the.actor("chat/0", says(ok(b"hi"))))
            await the.fetch(request("GET", "/chat/"))
            assert (await the.fetch(request("GET", "/-/healthz")))[1] == b"ok\n"
            _, text = await the.fetch(request("GET", "/-/metrics"))
            assert b'ganglion_router_requests_total{outcome="done",service="chat"} 1.0' in text
            assert b'ganglion_router_request_seconds_count{service="chat"} 1.0' in text

    act(story())
