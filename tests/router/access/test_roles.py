"""A router in its own process lets in whom a server allows by role, and only as long as it does."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from ganglion.identity.tokens import assembled
from ganglion.router.balancing.table import CallerAccess, ReplicaEndpoint, RoutedService
from ganglion.router.decisions import (
    LASTS_S,
    AskedRole,
    CredentialKind,
    RoleAnswer,
    RoleAnswerKind,
    RoleQuestion,
    question_of,
)
from ganglion.router.link import RouterLink
from ganglion.transport.hosts import LOOPBACK
from tests.router.proxy.test_access import Echo, ask, raw, refused
from tests.router.test_link import linked
from tests.router.test_link import until as wait_until
from tests.transport.other_user import as_another_user, only_root

KEY, COOKIE = "the-key", "__Host-ganglion"
GOOD, BAD, GONE = (assembled([number] * 30) for number in (1, 2, 3))
SECRET = "secret-of-a-session"
K = RoleAnswerKind


class Steps(Echo):
    """Echoes; below /slow/ it sends a byte again and again until the caller is gone."""

    def do_GET(self) -> None:  # noqa: N802 - the name is of http.server
        if "slow" not in self.path:
            super().do_GET()
            return
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b".")
                time.sleep(0.02)
        except OSError:
            return


class Judge:
    """A server's decisions; what is not in `by` counts for nothing."""

    def __init__(self) -> None:
        self.by: dict[str, RoleAnswerKind] = {GOOD: K.ALLOWED, SECRET: K.ALLOWED, BAD: K.REFUSED}
        self.asked: list[AskedRole] = []

    def __call__(self, asked: Sequence[AskedRole]) -> list[RoleAnswer]:
        self.asked += asked
        return [self._answer(each.question) for each in asked]

    def _answer(self, question: RoleQuestion) -> RoleAnswer:
        for secret, kind in self.by.items():
            if question_of(question.workload, question.kind, secret) == question:
                found = kind if question.workload == "w-1" else K.HIDDEN
                return RoleAnswer(question, found, "bob may not: the rule")
        return RoleAnswer(question, K.UNKNOWN, "this server knows no such personal token")


@pytest.fixture(scope="module")
def replica() -> Iterator[ReplicaEndpoint]:
    server = ThreadingHTTPServer((LOOPBACK, 0), Steps)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield ReplicaEndpoint("chat/0", f"{LOOPBACK}:{server.server_port}")
    server.shutdown()
    server.server_close()
    thread.join()


def services(at: ReplicaEndpoint, *, by_key: bool = True) -> list[RoutedService]:
    """One that only roles and keys lead to, and one that all callers may not see."""
    of = {"chat": "w-1", "hidden": "w-2"}
    return [
        RoutedService(name, (at,), access=CallerAccess(KEY, by_key=by_key, workload=id))
        for name, id in of.items()
    ]


@contextmanager
def routed(home: Path, at: ReplicaEndpoint, judge: Judge) -> Iterator[RouterLink]:
    with linked(home) as link:
        link._session_cookie = COOKIE
        version = link.publish(services(at))
        link.decide_by(judge)
        wait_until(lambda: link.reading().stats.version == version)
        yield link


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def link(tmp_path: Path, replica: ReplicaEndpoint, judge: Judge) -> Iterator[RouterLink]:
    with routed(tmp_path, replica, judge) as made:
        yield made


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_role_lets_in_and_the_service_sees_neither_token_nor_cookie(
    link: RouterLink, judge: Judge
) -> None:
    by_bearer = ask(link, "/chat/", **bearer(GOOD))
    by_header = ask(link, "/chat/", X_Ganglion_Token=GOOD, Authorization="Bearer own")
    cookies = f"own=1; {COOKIE}={SECRET}; {COOKIE}-login=x"
    by_cookie = ask(link, "/chat/", Cookie=cookies)
    assert [each.status_code for each in (by_bearer, by_header, by_cookie)] == [200] * 3
    for each in (by_bearer, by_header, by_cookie):
        assert GOOD not in each.text
        assert SECRET not in each.text
    assert "Authorization: Bearer own" in by_header.text
    assert "Cookie: own=1\n" in by_cookie.text
    kinds = {each.question.kind for each in judge.asked}
    assert kinds == {CredentialKind.TOKEN, CredentialKind.SESSION}
    assert GOOD not in str(judge.asked), "a server compares digests"


def test_a_refusal_names_the_rule_and_a_credential_that_counts_for_nothing_is_401(
    link: RouterLink, judge: Judge
) -> None:
    said = ask(link, "/chat/", **bearer(BAD))
    refused(said, "access")
    assert said.json()["detail"] == "bob may not: the rule"
    for path in ("/chat/", "/hidden/", "/nothing/"):
        refused(ask(link, path, **bearer(GONE)), "auth", 401)
    refused(ask(link, "/chat/", Cookie=f"{COOKIE}=stale"), "auth", 401)
    before = len(judge.asked)
    refused(ask(link, "/chat/", **bearer("gng_short")), "auth", 401)
    assert len(judge.asked) == before, "a malformed token is no question"


def test_what_a_user_may_not_see_is_answered_as_what_does_not_exist(link: RouterLink) -> None:
    hidden, none = (ask(link, path, **bearer(GOOD)) for path in ("/hidden/", "/nothing/"))
    refused(hidden, "router.unknown", 404)
    assert hidden.headers.keys() == none.headers.keys()
    assert hidden.text.replace("/hidden/", "/nothing/") == none.text
    by_host = [
        ask(link, "/", Host=f"{name}.localhost", **bearer(GOOD)) for name in ("hidden", "nothing")
    ]
    assert by_host[0].text.replace("hidden", "nothing") == by_host[1].text
    assert by_host[0].status_code == 404


@only_root
def test_who_shows_nothing_does_not_learn_whether_there_is_a_service(link: RouterLink) -> None:
    def is_told_nothing() -> bool:
        heads = ("", "\r\nOrigin: http://evil.example", "\r\nX-Ganglion-Token: wrong")
        return all(
            len(
                {
                    raw(link, f"GET /{name}/{query} HTTP/1.1\r\nHost: localhost{head}".encode())
                    for name in ("chat", "nothing")
                }
            )
            == 1
            for head in heads
            for query in ("", "?ganglion-ticket=x")
        )

    assert as_another_user(is_told_nothing)


def test_a_session_counts_for_pages_of_the_router_only(link: RouterLink) -> None:
    cookie = {"Cookie": f"{COOKIE}={SECRET}"}
    own = {"Origin": link.url, **cookie}
    assert httpx2.get(f"{link.url}/chat/", headers=own).status_code == 200
    refused(httpx2.get(f"{link.url}/chat/", headers={**own, "Origin": "http://x"}), "router.origin")
    refused(httpx2.post(f"{link.url}/chat/", headers=cookie), "router.origin")
    shake = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    refused(httpx2.get(f"{link.url}/chat/", headers=cookie | shake), "router.origin")
    sent = httpx2.post(f"{link.url}/chat/", headers=own)
    assert sent.status_code == 501, "the replica has no POST, and was asked"


def test_many_requests_are_one_question_a_second(link: RouterLink, judge: Judge) -> None:
    began = time.monotonic()
    with httpx2.Client(headers=bearer(GOOD)) as client:
        for _ in range(100):
            assert client.get(f"{link.url}/chat/").status_code == 200
    most = 2 + int((time.monotonic() - began) / LASTS_S)
    assert len(judge.asked) <= most


def test_a_role_that_was_taken_back_ends_requests_and_lets_in_no_more(
    link: RouterLink, judge: Judge
) -> None:
    with httpx2.stream("GET", f"{link.url}/chat/slow/", headers=bearer(GOOD)) as stream:
        pieces = stream.iter_raw()
        assert next(pieces).startswith(b".")
        judge.by[GOOD] = K.REFUSED
        began = time.monotonic()
        with pytest.raises(httpx2.TransportError):
            for _ in pieces:
                assert time.monotonic() < began + 10 * LASTS_S
    wait_until(lambda: ask(link, "/chat/", **bearer(GOOD)).status_code == 403)
    looks = [each.used for each in judge.asked]
    assert False in looks, "a look at a request that goes on does not prolong a session"


def test_while_no_server_is_there_what_was_allowed_goes_on_and_the_rest_is_503(
    tmp_path: Path, replica: ReplicaEndpoint, judge: Judge
) -> None:
    with routed(tmp_path, replica, judge) as link:
        assert ask(link, "/chat/", **bearer(GOOD)).status_code == 200
        link.stop()

        def undecided() -> bool:
            found = ask(link, "/chat/", X_Ganglion_Token=BAD)
            return found.status_code == 503 and found.json()["code"] == "router.undecided"

        wait_until(undecided)
        found = ask(link, "/chat/", X_Ganglion_Token=BAD)
        assert (found.status_code, found.headers["Retry-After"]) == (503, "1")
        assert ask(link, "/chat/", **bearer(GOOD)).status_code == 200
        assert ask(link, "/chat/", X_Ganglion_Token=KEY).status_code == 200, "keys need no server"


def test_keys_are_switched_off(link: RouterLink, replica: ReplicaEndpoint) -> None:
    assert ask(link, "/chat/", X_Ganglion_Token=KEY).status_code == 200
    version = link.publish(services(replica, by_key=False))
    wait_until(lambda: link.reading().stats.version == version)
    refused(ask(link, "/chat/", X_Ganglion_Token=KEY), "router.access")
    assert ask(link, "/chat/", **bearer(GOOD)).status_code == 200
