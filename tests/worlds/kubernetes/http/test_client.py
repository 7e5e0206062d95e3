"""What the client does with answers that a server gives rarely."""

import asyncio
from time import monotonic

import pytest

from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ApiUnavailable, Gone, InvalidRequest, TooMany
from ganglion.worlds.kubernetes.http.listing import UnreadableObject
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.worlds.kubernetes.http.double import (
    Asked,
    Double,
    begin,
    chunk,
    serving,
    status_of,
    using,
    whole,
)


def page(*names: str, more: str = "", version: str = "7") -> bytes:
    items = [{"metadata": {"name": name, "uid": name}} for name in names]
    return whole(200, {"metadata": {"resourceVersion": version, "continue": more}, "items": items})


def answers(*each: bytes) -> "Replies":
    return Replies(list(each))


class Replies:
    """Gives one answer after the other; the last one for ever."""

    def __init__(self, each: list[bytes]) -> None:
        self._each = each

    async def __call__(self, asked: Asked, out: asyncio.StreamWriter) -> None:
        out.write(self._each.pop(0) if len(self._each) > 1 else self._each[0])


def test_connections_are_kept_and_no_more_are_made_than_requests_fly() -> None:
    async def task(api: Api, double: Double) -> None:
        for _ in range(20):
            await api.create("/x", {})
        assert double.connections == 1
        await asyncio.gather(*(api.create("/x", {}) for _ in range(50)))
        assert (len(double.asked), double.connections) == (70, 4)

    serving(answers(whole(201, {})), task, in_flight=4)


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    async def task(api: Api, double: Double) -> None:
        for _ in range(3):
            await api.create("/x", {})
        assert double.connections == 3

    serving(answers(whole(201, {}, Connection="close")), task)


def test_a_request_given_up_takes_its_late_answer_with_it() -> None:
    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        if asked.target == "/slow":
            await asyncio.sleep(0.2)
        out.write(whole(200, asked.target))

    async def task(api: Api, double: Double) -> None:
        slow = asyncio.create_task(api.get("/slow", str))
        while not double.asked:
            await asyncio.sleep(0)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert await api.get("/quick", str) == "/quick"

    serving(script, task)


def test_a_server_that_does_not_answer_is_waited_for_no_longer_than_told() -> None:
    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async def task(api: Api, double: Double) -> None:
        with pytest.raises(ApiUnavailable, match=r"POST /x: no answer within 0\.1 s"):
            await api.create("/x", {})

    serving(script, task, timeout_s=0.1)


def test_nobody_listening_is_said_so() -> None:
    async def task(api: Api) -> None:
        with pytest.raises(ApiUnavailable, match="GET /x: the connection failed"):
            await api.get("/x", dict, tries=1)

    using(ApiEndpoint(name="none", url="http://127.0.0.1:9"), task)


def test_the_server_says_how_long_to_wait_and_is_obeyed() -> None:
    busy = whole(429, status_of(429, "TooManyRequests"), Retry_After="1")

    async def task(api: Api, double: Double) -> None:
        began = monotonic()
        await api.create("/x", {}, tries=2)
        assert monotonic() - began >= 1
        assert len(double.asked) == 2

    serving(answers(busy, whole(201, {})), task)


def test_a_write_is_sent_once_unless_the_caller_says_otherwise() -> None:
    async def task(api: Api, double: Double) -> None:
        with pytest.raises(ApiUnavailable):
            await api.create("/x", {})
        assert len(double.asked) == 1
        with pytest.raises(ApiUnavailable):
            await api.create("/x", {}, tries=3)
        assert len(double.asked) == 4

    serving(answers(whole(503, b"no backend")), task)


def test_what_will_never_be_right_is_not_repeated() -> None:
    async def task(api: Api, double: Double) -> None:
        with pytest.raises(InvalidRequest) as caught:
            await api.create("/x", {}, tries=5)
        assert len(double.asked) == 1
        assert caught.value.message == "POST /x: spec.a: must be set"
        assert (caught.value.status, caught.value.reason) == (422, "Invalid")

    serving(answers(whole(422, status_of(422, "Invalid", "spec.a: must be set"))), task)


def test_a_budget_that_forbids_is_told_from_too_many_requests() -> None:
    cause = {"reason": "DisruptionBudget", "message": "needs 2"}
    body = status_of(429, "TooManyRequests", causes=[cause], retryAfterSeconds=10)

    async def task(api: Api, double: Double) -> None:
        with pytest.raises(TooMany) as caught:
            await api.create("/x", {})
        assert caught.value.caused_by("DisruptionBudget")
        assert not caught.value.caused_by("Throttled")
        assert caught.value.retry_after_s == 10

    serving(answers(whole(429, body)), task)


def test_an_answer_of_somebody_else_is_shown() -> None:
    async def task(api: Api, double: Double) -> None:
        with pytest.raises(ApiUnavailable, match="GET /x: <h1>Bad gateway</h1>"):
            await api.get("/x", dict, tries=1)

    serving(answers(whole(502, b"<h1>Bad gateway</h1>")), task)


def test_a_good_answer_of_the_wrong_form_is_no_success() -> None:
    async def task(api: Api, double: Double) -> None:
        with pytest.raises(ApiUnavailable, match="/x: unexpected answer"):
            await api.get("/x", Anything)

    serving(answers(whole(200, b"<h1>Please log in</h1>")), task)


def test_a_list_follows_its_pages_and_has_the_version_of_the_last() -> None:
    pages = answers(page("a", "b", more="c%2F+="), page("c", version="8"))

    async def task(api: Api, double: Double) -> None:
        listing = await api.list("/x", Anything, params={"labelSelector": "a=b,c"}, limit=2)
        assert [each.metadata.name for each in listing.items] == ["a", "b", "c"]
        assert listing.version == "8"
        assert double.asked[0].target == "/x?labelSelector=a%3Db%2Cc&limit=2"
        assert double.asked[1].target.endswith("&continue=c%252F%2B%3D")

    serving(pages, task)


def test_a_list_whose_pages_expire_starts_again() -> None:
    gone = whole(410, status_of(410, "Expired"))

    async def task(api: Api, double: Double) -> None:
        listing = await api.list("/x", Anything)
        assert [each.metadata.name for each in listing.items] == ["b", "c"]

    serving(answers(page("a", more="1"), gone, page("b", more="2"), page("c")), task)


def test_a_list_whose_pages_always_expire_is_asked_for_as_a_whole() -> None:
    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        if "continue" in asked.target:
            out.write(whole(410, status_of(410, "Expired")))
        else:
            out.write(page("a", more="1") if "limit" in asked.target else page("a", "b"))

    async def task(api: Api, double: Double) -> None:
        listing = await api.list("/x", Anything)
        assert [each.metadata.name for each in listing.items] == ["a", "b"]

    serving(script, task)


def test_one_object_of_an_odd_form_spoils_a_list_only_where_nobody_cares_for_it() -> None:
    items = [{"metadata": {"name": "a"}}, {"metadata": {"name": 7}}]
    odd = whole(200, {"metadata": {"resourceVersion": "7"}, "items": items})

    async def task(api: Api, double: Double) -> None:
        with pytest.raises(ApiUnavailable, match=r"Expected `str`, got `int`"):
            await api.list("/x", Anything)
        left_out: list[UnreadableObject] = []
        listing = await api.list("/x", Anything, unreadable=left_out.append)
        assert [each.metadata.name for each in listing.items] == ["a"]
        assert ["name" in str(each.error) for each in left_out] == [True]

    serving(answers(odd), task)


def test_requests_say_what_the_caller_meant() -> None:
    async def task(api: Api, double: Double) -> None:
        await api.patch("/x", {}, Patch.APPLY, manager="ganglion", force=True)
        await api.delete("/x", uid="u1", grace=0, propagation="Background")
        applied, deleted = double.asked
        assert applied.target == "/x?fieldManager=ganglion&force=true"
        assert applied.headers["content-type"] == "application/apply-patch+yaml"
        assert b'"preconditions":{"uid":"u1"}' in deleted.body
        assert b'"gracePeriodSeconds":0' in deleted.body
        assert b'"propagationPolicy":"Background"' in deleted.body

    serving(answers(whole(200, {})), task)


@pytest.mark.parametrize("path", ["/a b", "/a\r\nHost: x", "a", "/ä", "/a?b=c"])
def test_a_name_cannot_smuggle_another_request_into_a_path(path: str) -> None:
    async def task(api: Api, double: Double) -> None:
        with pytest.raises(InputError, match="not a path of the API"):
            await api.get(path, dict)
        assert not double.asked

    serving(answers(whole(200, {})), task)


def test_a_stream_gives_whole_lines_however_they_arrive() -> None:
    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        out.write(begin() + chunk(b"one\ntw"))
        await out.drain()
        await asyncio.sleep(0.05)
        out.write(chunk(b"o\nlast") + chunk(b""))

    async def task(api: Api, double: Double) -> None:
        assert [line async for line in api.stream("/x")] == [b"one", b"two", b"last"]

    serving(script, task)


def test_a_silent_stream_ends_with_an_error() -> None:
    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        out.write(begin() + chunk(b"one\n"))
        await asyncio.sleep(30)

    async def task(api: Api, double: Double) -> None:
        seen: list[bytes] = []
        with pytest.raises(ApiUnavailable, match=r"GET /x: .* silent for 0\.2 s"):
            async for lines in api.batches("/x", silence_s=0.2):
                seen += lines
        assert seen == [b"one"]

    serving(script, task)


def test_a_stream_that_is_refused_says_why() -> None:
    async def task(api: Api, double: Double) -> None:
        with pytest.raises(Gone, match="too old"):
            async for _ in api.batches("/x"):
                pass

    serving(answers(whole(410, status_of(410, "Expired", "too old"))), task)
