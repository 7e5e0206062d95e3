"""Ports are free, and the same for the same attempt."""

import socket
from itertools import islice

import pytest

from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.local.machine.ports import (
    FIRST,
    LAST,
    candidates,
    free_port,
    is_free,
    is_reusable,
)


def test_every_port_of_the_range_is_a_candidate_once() -> None:
    assert sorted(candidates("any")) == list(range(FIRST, LAST + 1))
    assert (FIRST, LAST) == (20_000, 32_767)


def test_the_port_depends_on_the_key_alone() -> None:
    ports = [free_port(f"train-{n}/0#1", (), free=lambda port: True) for n in range(50)]
    again = [free_port(f"train-{n}/0#1", (), free=lambda port: True) for n in range(50)]
    assert ports == again
    assert len(set(ports)) > 45


def test_ports_in_use_or_promised_are_passed_over() -> None:
    first, second, third = islice(candidates("key"), 3)
    assert free_port("key", {first}, free=lambda port: port != second) == third


def test_a_wanted_port_is_taken_where_it_is_free() -> None:
    assert free_port("key", (), 8000, free=lambda port: True) == 8000
    assert free_port("key", {8000}, 8000, free=lambda port: True) >= FIRST
    assert free_port("key", (), 8000, free=lambda port: port != 8000) >= FIRST


def test_a_listener_on_any_address_makes_a_port_taken() -> None:
    for address in ("127.0.0.1", ""):
        with socket.create_server((address, 0)) as server:
            port = server.getsockname()[1]
            assert not is_free(port)
        assert is_free(port)


def test_connections_that_are_only_just_closed_do_not_keep_a_server_from_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        assert not is_reusable(port)
        accepted.close()  # who closes first has to remember the connection for a while
        assert client.recv(1) == b""
        client.close()
    assert not is_free(port)
    assert is_reusable(port)


def test_no_free_port_is_an_error_with_the_range() -> None:
    with pytest.raises(EnvironmentFault, match="no port from 20000 to 32767 is free"):
        free_port("key", (), free=lambda port: False)
