"""Asynchronous calls from commands and their threads, which are not."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Bridge:
    """One event loop in a thread of its own; any thread may call."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end and return or raise the result; Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def stream(self, source: AsyncGenerator[T, None]) -> Iterator[T]:
        """Yield what a generator yields; it is closed when the reader leaves."""
        try:
            while True:
                found = self.call(_next(source))
                if found is None:
                    return
                yield found[0]
        finally:
            self.call(source.aclose())

    def close(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _next(source: AsyncGenerator[T, None]) -> tuple[T] | None:
    """The next value in a tuple: `StopAsyncIteration` does not cross threads."""
    try:
        return (await anext(source),)
    except StopAsyncIteration:
        return None
