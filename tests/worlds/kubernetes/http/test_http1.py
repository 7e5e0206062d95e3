"""HTTP/1.1 as it arrives: in pieces of any size, or broken."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ApiUnavailable
from ganglion.worlds.kubernetes.http.http1 import Chunks, Garbled, head_of
from tests.worlds.kubernetes.http.double import Asked, Double, begin, chunk, serving, whole


def framed(parts: list[bytes], trailer: bytes = b"") -> bytes:
    body = b"".join(b"%X;why=not\r\n%b\r\n" % (len(part), part) for part in parts if part)
    return body + b"0\r\n" + trailer + b"\r\n"


@given(
    parts=st.lists(st.binary(max_size=40), max_size=6),
    cuts=st.lists(st.integers(0, 300), max_size=12),
    trailer=st.sampled_from([b"", b"Digest: x\r\n"]),
)
def test_chunks_say_the_same_however_the_network_cuts_them(
    parts: list[bytes], cuts: list[int], trailer: bytes
) -> None:
    raw = framed(parts, trailer)
    edges = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    chunks = Chunks()
    got = b"".join(chunks.feed(raw[start:end]) for start, end in pairwise(edges))
    assert (got, chunks.ended) == (b"".join(parts), True)


def test_chunks_do_not_end_before_their_end() -> None:
    chunks = Chunks()
    assert chunks.feed(framed([b"abc"])[:-2]) == b"abc"
    assert not chunks.ended


def test_what_is_no_chunk_is_told_from_one() -> None:
    with pytest.raises(Garbled, match="size of a chunk"):
        Chunks().feed(b"<html>\r\n")


def test_the_head_is_read_whatever_the_case_of_its_names() -> None:
    head = head_of(b"HTTP/1.1 429 No\r\ncontent-LENGTH:  7\r\nRetry-after: 3\r\n\r\n")
    assert (head.status, head.length, head.chunked, head.last) == (429, 7, False, False)
    assert head.retry_after == "3"


def test_the_head_says_whether_the_connection_goes_on() -> None:
    assert head_of(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").last
    assert head_of(b"HTTP/1.0 200 OK\r\n\r\n").last
    assert not head_of(b"HTTP/1.1 200 OK\r\nX-Note: connection: close\r\n\r\n").last


def test_another_protocol_is_no_head() -> None:
    with pytest.raises(Garbled):
        head_of(b"SSH-2.0-OpenSSH\r\n\r\n")


@pytest.mark.parametrize(
    "answer",
    [
        whole(200, b"{}"),
        begin() + chunk(b"{") + chunk(b"}") + chunk(b""),
        b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + whole(200, b"{}"),
        b"HTTP/1.0 200 OK\r\n\r\n{}",
    ],
    ids=["length", "chunks", "informational", "until-the-end"],
)
def test_every_form_of_an_answer_is_understood(answer: bytes) -> None:
    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        out.write(answer)
        if answer.startswith(b"HTTP/1.0"):
            await out.drain()
            out.close()

    async def task(api: Api, double: Double) -> None:
        assert [await api.get("/x", dict) for _ in range(2)] == [{}, {}]

    serving(script, task)


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\n", whole(200, b"{}")[:-1], begin() + b"9\r\n{}", b"hello\r\n\r\n"],
    ids=["nothing", "half-a-head", "half-a-body", "half-a-chunk", "no-http"],
)
def test_an_answer_that_ends_in_the_middle_is_a_broken_connection(answer: bytes) -> None:
    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        out.write(answer)
        await out.drain()
        out.close()

    async def task(api: Api, double: Double) -> None:
        with pytest.raises(ApiUnavailable, match="GET /x: the connection failed"):
            await api.get("/x", dict, tries=1)

    serving(script, task)
