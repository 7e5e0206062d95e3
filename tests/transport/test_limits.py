"""How many callers are let in."""

import resource

import pytest

from ganglion.transport import limits
from ganglion.transport.limits import BACKLOG, FEWEST, RESERVE, CallerLimit, affordable


def test_one_address_gets_half_of_the_room_and_all_get_all() -> None:
    gate = CallerLimit(10)
    assert [gate.enter("127.0.0.1") for _ in range(6)] == [True] * 5 + [False]
    assert [gate.enter("127.0.0.2") for _ in range(6)] == [True] * 5 + [False]
    assert not gate.enter("127.0.0.3")
    assert (gate.inside, gate.refused) == (10, 3)
    gate.leave("127.0.0.1")
    assert gate.enter("127.0.0.3")


def test_the_addresses_of_one_subnet_are_one_of_ipv6() -> None:
    gate = CallerLimit(2)
    assert gate.enter("2001:db8:0:1::1%eth0")
    assert not gate.enter("2001:db8:0:1:ffff::2")
    assert gate.enter("2001:db8:0:2::1")


def test_who_leaves_leaves_nothing_behind() -> None:
    gate = CallerLimit(1_000)
    for number in range(400):
        gate.enter(f"10.0.{number // 256}.{number % 256}")
    for number in range(400):
        gate.leave(f"10.0.{number // 256}.{number % 256}")
    assert gate.inside == 0
    assert not gate._by_address


@pytest.mark.parametrize(
    ("files", "room"), [(20_000, 2_048), (1_024, 1_024 - BACKLOG - RESERVE), (256, FEWEST)]
)
def test_more_than_there_are_files_for_are_never_let_in(
    monkeypatch: pytest.MonkeyPatch, files: int, room: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert affordable(2_048) == room


def test_the_soft_limit_becomes_the_hard_one() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft // 2, hard))
        assert limits.raise_file_limit() == soft // 2
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
