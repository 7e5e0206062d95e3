"""Nominations come before any victim leaves the place, and no earlier than they have to."""

import asyncio
from collections.abc import Sequence

from ganglion.worlds.kubernetes.write_rules.promises import Promises


class Book:
    """Writes down what is written, after a turn of the loop."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str]] = []

    async def write(self, places: Sequence[tuple[str, str]]) -> None:
        await asyncio.sleep(0)
        self.written.extend(places)


def _promises(*places: tuple[str, str]) -> tuple[Book, Promises[str]]:
    book = Book()
    promises = Promises[str](book.write)
    promises.put("gang", places)
    return book, promises


def test_the_places_on_a_node_are_written_before_it_is_left_and_the_rest_later() -> None:
    async def play() -> None:
        book, promises = _promises(("p", "a"), ("q", "b"), ("r", "a"))
        await promises.keep("gang", ["a"])
        assert book.written == [("p", "a"), ("r", "a")]
        await promises.keep("gang", ["a"])
        await promises.settle("gang")
        assert book.written == [("p", "a"), ("r", "a"), ("q", "b")]

    asyncio.run(play())


def test_two_that_leave_one_node_both_wait_for_the_one_write() -> None:
    async def play() -> None:
        book, promises = _promises(("p", "a"))
        one, two = (asyncio.ensure_future(promises.keep("gang", ["a"])) for _ in range(2))
        await two
        assert book.written == [("p", "a")]
        await one

    asyncio.run(play())


def test_what_is_taken_back_comes_first() -> None:
    async def play() -> None:
        book, promises = _promises(("p", "a"), ("q", ""))
        await promises.keep("gang", ["a"])
        assert sorted(book.written) == [("p", "a"), ("q", "")]

    asyncio.run(play())


def test_a_victim_that_is_spared_meanwhile_stops_no_write() -> None:
    async def play() -> None:
        book, promises = _promises(("p", "a"))
        victim = asyncio.ensure_future(promises.keep("gang", ["a"]))
        await asyncio.sleep(0)
        victim.cancel()
        await promises.settle("gang")
        assert book.written == [("p", "a")]

    asyncio.run(play())
