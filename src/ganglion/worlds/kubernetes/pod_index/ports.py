"""Ports of nodes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ganglion.worlds.kubernetes.feasibility.needs import EVERY_ADDRESS, HostPort, Resident


class Ports:
    """Which ports are taken where."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, int], dict[str, dict[str, int]]] = defaultdict(dict)

    def add(self, one: Resident) -> None:
        """A pod came."""
        for each in one.needs.ports:
            by_address = self._taken[each.protocol, each.port].setdefault(one.node, {})
            by_address[each.ip] = by_address.get(each.ip, 0) + 1

    def remove(self, one: Resident) -> None:
        """A pod left."""
        for each in one.needs.ports:
            nodes = self._taken[each.protocol, each.port]
            nodes[one.node][each.ip] -= 1
            if not nodes[one.node][each.ip]:
                del nodes[one.node][each.ip]
            if not nodes[one.node]:
                del nodes[one.node]

    def clashes(self, ports: Iterable[HostPort]) -> Iterator[tuple[str, str]]:
        """Nodes where one of the ports is taken, with that port."""
        for each in ports:
            for node, by_address in self._taken.get((each.protocol, each.port), {}).items():
                if _clash(each.ip, by_address):
                    yield node, _said(each)

    def clash(self, ports: Iterable[HostPort], node: str) -> str:
        """The first of the ports that is taken on a node; empty = none."""
        for each in ports:
            by_address = self._taken.get((each.protocol, each.port), {}).get(node)
            if by_address and _clash(each.ip, by_address):
                return _said(each)
        return ""


def _clash(ip: str, taken: dict[str, int]) -> bool:
    return ip == EVERY_ADDRESS or EVERY_ADDRESS in taken or ip in taken


def _said(port: HostPort) -> str:
    return f"host port {port.protocol} {port.port} is taken"
