"""Answers leave in as few pieces as they can."""

import asyncio

from ganglion.server.rest.listening.connections import JoinedAnswer


class Recorded(asyncio.Transport):
    """Notes what is written to it, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces, self.closed = list[bytes](), False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.pieces.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def test_a_head_leaves_with_its_body_and_alone_where_none_follows_at_once() -> None:
    async def written() -> list[list[bytes]]:
        loop, made = asyncio.get_running_loop(), [Recorded() for _ in range(3)]
        whole, stream, broken = (JoinedAnswer(each, loop) for each in made)
        for piece in (b"head", b"body", b"", b"more"):
            whole.write(piece)
        stream.write(b"head")
        broken.write(b"head")
        broken.close()
        assert made[2].closed and broken.is_closing()
        await asyncio.sleep(0)  # one step of the loop
        stream.write(b"later")
        return [each.pieces for each in made]

    whole, stream, broken = asyncio.run(written())
    assert [piece for piece in whole if piece] == [b"headbody", b"more"]
    assert stream == [b"head", b"later"]
    assert broken == [b"head"]
