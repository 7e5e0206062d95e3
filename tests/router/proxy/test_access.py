"""A router in its own process lets in whom a service is for, and no web page of another origin."""

import grp
import os
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from ganglion.router.balancing.table import CallerAccess, ReplicaEndpoint, RoutedService
from ganglion.router.link import RouterLink
from ganglion.router.proxy.tickets import TICKET, TICKET_S, ticket, until
from ganglion.transport.tcp_owner import owner_of
from tests.router.test_link import linked
from tests.router.test_link import until as wait_until
from tests.transport.other_user import UID, as_another_user, only_root

ME, KEY = os.geteuid(), "the-key"
GROUP = grp.getgrgid(os.getgid()).gr_name
HOSTS = ("gpu-box",)
KINDS = {
    "mine": CallerAccess(KEY, (ME,)),
    "other": CallerAccess(KEY, (UID,)),
    "group": CallerAccess(KEY, (), (GROUP,)),
    "nobody": CallerAccess(KEY),
    "open": CallerAccess(),
}


class Echo(BaseHTTPRequestHandler):
    """Answers with the headers that it got."""

    def do_GET(self) -> None:
        said = str(self.headers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouterLink]:
    """A router in front of services of every kind."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    at = f"127.0.0.1:{server.server_port}"
    with linked(tmp_path_factory.mktemp("home"), hosts=HOSTS) as made:
        version = made.publish(
            [
                RoutedService(name, (ReplicaEndpoint(f"{name}/0", at),), access=KINDS[name])
                for name in KINDS
            ]
        )
        wait_until(lambda: made.reading().stats.version == version)
        yield made
    server.shutdown()
    server.server_close()
    thread.join()


def ask(link: RouterLink, path: str, **headers: str) -> httpx2.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.get(f"{link.url}{path}", headers=given, timeout=20)


def refused(answer: httpx2.Response, code: str, status: int = 403) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


@pytest.mark.parametrize("name", ["mine", "group", "open"])
def test_the_owner_and_those_named_need_no_token(link: RouterLink, name: str) -> None:
    assert ask(link, f"/{name}/").status_code == 200


@pytest.mark.parametrize("name", ["other", "nobody"])
def test_others_need_the_token_and_the_service_does_not_see_it(link: RouterLink, name: str) -> None:
    answer = ask(link, f"/{name}/")
    refused(answer, "router.access")
    assert "ganglion open NAME" in answer.json()["hint"]
    refused(ask(link, f"/{name}/", X_Ganglion_Token="wrong"), "router.access")
    refused(ask(link, f"/{name}/", Authorization=f"Basic {KEY}"), "router.access")
    both = ask(link, f"/{name}/", X_Ganglion_Token=KEY, Authorization="Bearer own")
    assert both.status_code == 200
    assert KEY not in both.text
    assert "Authorization: Bearer own" in both.text
    bearer = ask(link, f"/{name}/", Authorization=f"Bearer {KEY}")
    assert bearer.status_code == 200
    assert "Authorization" not in bearer.text


def raw(link: RouterLink, lines: bytes) -> bytes:
    """The status line of an answer."""
    port = int(link.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 20) as connected:
        connected.sendall(lines + b"\r\n\r\n")
        return connected.recv(65_536).partition(b"\r\n")[0]


@only_root
def test_another_user_of_this_machine_is_known_whatever_it_says(link: RouterLink) -> None:
    def knows_only_its_own() -> bool:
        said = {
            name: raw(link, f"GET /{name}/ HTTP/1.1\r\nHost: localhost".encode()) for name in KINDS
        }
        return {name for name, line in said.items() if b" 200 " in line} == {"other", "open"}

    assert as_another_user(knows_only_its_own)


@only_root
def test_a_connection_that_its_user_has_closed_is_nobodys() -> None:
    """The kernel calls it root's."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        near = socket.create_connection(taken.getsockname())
        far, _ = taken.accept()
        with far:
            ends = far.getpeername(), far.getsockname()
            assert owner_of(*ends) == ME
            near.close()
            assert owner_of(*ends) is None


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:7078", 200),
        ("gpu-box:80", 200),
        ("mine.localhost", 200),
        ("mine.gpu-box", 200),
        ("evil.example", 421),
        ("mine.evil.example", 421),
        ("localhost.evil.example", 421),
    ],
)
def test_a_name_that_was_rebound_leads_nowhere(link: RouterLink, host: str, status: int) -> None:
    for path in ("/mine/", "/-/healthz"):
        if host.startswith("mine.") and status == 200 and path != "/mine/":
            continue
        assert ask(link, path, Host=host).status_code == status
    if status == 421:
        refused(ask(link, "/open/", Host=host), "router.host", 421)


@pytest.mark.parametrize(
    ("headers", "enters"),
    [
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://127.0.0.1:1"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, True),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "OWN"}, True),
    ],
)
def test_a_page_of_another_origin_is_refused(
    link: RouterLink, headers: dict[str, str], enters: bool
) -> None:
    """Its browser runs as the owner."""
    given = {name: link.url if value == "OWN" else value for name, value in headers.items()}
    answer = httpx2.get(f"{link.url}/mine/", headers=given)
    if enters:
        assert answer.status_code == 200
        return
    refused(answer, "router.origin")
    shake = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    refused(httpx2.get(f"{link.url}/mine/", headers=given | shake), "router.origin")


def test_a_ticket_lets_one_browser_in_once(link: RouterLink) -> None:
    made = ticket(KEY, time.time())
    first = ask(link, f"/nobody/lab?a=1&{TICKET}={made}&b=%2F", Sec_Fetch_Site="cross-site")
    assert first.status_code == 303
    assert first.headers["location"] == "/nobody/lab?a=1&b=%2F"
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/nobody/" in cookie
    assert KEY not in cookie
    refused(ask(link, f"/nobody/?{TICKET}={made}"), "router.ticket")
    kept = cookie.partition(";")[0]
    page = ask(link, "/nobody/lab", Cookie=f"own=1; {kept}")
    assert page.status_code == 200
    assert "Cookie: own=1" in page.text
    assert kept not in page.text
    refused(ask(link, "/other/", Cookie=kept), "router.access")
    refused(ask(link, "/nobody/", Cookie=kept + "0"), "router.access")
    refused(ask(link, "/nobody/", Cookie=kept, Origin="http://evil.example"), "router.origin")


@only_root
def test_a_cookie_that_another_user_took_is_worth_nothing(link: RouterLink) -> None:
    """Browsers send cookies to every port of a host."""
    first = ask(link, f"/nobody/?{TICKET}={ticket(KEY, time.time())}")
    kept = first.headers["set-cookie"].partition(";")[0]

    def is_refused() -> bool:
        head = f"GET /nobody/ HTTP/1.1\r\nHost: localhost\r\nCookie: {kept}"
        return b" 403 " in raw(link, head.encode())

    assert as_another_user(is_refused)
    assert ask(link, "/nobody/", Cookie=kept).status_code == 200


def test_a_ticket_that_is_old_or_made_up_is_refused(link: RouterLink) -> None:
    now = time.time()
    for made in (ticket(KEY, now - TICKET_S - 1), ticket("x", now), "", ".", "9999999999.x.y"):
        refused(ask(link, f"/nobody/?{TICKET}={made}"), "router.ticket")
    fresh = ticket(KEY, 1_000.0)
    assert until(fresh, KEY, 1_000.0) == 1_000 + TICKET_S
    assert until(fresh, KEY, 1_001.0 + TICKET_S) == 0
    assert ticket(KEY, 1_000.0) != fresh


def test_a_redirect_stays_on_the_router(link: RouterLink, tmp_path: Path) -> None:
    answer = raw(link, f"GET /nobody//evil.example?{TICKET}=x HTTP/1.1\r\nHost: localhost".encode())
    assert b" 403 " in answer
    made = ticket(KEY, time.time())
    found = ask(link, f"/nobody//evil.example?{TICKET}={made}")
    assert found.headers["location"].startswith("/nobody/")
