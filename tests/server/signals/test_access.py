"""Who is let in to services is said in workload files, and kept from one start to the next."""

import getpass
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.model.errors import EnvironmentFault, FieldError
from ganglion.model.workload import Kind, Workload
from ganglion.router.balancing.table import CallerAccess, RoutedService
from ganglion.router.proxy.tickets import TICKET, until
from ganglion.server.requests.context import ServerContext
from ganglion.server.signals.access import FILE, Keys, access_of
from ganglion.specs.workload.workload import from_document as parse
from tests.server.test_workloads import API, post, problem

ME = os.geteuid()


def access(said: Any) -> CallerAccess:
    found = parse({"name": "chat", "kind": "service", "run": "x", "port": 80, "access": said})
    return access_of(Workload("chat", Kind.SERVICE, access=found.access), "chat-1")


def test_without_a_word_only_the_owner_is_let_in() -> None:
    assert access("owner") == CallerAccess("chat-1", (ME,), workload="chat-1")
    assert access_of(Workload("chat"), "chat-1") == CallerAccess("chat-1", (ME,), workload="chat-1")
    assert access("anyone") == CallerAccess()


def test_users_are_known_by_their_numbers_and_unknown_ones_let_nobody_in() -> None:
    me = getpass.getuser()
    assert access({"users": [me, "no-such-user"]}) == CallerAccess(
        "chat-1", (ME,), workload="chat-1"
    )
    assert access({"users": "nobody"}).users[0] == ME
    assert not access({"keys": False}).by_key
    assert access({"groups": ["ml"]}) == CallerAccess("chat-1", (ME,), ("ml",), workload="chat-1")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("everyone", "everyone"),
        ({"users": [7]}, "no name of a user"),
        ({"users": ["a b"]}, "no name of a user"),
        ({"people": ["a"]}, "unknown key"),
        ({"groups": 5}, "list of names"),
        ({"keys": "no"}, "true or false"),
    ],
)
def test_what_cannot_be_is_refused(said: Any, message: str) -> None:
    with pytest.raises(FieldError, match=message):
        access(said)


def test_only_what_is_reached_has_it() -> None:
    with pytest.raises(FieldError, match="access"):
        parse({"run": "true", "kind": "batch", "access": "anyone"})


def test_keys_are_one_per_workload_and_outlive_a_server(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert keys.key("a-1") == Keys(tmp_path).key("a-1") != keys.key("a-2")
    sealed = keys.sealed(RoutedService("a", access=CallerAccess("a-1", (1,))))
    assert sealed.access == CallerAccess(keys.key("a-1"), (1,))
    assert keys.sealed(RoutedService("a")) == RoutedService("a")
    (tmp_path / FILE).write_text("00")
    with pytest.raises(EnvironmentFault, match="cut off"):
        Keys(tmp_path)


def test_an_address_with_a_ticket_is_made_on_request(
    client: TestClient, context: ServerContext
) -> None:
    context.url = lambda: "http://127.0.0.1:7078"
    post(client, name="chat", kind="service", port=8000, queue="default")
    found = client.post(f"{API}/workloads/chat/open").json()
    base, _, made = found["url"].partition(f"?{TICKET}=")
    assert base == "http://127.0.0.1:7078/chat/"
    assert found["token"] == context.keys.key("chat-1")
    assert until(made, found["token"], time.time())


def test_where_keys_are_off_the_plain_address_is_given(
    client: TestClient, context: ServerContext, tmp_path: Path
) -> None:
    context.url = lambda: "http://127.0.0.1:7078"
    plain = {"url": "http://127.0.0.1:7078/chat/", "token": ""}
    access = {"keys": False}
    post(client, name="chat", kind="service", port=8000, queue="default", access=access)
    assert client.post(f"{API}/workloads/chat/open").json() == plain
    post(client, name="other", kind="service", port=8000, queue="default")
    context.keys = Keys(tmp_path, by_key=False)
    assert client.post(f"{API}/workloads/other/open").json()["token"] == ""
    assert not context.keys.sealed(RoutedService("a", access=CallerAccess("a-1"))).access.by_key


def test_what_the_router_does_not_reach_is_not_opened(client: TestClient) -> None:
    post(client, name="job")
    problem(client.post(f"{API}/workloads/job/open"), 409, "state.conflict", "not reached")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_web_page_cannot_use_the_api(client: TestClient, headers: dict[str, str]) -> None:
    for method, path in (("GET", "/healthz"), ("POST", f"{API}/workloads"), ("OPTIONS", API)):
        answer = client.request(method, path, headers=headers)
        problem(answer, 403, "http.origin", "another origin")
