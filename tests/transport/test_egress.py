"""URLs that users name lead to public addresses, or to what was allowed."""

import asyncio
import socket

import httpx2
import pytest

from ganglion.transport.egress import CLUSTER, CheckedTransport, Egress


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.20.0.1", False),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("fd00:ec2::254", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
    ],
)
def test_only_public_addresses_are_asked(address: str, may: bool) -> None:
    assert Egress().may("prometheus", address) is may


def test_what_was_allowed_is_asked_and_nothing_beside_it() -> None:
    egress = Egress(["Prometheus.lan", "10.0.0.0/8", "192.168.1.7"])
    assert egress.may("prometheus.lan.", "172.16.0.1")
    assert egress.may("x", "10.255.0.1")
    assert egress.may("x", "::ffff:10.255.0.1")
    assert egress.may("x", "192.168.1.7")
    assert not egress.may("x", "192.168.1.8")
    assert not egress.may("evil.prometheus.lan", "172.16.0.1")


def test_in_a_cluster_its_networks_are_asked_but_neither_the_machine_nor_metadata() -> None:
    egress = Egress(CLUSTER)
    assert egress.may("prometheus.monitoring.svc", "10.96.3.4")
    assert not egress.may("x", "127.0.0.1")
    assert not egress.may("x", "169.254.169.254")
    assert not egress.may("x", "fe80::1")


def fetch(url: str, egress: Egress) -> int:
    async def story() -> int:
        transport = CheckedTransport(egress, 1)
        async with httpx2.AsyncClient(transport=transport, timeout=10) as client:
            return (await client.get(url)).status_code

    return asyncio.run(story())


def test_the_address_that_was_checked_is_the_one_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name server that answers otherwise the second time is not asked a second time."""
    answers = ["8.8.8.8", "127.0.0.1"]
    asked: list[str] = []

    async def resolve(host: str, port: int, **_: object) -> list[object]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (answers[len(asked) - 1], port))]

    dialled: list[object] = []

    async def dial(**given: object) -> None:
        dialled.append(given["remote_host"])
        raise OSError("no network in tests")

    monkeypatch.setattr("anyio.getaddrinfo", resolve)
    monkeypatch.setattr("anyio.connect_tcp", dial)
    with pytest.raises(httpx2.ConnectError):
        fetch("http://rebinding.example/", Egress())
    assert (asked, dialled) == (["rebinding.example"], ["8.8.8.8"])
    with pytest.raises(httpx2.ConnectError, match=r"rebinding.example \(127.0.0.1\) is a private"):
        fetch("http://rebinding.example/", Egress())
    assert dialled == ["8.8.8.8"]


def test_every_address_of_a_name_has_to_be_allowed() -> None:
    with pytest.raises(Exception, match="private"):
        Egress().chosen("both.example", ["8.8.8.8", "10.0.0.1"])


def test_a_private_address_is_named_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://localhost:{taken.getsockname()[1]}/"
        with pytest.raises(httpx2.ConnectError, match="--allow-url"):
            fetch(url, Egress())
        taken.setblocking(False)
        with pytest.raises(BlockingIOError):
            taken.accept()
