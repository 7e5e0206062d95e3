"""Which user of this machine made a TCP connection, as the kernel reports it (sock_diag(7))."""

import socket
import struct

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY, _REQUEST = 20, 1
_HEADER = struct.Struct("=IHHII")
"""`struct nlmsghdr`: length, type, flags, sequence, port."""
_QUESTION = struct.Struct("=BBBxI")
"""The head of `struct inet_diag_req_v2`: family, protocol, extensions, states."""
_ANY_STATE = 0xFFFF_FFFF
_ENDS = struct.Struct("!HH16s16s12s")
"""`struct inet_diag_sockid`: ports, addresses, interface and cookie."""
_NO_COOKIE = bytes(4) + b"\xff" * 8
_ANSWER = struct.Struct("=4x48x12xII")
"""The tail of `struct inet_diag_msg`: user and inode."""
PATIENCE_S = 1.0


def owner_of(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """The user whose process made a connection to this one; None = not known.

    A socket that its process has closed already belongs to no user, though the kernel says 0.

    Args:
        peer: address and port of the other end.
        own: address and port of this end.
    """
    family = socket.AF_INET6 if ":" in peer[0] else socket.AF_INET
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as asked:
            asked.settimeout(PATIENCE_S)
            asked.sendto(_question(family, peer, own), (0, 0))
            said = asked.recv(4_096)
    except (OSError, AttributeError):  # not Linux, or a sandbox without it
        return None
    if len(said) < _HEADER.size + _ANSWER.size or _HEADER.unpack_from(said)[1] != _BY_FAMILY:
        return None
    uid, inode = _ANSWER.unpack_from(said, _HEADER.size)
    return int(uid) if inode else None


def _question(family: int, peer: tuple[str, int], own: tuple[str, int]) -> bytes:
    ends = _ENDS.pack(
        peer[1], own[1], _packed(family, peer[0]), _packed(family, own[0]), _NO_COOKIE
    )
    body = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, _ANY_STATE) + ends
    return _HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST, 1, 0) + body


def _packed(family: int, address: str) -> bytes:
    return socket.inet_pton(family, address.partition("%")[0]).ljust(16, b"\0")
