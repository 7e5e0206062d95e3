"""Which addresses the server fetches from when a user names the URL.

A URL of a workload file could have the server ask what only the server reaches: services of its
own machine and network, metadata of its cloud. The name is resolved here, the address is checked,
and the connection is made to that very address: another answer of the name server changes nothing.
"""

import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import anyio
import httpcore2
import httpx2

CLUSTER = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
"""Networks of pods and Services: a cluster's scheduler asks there, but not its own machine, and
no link-local address, where clouds keep their metadata."""
HINT = "allow it: ganglion up --allow-url HOST, or a network, as 10.0.0.0/8"


class Egress:
    """What may be asked: public addresses, and what was allowed.

    Args:
        allowed: names of hosts, addresses and networks.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._hosts: set[str] = set()
        self._networks: list[IPv4Network | IPv6Network] = []
        for each in allowed:
            try:
                self._networks.append(ip_network(each, strict=False))
            except ValueError:
                self._hosts.add(each.lower().rstrip("."))

    def may(self, host: str, address: str) -> bool:
        """Whether an address may be asked that a host has."""
        if host.lower().rstrip(".") in self._hosts:
            return True
        found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
        if isinstance(found, IPv6Address) and found.ipv4_mapped:
            found = found.ipv4_mapped
        if any(found.version == each.version and found in each for each in self._networks):
            return True
        return found.is_global and not found.is_multicast

    def chosen(self, host: str, addresses: Sequence[str]) -> str:
        """The address to connect to.

        Raises:
            httpcore2.ConnectError: the name has one that may not be asked; all of them have to be
                allowed, as another one may be given next time.
        """
        for each in addresses:
            if not self.may(host, each):
                where = host if host == each else f"{host} ({each})"
                raise httpcore2.ConnectError(f"{where} is a private address; {HINT}")
        return addresses[0]


class _Checked(httpcore2.AnyIOBackend):
    """Resolves a name, checks its addresses, and connects to one of them."""

    def __init__(self, egress: Egress) -> None:
        super().__init__()
        self._egress = egress

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            with anyio.fail_after(timeout):
                found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(f"cannot resolve {host}: {error}") from error
        address = self._egress.chosen(host, [str(each[4][0]) for each in found])
        return await super().connect_tcp(address, port, timeout, local_address, socket_options)


class CheckedTransport(httpx2.AsyncHTTPTransport):
    """Requests to what may be asked; redirects are not followed by httpx2 itself.

    Args:
        egress: what may be asked.
        most: connections at once.
    """

    def __init__(self, egress: Egress, most: int) -> None:
        super().__init__(trust_env=False)
        # httpx2 has no argument for the backend, so that its pool is replaced.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpcore2.default_ssl_context(),
            max_connections=most,
            network_backend=_Checked(egress),
        )
