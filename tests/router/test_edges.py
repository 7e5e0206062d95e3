"""What is rare on the wire: early answers, odd bytes, pipelines, old HTTP, endless heads."""

import asyncio

from tests.router.stage import Wire, act, ok, request, says, stage, until


def test_an_answer_that_comes_before_the_body_was_read_is_the_answer() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(
                b"HTTP/1.1 403 No\r\nContent-Length: 4\r\nConnection: close\r\n\r\nshut"
            )
            await wire.ended()

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire = await the.call()
            await wire.send(request("POST", "/chat/", extra="Content-Length: 1000000\r\n") + b"x")
            assert (await wire.head()).startswith(b"HTTP/1.1 403 No\r\n")
            assert await wire.exactly(4) == b"shut"
            assert the.stats().done == 1

    act(story())


def test_utf8_in_headers_passes_in_both_directions_and_other_bytes_break_nothing() -> None:
    async def story() -> None:
        seen: list[bytes] = []

        async def script(wire: Wire) -> None:
            seen.append(await wire.head())
            await wire.send(
                b"HTTP/1.1 200 OK\r\nX-Name: caf\xc3\xa9 \xe9\r\nContent-Length: 0\r\n\r\n"
            )

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire = await the.call()
            await wire.send(b"GET /chat/ HTTP/1.1\r\nHost: here\r\nX-Word: \xc3\xa9 \xef\r\n\r\n")
            head = await wire.head()
            assert b"X-Name: caf\xc3\xa9 " in head
            assert b"X-Word: \xc3\xa9 " in seen[0]

    act(story())


def test_requests_in_one_packet_are_answered_in_order() -> None:
    async def story() -> None:
        async with stage() as the:
            the.route(await the.actor("chat/0", says(ok(b"1"))))
            wire = await the.call()
            await wire.send(b"".join(request("GET", f"/chat/{n}") for n in range(5)))
            for _ in range(5):
                assert (await wire.head()).startswith(b"HTTP/1.1 200 OK")
                assert await wire.exactly(1) == b"1"

    act(story())


def test_a_caller_of_http_1_0_gets_the_body_and_the_end() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
            )

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire, head = await the.ask(b"GET /chat/ HTTP/1.0\r\nHost: here\r\n\r\n")
            assert b"chunked" not in head
            assert await wire.rest() == b"hi"

    act(story())


def test_a_head_that_is_too_long_is_refused_and_others_are_served() -> None:
    async def story() -> None:
        async with stage() as the:
            the.route(await the.actor("chat/0", says(ok(b"hi"))))
            wire, head = await the.ask(request("GET", "/chat/", extra=f"X: {'x' * 40_000}\r\n"))
            assert b" 400 " in head.partition(b"\r\n")[0]
            wire.close()
            extra = f"X: {'x' * 20_000}\r\n"
            assert (await the.fetch(request("GET", "/chat/", extra=extra)))[1] == b"hi"

    act(story())


def test_nonsense_is_refused_and_others_are_served() -> None:
    async def story() -> None:
        async with stage() as the:
            the.route(await the.actor("chat/0", says(ok(b"hi"))))
            for nonsense in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
                _, head = await the.ask(nonsense)
                assert head.startswith(b"HTTP/1.")
                assert b" 400 " in head
            assert (await the.fetch(request("GET", "/chat/")))[1] == b"hi"

    act(story())


def test_a_body_that_is_cut_short_reaches_nobody_as_whole() -> None:
    async def story() -> None:
        bodies: list[bytes] = []
        begun = asyncio.Event()

        async def script(wire: Wire) -> None:
            await wire.head()
            begun.set()
            bodies.append(await wire.rest())

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire = await the.call()
            await wire.send(request("POST", "/chat/", extra="Transfer-Encoding: chunked\r\n"))
            await wire.send(b"4\r\nhalf\r\n")
            await begun.wait()
            wire.close()
            await until(lambda: bool(bodies))
            assert not bodies[0].endswith(b"0\r\n\r\n")

    act(story())
