"""Bodies pass as they come, in both directions: every byte is there before the next is sent."""

import asyncio

from tests.router.stage import Wire, act, request, stage, until

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_every_byte_of_an_event_stream_arrives_before_the_next_is_sent() -> None:
    async def story() -> None:
        story_text = b"data: one\n\ndata: two\n\n"
        arrived = asyncio.Queue[bytes]()

        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(CHUNKED)
            for number in range(len(story_text)):
                # Nothing more is sent until the caller has all there was.
                assert await arrived.get() == story_text[:number]
                await wire.send(chunk(story_text[number : number + 1]))
            await wire.send(chunk(b""))

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire, head = await the.ask(request("GET", "/chat/events"))
            assert b"Content-Type: text/event-stream\r\n" in head
            seen = b""
            arrived.put_nowait(seen)
            while piece := await wire.chunk():
                seen += piece
                arrived.put_nowait(seen)
            assert seen == story_text
            assert the.stats().done == 1

    act(story())


def test_every_byte_of_an_answer_with_a_length_arrives_before_the_next_is_sent() -> None:
    async def story() -> None:
        arrived = asyncio.Queue[int]()

        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
            for number in range(12):
                assert await arrived.get() == number
                await wire.send(b"x")

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire, _ = await the.ask(request("GET", "/chat/"))
            for number in range(12):
                arrived.put_nowait(number)
                assert await wire.exactly(1) == b"x"

    act(story())


def test_every_chunk_of_an_upload_arrives_before_the_next_is_sent() -> None:
    async def story() -> None:
        arrived = asyncio.Queue[bytes]()

        async def script(wire: Wire) -> None:
            arrived.put_nowait(await wire.head())
            while piece := await wire.chunk():
                arrived.put_nowait(piece)
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire = await the.call()
            await wire.send(request("POST", "/chat/", extra="Transfer-Encoding: chunked\r\n"))
            # The replica knows of the request while its body is yet to come.
            assert b"chunked" in await arrived.get()
            for number in range(10):
                await wire.send(chunk(b"%d" % number))
                assert await arrived.get() == b"%d" % number
            await wire.send(chunk(b""))
            assert (await wire.head()).startswith(b"HTTP/1.1 200 OK")

    act(story())


def test_question_and_answer_can_go_both_ways_within_one_request() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(CHUNKED)
            while piece := await wire.chunk():
                await wire.send(chunk(piece.upper()))
            await wire.send(chunk(b""))

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            extra = "Transfer-Encoding: chunked\r\n"
            wire, _ = await the.ask(request("POST", "/chat/", extra=extra))
            for word in (b"one", b"two", b"three"):
                await wire.send(chunk(word))
                assert await wire.chunk() == word.upper()
            await wire.send(chunk(b""))
            assert await wire.chunk() == b""

    act(story())


def test_headers_arrive_before_there_is_a_body() -> None:
    async def story() -> None:
        go_on = asyncio.Event()

        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(CHUNKED)
            await go_on.wait()
            await wire.send(chunk(b""))

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire, head = await the.ask(request("GET", "/chat/"))
            assert b"text/event-stream" in head
            assert the.stats().first.count == 0
            go_on.set()
            assert await wire.chunk() == b""

    act(story())


def test_a_caller_that_reads_slowly_slows_the_replica_down_and_fills_no_memory() -> None:
    async def story() -> None:
        sent = 0

        async def script(wire: Wire) -> None:
            nonlocal sent
            await wire.head()
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (256 << 20))
            while True:
                await wire.send(b"x" * 65_536)
                sent += 65_536

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            await the.ask(request("GET", "/chat/"))
            before = -1
            while sent != before:
                before = sent
                await asyncio.sleep(0.2)
            # What the sockets' buffers of this machine hold, and no more.
            assert sent < 64 << 20

    act(story())


def test_an_answer_that_breaks_off_does_not_look_whole() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(CHUNKED + chunk(b"half"))
            wire.reset()

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire, _ = await the.ask(request("GET", "/chat/"))
            assert await wire.rest() == chunk(b"half")
            await until(lambda: the.stats().broken == 1)
            assert the.stats().replicas[0].failed == 1
            assert the.stats().running == 0

    act(story())


def test_an_upload_that_gets_too_large_amid_its_answer_is_cut_off_and_no_replicas_fault() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(CHUNKED + chunk(b"half"))
            await wire.ended()

        async with stage() as the:
            the.route(await the.actor("chat/0", script), body_bytes=10)
            extra = "Transfer-Encoding: chunked\r\n"
            wire, _ = await the.ask(request("POST", "/chat/", extra=extra))
            await wire.send(chunk(b"x" * 11))
            assert await wire.rest() == chunk(b"half")
            await until(lambda: the.stats().running == 0)
            assert (the.stats().replicas[0].failed, the.stats().broken) == (0, 0)

    act(story())


def test_a_replica_that_falls_silent_amid_its_answer_is_cut_off() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(CHUNKED + chunk(b"half"))
            await wire.ended()

        async with stage() as the:
            the.route(await the.actor("chat/0", script), silent_ms=100)
            wire, _ = await the.ask(request("GET", "/chat/"))
            assert await wire.rest() == chunk(b"half")

    act(story())


def test_a_replica_that_never_answers_is_a_gateway_timeout() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.ended()

        async with stage() as the:
            the.route(await the.actor("chat/0", script), silent_ms=100)
            head, body = await the.fetch(request("GET", "/chat/"))
            assert head.startswith(b"HTTP/1.1 504 ")
            assert b"chat/0 said nothing for 0.1 s" in body

    act(story())
