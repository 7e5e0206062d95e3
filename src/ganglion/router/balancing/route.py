"""Which service a request is for, from its host and its path."""

from collections.abc import Container

from msgspec import Struct


class Route(Struct, frozen=True):
    """Target of a request.

    Attributes:
        service: name of the service.
        prefix: `/NAME` when the path began with it; empty = the host named the service.
        rest: the path without the prefix, with the query, percent-encoded as it came.
    """

    service: str
    prefix: str
    rest: str

    def path(self, *, keep_prefix: bool) -> str:
        """Path and query for replicas."""
        return self.prefix + self.rest if keep_prefix else self.rest


def locate(services: Container[str], host: str, target: str) -> Route | None:
    """Return the route of a request; None = it addresses no service.

    A host like `NAME.localhost:7078` wins over a path like `/NAME/...`.

    Args:
        services: names.
        host: as the request says, with or without a port.
        target: of the request line, `/path?query` or with scheme and host before it.
    """
    path = _path(target)
    first, dot, others = host.partition(".")
    numeric = others.partition(":")[0].replace(".", "").isdigit()
    if dot and not numeric and first in services:
        return Route(first, "", path)
    name = path[1:].partition("?")[0].partition("/")[0]
    if not path.startswith("/") or name not in services:
        return None
    rest = path[1 + len(name) :]
    return Route(name, f"/{name}", rest if rest.startswith("/") else f"/{rest}")


def _path(target: str) -> str:
    if target.startswith("/") or "://" not in target:
        return target
    after = target.partition("://")[2]
    cut = min((at for at in (after.find("/"), after.find("?")) if at >= 0), default=len(after))
    rest = after[cut:]
    return rest if rest.startswith("/") else f"/{rest}"
