"""Which names and addresses are this machine's own."""

import pytest

from ganglion.transport.hosts import Hosts, is_loopback
from ganglion.transport.limits import network_of


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("::ffff:192.0.2.7", False),
        ("x", False),
    ],
)
def test_loopback_is_told_from_the_rest(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_server_on_every_address_answers_to_the_one_that_was_asked() -> None:
    hosts = Hosts()
    for came_by in ("192.0.2.7", "::ffff:192.0.2.7"):
        assert hosts.answers_to("192.0.2.7:7077", (came_by, 7077))
        assert hosts.is_address_of("192.0.2.7:7077", (came_by, 7077))
        assert not hosts.answers_to("192.0.2.8:7077", (came_by, 7077))
    assert hosts.answers_to("[2001:db8::7]:7077", ("2001:db8::7", 7077))
    assert not hosts.answers_to("evil.example:7077", ("2001:db8::7", 7077))


def test_callers_of_ipv4_are_kept_apart_whichever_socket_they_come_by() -> None:
    assert network_of("::ffff:192.0.2.7") == network_of("192.0.2.7") == "192.0.2.7"
    assert network_of("::ffff:192.0.2.8") != network_of("::ffff:192.0.2.7")
    assert network_of("2001:db8::1") == network_of("2001:db8::2")
