"""Tables that contradict themselves are refused by name."""

import msgspec
import pytest

from ganglion.model.errors import FieldError
from ganglion.router.balancing.table import (
    ReplicaEndpoint,
    RoutedService,
    RoutingTable,
    check,
    split_address,
)


def table(*services: RoutedService) -> RoutingTable:
    return RoutingTable(1, services)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (table(RoutedService("a"), RoutedService("a")), "services: 'a' is there twice"),
        (table(RoutedService("")), "services: '' cannot be part of a URL"),
        (table(RoutedService("-")), "services: '-' cannot be part of a URL"),
        (table(RoutedService("a/b")), "services: 'a/b' cannot be part of a URL"),
        (table(RoutedService("é")), "services: 'é' cannot be part of a URL"),
        (
            table(
                RoutedService("a", (ReplicaEndpoint("a/0", "h:1"), ReplicaEndpoint("a/0", "h:2")))
            ),
            "services.a.endpoints: 'a/0' is there twice",
        ),
        (
            table(RoutedService("a", (ReplicaEndpoint("a/0", "nowhere"),))),
            "services.a.a/0.address: 'nowhere' is no address",
        ),
        (
            table(RoutedService("a", (ReplicaEndpoint("a/0", "host:70000"),))),
            "services.a.a/0.address: 'host:70000' is no address",
        ),
    ],
)
def test_a_wrong_table_is_refused_by_name(wrong: RoutingTable, said: str) -> None:
    with pytest.raises(FieldError) as caught:
        check(wrong)
    assert str(caught.value) == said


def test_addresses_have_a_host_and_a_port() -> None:
    assert split_address("127.0.0.1:80") == ("127.0.0.1", 80)
    assert split_address("[::1]:8000") == ("::1", 8000)


def test_a_table_survives_the_wire() -> None:
    whole = table(
        RoutedService(
            "chat", (ReplicaEndpoint("chat-1/0", "127.0.0.1:1", models=("m",)),), health="/h"
        )
    )
    assert msgspec.json.decode(msgspec.json.encode(whole), type=RoutingTable) == whole
