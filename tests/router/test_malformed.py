"""What is no HTTP request is answered by the router as every other refusal: with a problem."""

import json

import pytest

from ganglion.transport.problem import MEDIA_TYPE
from tests.router.stage import act, ok, request, says, stage

HEAD = b"\r\nHost: localhost\r\n"
MALFORMED = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a space before the colon": b"GET /chat/ HTTP/1.1" + HEAD + b"X : 1\r\n\r\n",
    "a length that is none": b"POST /chat/ HTTP/1.1" + HEAD + b"Content-Length: x\r\n\r\n",
    "a header too long": b"GET /chat/ HTTP/1.1" + HEAD + b"X: " + b"x" * 40_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_request_is_answered_with_a_problem(data: bytes) -> None:
    async def story() -> None:
        async with stage() as on:
            on.route(await on.actor("a", says(ok(b"hi"))))
            wire = await on.call()
            await wire.send(data)
            head = (await wire.head()).decode()
            assert " 400 " in head
            assert MEDIA_TYPE in head
            found = json.loads(await wire.rest())
            assert (found["code"], found["status"]) == ("http.malformed", 400)
            assert found["hint"]
            other = await on.call()
            await other.send(request("GET", "/chat/"))
            assert b" 200 " in await other.head()

    act(story())


def test_a_defect_of_the_router_is_answered_with_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    async def story() -> None:
        async with stage() as on:
            on.route(await on.actor("a", says(ok(b"hi"))))
            monkeypatch.setattr("ganglion.router.proxy.front.locate", fails)
            wire = await on.call()
            await wire.send(request("GET", "/chat/", extra="Accept: text/html\r\n"))
            head = (await wire.head()).decode()
            assert " 500 " in head
            assert MEDIA_TYPE in head
            assert json.loads(await wire.rest())["code"] == "router.failed"

    act(story())
