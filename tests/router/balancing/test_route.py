"""Which service a request is for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.router.balancing.route import Route, locate

NAMES = {"chat", "10", "note-book.v2"}


@pytest.mark.parametrize(
    ("host", "target", "found"),
    [
        ("127.0.0.1:7078", "/chat/v1/x?a=%2F", Route("chat", "/chat", "/v1/x?a=%2F")),
        ("127.0.0.1:7078", "/chat", Route("chat", "/chat", "/")),
        ("127.0.0.1:7078", "/chat?q=1", Route("chat", "/chat", "/?q=1")),
        ("127.0.0.1:7078", "/chat//v1/", Route("chat", "/chat", "//v1/")),
        ("127.0.0.1:7078", "/note-book.v2/lab", Route("note-book.v2", "/note-book.v2", "/lab")),
        ("chat.localhost:7078", "/v1", Route("chat", "", "/v1")),
        ("chat.localhost:7078", "/10/v1", Route("chat", "", "/10/v1")),
        ("chat.example.org", "/", Route("chat", "", "/")),
        ("x", "http://chat.localhost/v1", None),
        ("x", "http://x/chat/v1?y", Route("chat", "/chat", "/v1?y")),
        ("x", "http://x?y", None),
        # An address is no name, even where a service is called like its first number.
        ("10.0.0.1:80", "/chat/v1", Route("chat", "/chat", "/v1")),
        ("10.0.0.1", "/nobody", None),
        ("chat", "/v1", None),
        ("x", "*", None),
        ("x", "/", None),
        ("x", "/chatter/v1", None),
        ("x", "/%63hat/v1", None),
        ("", "", None),
    ],
)
def test_host_or_path_name_the_service(host: str, target: str, found: Route | None) -> None:
    assert locate(NAMES, host, target) == found


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_comes_leads_somewhere_or_nowhere(host: str, target: str) -> None:
    found = locate(NAMES, host, target)
    assert found is None or (found.service in NAMES and found.rest is not None)


@given(st.from_regex(r"\A(/[a-z%?=&/.-]{0,20})?\Z"))
def test_a_kept_prefix_gives_the_path_as_it_came(rest: str) -> None:
    found = locate(NAMES, "x", f"/chat{rest}")
    assert found is not None
    assert found.path(keep_prefix=True) == f"/chat{rest or '/'}"
    assert found.path(keep_prefix=False) == (rest or "/")
