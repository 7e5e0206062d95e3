"""Which names a server answers to, so that no web page reaches it under a name of its own.

A page of `evil.example` may have its name resolve to 127.0.0.1 ("DNS rebinding"); its requests
then say `Host: evil.example`. Addresses cannot be rebound, names can.
"""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address

LOCAL, LOOPBACK = "localhost", "127.0.0.1"
_EVERY = {"0.0.0.0": LOOPBACK, "::": "[::1]"}


def reached_at(host: str) -> str:
    """How URLs of this machine write an address that a program listens on."""
    return _EVERY.get(host) or (f"[{host}]" if ":" in host else host)


class Hosts:
    """The names of one server: those of this machine's loopback, and those it was given.

    Args:
        names: as `gpu-box` or `gpu-box:7077`; with a port only that one counts.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._given = frozenset(name.lower().rstrip(".") for name in names)

    def answers_to(self, authority: str, address: tuple[str, int]) -> bool:
        """Whether a request for `authority` is meant for this server.

        Args:
            authority: the header `Host`, with or without a port.
            address: address and port that the request came in by.
        """
        host, _ = split(authority)
        return host in self._given or authority.lower() in self._given or is_own(host, address[0])

    def is_address_of(self, authority: str, address: tuple[str, int]) -> bool:
        """The same, and the port has to be right too: for a proof of who answers."""
        host, port = split(authority)
        if authority.lower() in self._given:
            return True
        return port == address[1] and (host in self._given or is_own(host, address[0]))


def is_own(host: str, address: str) -> bool:
    """Whether a host names this machine's loopback, or the address that a request came in by."""
    if host == LOCAL or host.endswith(f".{LOCAL}"):
        return True
    try:
        found = plain(host)
        return found.is_loopback or found == plain(address)
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to an address that a server listens on."""
    try:
        return plain(host).is_loopback
    except ValueError:
        return host == LOCAL


def plain(address: str) -> IPv4Address | IPv6Address:
    """An address; one of IPv4 that came in by a socket of IPv6 as that of IPv4.

    Raises:
        ValueError: it is none.
    """
    found = ip_address(address)
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def split(authority: str) -> tuple[str, int]:
    """Host, in lower case and without brackets, and port of a `Host` header; 80 = not given."""
    host, colon, port = authority.lower().rpartition(":")
    if not colon or not port.isascii() or not port.isdigit():
        host, port = authority.lower(), "80"
    return host.strip("[]").rstrip("."), int(port)


def is_foreign(headers: Mapping[str, str], authority: str) -> bool:
    """Whether a browser says that a page of another origin asks (W3C Fetch Metadata, RFC 6454).

    Args:
        headers: of the request; names in any case.
        authority: its `Host`.
    """
    if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return True
    origin = headers.get("Origin")
    return origin is not None and origin.partition("://")[2].lower() != authority.lower()
