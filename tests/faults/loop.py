"""An event loop in which time passes only while nothing can be done: a day takes no time."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Instant(selectors.SelectSelector):
    """Never waits; says for how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise RuntimeError("every task waits for another one")
        self.waited_s += max(0.0, timeout)
        return super().select(0)


class QuickLoop(asyncio.SelectorEventLoop):
    """Tasks that sleep wake up in their order, at once. Nothing outside may be waited for."""

    def __init__(self) -> None:
        self._instant = _Instant()
        super().__init__(self._instant)

    def time(self) -> float:
        return self._instant.waited_s


class LoopClock:
    """The clock of the loop that runs, as that of a machine.

    Args:
        began_ms: the wall clock at its start.
    """

    def __init__(self, began_ms: int = 1_750_000_000_000) -> None:
        self._began_ms = began_ms

    def now_ns(self) -> int:
        return self._began_ms * 1_000_000 + round(self.monotonic() * 1e9)

    def now_ms(self) -> int:
        return self.now_ns() // 1_000_000

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def since_boot(self) -> float:
        return self.monotonic()

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"the loop is held up for {seconds:g} s")

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def quickly(story: Coroutine[Any, Any, T]) -> T:
    """Run a story in a loop of its own."""
    with asyncio.Runner(loop_factory=QuickLoop) as runner:
        return runner.run(story)
