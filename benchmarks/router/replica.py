"""A replica for measurements, in the standard library alone so that it starts fast.

Prints the port it listens on. Answers `GET /events?N` with N server-sent events 10 ms apart that
say when they were sent, `/slow` after 30 ms, everything else at once; always 1 KiB otherwise.
SIGTERM ends it: requests under way are finished.
"""

import asyncio
import contextlib
import signal
import sys
import time

BODY = b"x" * 1024
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n" + BODY
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SLOW_S, PAUSE_S = 0.03, 0.01


class Replica:
    """A server that counts what it has."""

    def __init__(self) -> None:
        self.busy = 0
        self.ending = asyncio.Event()

    async def met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        # At its end connections that are idle are cut, by cancelling the tasks that read from them.
        over = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with contextlib.suppress(*over):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.busy += 1
                try:
                    await reader.readexactly(_length(head))
                    await _answer(head.split(b" ", 2)[1], writer)
                finally:
                    self.busy -= 1
        writer.close()

    async def run(self) -> None:
        """Serve until SIGTERM."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.ending.set)
        server = await asyncio.start_server(self.met, "127.0.0.1", 0, backlog=1024)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await self.ending.wait()
        server.close()
        while self.busy:
            await asyncio.sleep(PAUSE_S)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def _answer(path: bytes, writer: asyncio.StreamWriter) -> None:
    if path.startswith(b"/events?"):
        await _events(int(path[8:]), writer)
        return
    if path.startswith(b"/slow"):
        await asyncio.sleep(SLOW_S)
    writer.write(WHOLE)
    await writer.drain()


async def _events(count: int, writer: asyncio.StreamWriter) -> None:
    writer.write(STREAM)
    for _ in range(count):
        await asyncio.sleep(PAUSE_S)
        data = b"data: %d\n\n" % time.monotonic_ns()
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


if __name__ == "__main__":
    asyncio.run(Replica().run())
