"""A way to a server that can be cut, stopped and closed, from a thread of its own."""

import asyncio
import threading
from collections.abc import Callable
from typing import Self
from urllib.parse import urlsplit

from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint, load
from tests.controlplane.cluster import Cluster


class Proxy:
    """Passes bytes on, to the API server of a cluster.

    Attributes:
        made: connections so far.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._target = urlsplit(cluster.plane.url)
        self._open: set[asyncio.StreamWriter] = set()
        self._frozen: set[asyncio.StreamWriter] = set()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.made = 0

    def __enter__(self) -> Self:
        self._thread.start()
        serve = asyncio.start_server(self._serve, "127.0.0.1")
        self._server = asyncio.run_coroutine_threadsafe(serve, self._loop).result()
        return self

    def __exit__(self, *exception: object) -> None:
        self.cut()
        self._do(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def endpoint(self) -> ApiEndpoint:
        """The cluster's administrator, by this way."""
        port = self._server.sockets[0].getsockname()[1]
        return load(self._cluster.plane.kubeconfig(server=f"https://127.0.0.1:{port}"))

    def cut(self) -> None:
        """End all connections; new ones are let through."""
        self._do(lambda: [each.transport.abort() for each in list(self._open)])

    def freeze(self) -> None:
        """Pass nothing on any more on the connections there are, and say nothing of it."""
        self._do(lambda: self._frozen.update(self._open))

    def close(self) -> None:
        """Let nothing through: neither old connections nor new ones answer."""
        self._closed = True
        self.freeze()

    def open(self) -> None:
        """Let new connections through again; the old ones end."""
        self._closed = False
        self.cut()

    def _do(self, act: Callable[[], object]) -> None:
        async def done() -> None:
            act()
            await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(done(), self._loop).result()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.made += 1
        host, port = self._target.hostname, self._target.port
        there, back = await asyncio.open_connection(host, port)
        self._open |= {writer, back}
        if self._closed:
            self._frozen |= {writer, back}
        try:
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        except OSError:
            pass  # one side hung up
        finally:
            for each in (writer, back):
                each.transport.abort()
                self._open.discard(each)
                self._frozen.discard(each)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if writer not in self._frozen:
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
