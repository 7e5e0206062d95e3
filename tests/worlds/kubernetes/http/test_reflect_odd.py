"""Reflectors and servers that answer what a real one does once a year."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ganglion.worlds.kubernetes.http import reflect
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ApiUnavailable, ForbiddenRequest
from ganglion.worlds.kubernetes.http.reflect import Reflector
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.worlds.kubernetes.http.double import (
    Asked,
    Double,
    begin,
    chunk,
    event,
    serving,
    status_of,
    until,
    whole,
)
from tests.worlds.kubernetes.http.test_reflect import Copy, following


def thing(name: str, version: int, **more: object) -> dict[str, object]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), **more}
    }


def mark(version: int) -> bytes:
    """A bookmark as servers send it, with nulls where no object has them."""
    meta = {"resourceVersion": str(version), "creationTimestamp": None, "labels": None}
    return event("BOOKMARK", {"kind": "Pod", "metadata": meta, "spec": {"containers": None}})


def listed(version: int, *items: dict[str, object], more: str = "") -> bytes:
    meta = {"resourceVersion": str(version), "continue": more}
    return whole(200, {"metadata": meta, "items": items})


class Server:
    """Gives lists and watches in the order given; the last watch stays open without a word."""

    def __init__(self, lists: Iterable[bytes], watches: Iterable[bytes]) -> None:
        self._lists, self._watches = list(lists), list(watches)
        self.versions: list[str] = []
        """From which version each watch was asked for."""
        self.lists = 0

    async def __call__(self, asked: Asked, out: asyncio.StreamWriter) -> None:
        if "watch=true" not in asked.target:
            self.lists += 1
            out.write(self._lists.pop(0) if len(self._lists) > 1 else self._lists[0])
            return
        assert "allowWatchBookmarks=true" in asked.target
        self.versions.append(asked.target.partition("resourceVersion=")[2].partition("&")[0])
        if not self._watches:
            out.write(begin())
            await asyncio.sleep(60)
        out.write(self._watches.pop(0))
        await out.drain()
        out.close()


Body = Callable[[Reflector[Anything], Copy], Any]


def follow(server: Server, body: Body) -> None:
    async def task(api: Api, double: Double) -> None:
        async with following(api, "/things") as (reflector, copy):
            await body(reflector, copy)

    serving(server, task)


def test_a_watch_goes_on_from_the_last_event_or_bookmark() -> None:
    server = Server(
        [listed(5, thing("a", 3))],
        [
            begin() + event("MODIFIED", thing("a", 6)) + chunk(b""),
            begin() + mark(9) + chunk(b""),
            begin() + event("ADDED", thing("b", 11)),  # no end: the server was killed
            begin() + chunk(b'{"type":"ADDED","object":{"metadata"'),  # or killed within a line
        ],
    )

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: len(server.versions) == 5, "five watches")
        assert server.versions == ["5", "6", "9", "11", "11"]
        assert (copy.names, server.lists) == (["a", "b"], 1)

    follow(server, body)


@pytest.mark.parametrize(
    "refusal",
    [
        whole(410, status_of(410, "Expired")),
        begin() + event("ERROR", status_of(410, "Expired")) + chunk(b""),
        begin() + event("ERROR", status_of(410, "Gone")),
        whole(400, status_of(400, "BadRequest", "invalid resource version")),
        whole(504, status_of(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge"}])),
    ],
    ids=["as-answer", "as-event", "as-event-and-cut", "invalid", "from-the-future"],
)
def test_a_version_of_no_use_leads_to_another_list_and_no_deletion_is_lost(refusal: bytes) -> None:
    server = Server(
        [listed(5, thing("a", 3), thing("b", 4)), listed(20, thing("b", 4), thing("c", 19))],
        [refusal],
    )

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: len(server.versions) == 2, "a watch from the new list")
        assert server.versions == ["5", "20"]
        assert copy.told[3:] == [("gone", "a"), ("put", "c"), ("synced", "")]
        await until(lambda: reflector.trouble is None, "no trouble")

    follow(server, body)


def test_what_came_before_an_error_event_is_told() -> None:
    both = event("ADDED", thing("b", 6)) + event("ERROR", status_of(500, "InternalError"))
    server = Server([listed(5, thing("a", 3))], [begin() + both + chunk(b"")])

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: len(server.versions) == 2, "another watch")
        assert server.versions == ["5", "6"]
        assert (copy.names, server.lists) == (["a", "b"], 1)

    follow(server, body)


def test_what_arrives_together_is_told_together() -> None:
    many = b"".join(event("ADDED", thing(f"t{i}", 10 + i)) for i in range(500))
    server = Server([listed(5)], [begin() + many + chunk(b"")])

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: len(copy.here) == 500, "all of them")
        assert copy.batches < 20  # reads of the socket, and the list

    follow(server, body)


def test_what_is_told_twice_is_passed_on_once() -> None:
    again = event("ADDED", thing("a", 3)) + event("DELETED", thing("x", 7))
    server = Server([listed(5, thing("a", 3))], [begin() + again + mark(8) + chunk(b"")])

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: reflector.version == "8", "the bookmark after it")
        assert copy.told == [("put", "a"), ("synced", "")]

    follow(server, body)


def test_an_object_that_cannot_be_read_is_told_of_and_spoils_nothing_else() -> None:
    odd = event("MODIFIED", thing("a", 6, labels=7)) + event("ADDED", thing("b", 7))
    troubles: list[str] = []
    server = Server([listed(5, thing("a", 3))], [begin() + odd + chunk(b"")])

    async def task(api: Api, double: Double) -> None:
        copy = Copy()
        reflector = Reflector(
            api, "/things", Anything, copy.take, on_trouble=lambda each: troubles.append(str(each))
        )
        running = asyncio.create_task(reflector.run())
        await until(lambda: len(server.versions) == 2, "another watch")
        running.cancel()
        assert (copy.names, server.versions) == (["a", "b"], ["5", "7"])
        assert list(reflector.unreadable) == ["uid-a"]
        assert [text.partition(" cannot")[0] for text in troubles] == ["/things: a"]

    serving(server, task)


def test_the_end_of_an_object_that_cannot_be_read_is_not_lost() -> None:
    odd = event("MODIFIED", thing("a", 6, labels=7)) + event("DELETED", thing("a", 7, labels=7))
    server = Server([listed(5, thing("a", 3))], [begin() + odd + chunk(b"")])

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: len(server.versions) == 2, "another watch")
        assert copy.told == [("put", "a"), ("synced", ""), ("gone", "a")]
        assert not reflector.unreadable

    follow(server, body)


def test_an_object_that_can_be_read_again_is_told() -> None:
    odd = event("MODIFIED", thing("a", 6, labels=7)) + event("MODIFIED", thing("a", 7))
    server = Server([listed(5, thing("a", 3))], [begin() + odd + chunk(b"")])

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: len(server.versions) == 2, "another watch")
        assert copy.told == [("put", "a"), ("synced", ""), ("put", "a")]
        assert not reflector.unreadable

    follow(server, body)


def test_trouble_is_over_as_soon_as_a_watch_is_accepted() -> None:
    server = Server([listed(5)], [whole(500, status_of(500, "InternalError"))])

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: reflector.trouble is not None, "the trouble")
        await until(lambda: reflector.trouble is None, "no trouble")  # though no event came
        assert reflector.version == "5"

    follow(server, body)


def test_watches_that_end_at_once_are_not_begun_without_a_pause() -> None:
    server = Server([listed(5)], [begin() + chunk(b"")] * 1000)

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await asyncio.sleep(1.5)
        assert 2 <= len(server.versions) <= 8

    follow(server, body)


def test_an_object_that_a_list_cannot_read_is_not_taken_for_deleted() -> None:
    server = Server(
        [listed(5, thing("a", 3), thing("b", 4)), listed(9, thing("a", 8, labels=7))],
        [whole(410, status_of(410, "Expired"))],
    )

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: copy.lists == 2, "the second list")
        assert copy.names == ["a"]
        assert copy.told[3:] == [("gone", "b"), ("synced", "")]

    follow(server, body)


def test_a_first_list_is_told_page_by_page_and_what_vanished_between_two_tries_is_gone() -> None:
    server = Server(
        [
            listed(5, thing("a", 3), more="next"),
            whole(410, status_of(410, "Expired")),
            listed(9, thing("b", 8), more="next"),
            listed(9, thing("c", 4)),
        ],
        [],
    )

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: copy.lists == 1, "the whole list")
        assert copy.told == [
            ("put", "a"),
            ("put", "b"),
            ("put", "c"),
            ("gone", "a"),
            ("synced", ""),
        ]

    follow(server, body)


def test_one_odd_answer_deletes_nothing_but_a_kind_that_stays_away_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reflect, "ABSENT_PAUSE_S", 0.2)
    absent = whole(404, b"404 page not found")
    server = Server(
        [listed(5, thing("a", 3)), absent, listed(9, thing("a", 3)), absent],
        [absent, absent],
    )

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: ("gone", "a") in copy.told, "nothing left")
        assert copy.told == [
            ("put", "a"),
            ("synced", ""),
            ("synced", ""),
            ("gone", "a"),
            ("synced", ""),
        ]
        assert server.lists >= 3 + reflect.ABSENT_TRIES - 1

    follow(server, body)


def test_a_right_to_list_but_not_to_watch_is_no_reason_to_list_for_ever() -> None:
    server = Server([listed(5)], [whole(403, status_of(403, "Forbidden"))] * 3)

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: len(server.versions) == 3, "three watches")
        assert isinstance(reflector.trouble, ForbiddenRequest)
        assert server.lists == 1

    follow(server, body)


def test_lists_that_never_lead_to_a_watch_are_asked_for_less_and_less_often() -> None:
    server = Server([listed(5)], [whole(410, status_of(410, "Expired"))] * 1000)

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await asyncio.sleep(1.5)
        assert 2 <= server.lists <= 8  # 0.1 s, 0.2 s, 0.4 s and so on, of which half is chance

    follow(server, body)


def test_a_watch_that_talks_nonsense_is_begun_again() -> None:
    server = Server([listed(5)], [begin() + chunk(b"<h1>Please log in</h1>\n") + chunk(b"")])

    async def body(reflector: Reflector[Anything], copy: Copy) -> None:
        await until(lambda: isinstance(reflector.trouble, ApiUnavailable), "the trouble")
        await until(lambda: len(server.versions) == 2, "another watch")
        assert server.versions == ["5", "5"]

    follow(server, body)
