"""The routing table: which replicas serve which service, within which limits."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from ganglion.model.errors import FieldError

NAME_MOST = 200
"""Characters of a service's name, which is a part of its URL."""


class RoutingState(StrEnum):
    """What the router may do with a replica."""

    STARTING = "starting"
    """Its process runs; it gets requests as soon as it answers."""
    READY = "ready"
    """It may get requests immediately."""
    DRAINING = "draining"
    """It finishes its requests and gets no new ones."""


class ReplicaEndpoint(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A replica and where it listens.

    Attributes:
        replica: unique within the service, as `chat-3/0`.
        address: `host:port`, with brackets around IPv6.
        state: what the router may do with it.
        models: models that it answers fastest: loaded base models and adapters.
    """

    replica: str
    address: str
    state: RoutingState = RoutingState.STARTING
    models: tuple[str, ...] = ()


class Limits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits of a service.

    Attributes:
        per_replica: most requests in one replica at once; 0 = no bound.
        queue: most requests that wait for a replica; more are answered 429.
        hold_ms: longest that one waits; then it is answered 503.
        body_bytes: largest body of a request; larger ones are answered 413. 0 = no bound.
        connect_ms: longest that a connection to a replica may take to be made.
        silent_ms: longest that a replica may say nothing amid a request; then 504. 0 = no bound.
        tries: most replicas that one request is sent to.
    """

    per_replica: int = 0
    queue: int = 1_024
    hold_ms: int = 120_000
    body_bytes: int = 256 << 20
    connect_ms: int = 2_000
    silent_ms: int = 600_000
    tries: int = 3


class CallerAccess(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Callers of a service.

    Attributes:
        key: secret that lets a caller in as a token, and that tickets and cookies are made with;
            empty = any user may reach it.
        by_key: whether the key, and what is made with it, lets in.
        workload: id of the workload, about which a server decides by role; empty = of none.
        users: numbers of users of this machine who need no token.
        groups: names of groups of this machine whose members need none.
    """

    key: str = ""
    users: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    by_key: bool = True
    workload: str = ""


class RoutedService(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A service or workspace as its callers see it.

    It is reached as `http://ROUTER/NAME/...` and as `http://NAME.ANYTHING:PORT/...`.

    Attributes:
        name: the name in its URL.
        endpoints: its replicas; none = requests wait until there are some.
        limits: its limits.
        health: path that a starting replica answers with 2xx once it is ready; empty = it is
            ready when it takes connections.
        affinity: header whose equal values go to the same replica while that is not overloaded;
            empty = none.
        keep_prefix: whether replicas are sent `/NAME/...` as it came (Jupyter's `base_url`),
            or only what follows the name.
        wakes: whether requests wait while no replica can serve them; False = 503 at once.
        sleeps: while there are no replicas only requests that open a page wait; all others are
            answered 503 at once, so that pages which were left open wake no replica.
        access: its callers.
        late_ms: an answer whose body begins later than this after its request came is late;
            0 = none is.
    """

    name: str
    endpoints: tuple[ReplicaEndpoint, ...] = ()
    limits: Limits = Limits()
    health: str = ""
    affinity: str = ""
    keep_prefix: bool = False
    wakes: bool = True
    sleeps: bool = False
    late_ms: int = 0
    access: CallerAccess = CallerAccess()


class RoutingTable(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Everything that is routed. A table replaces the one before as a whole.

    Attributes:
        version: larger for every new table; the router says in its stats which one is in force.
        services: names are unique.
        hosts: names that requests may address the router by, beside those of loopback; in front of
            each the name of a service may stand.
        session_cookie: name of the cookie of browsers that are signed in at the server; empty =
            there are none.
    """

    version: int = 0
    services: tuple[RoutedService, ...] = ()
    hosts: tuple[str, ...] = ()
    session_cookie: str = ""


def check(table: RoutingTable) -> None:
    """Refuse a table that contradicts itself.

    Raises:
        FieldError: names that are double or cannot be in a URL, addresses that are none.
    """
    _unique((each.name for each in table.services), "services")
    for service in table.services:
        _name(service.name)
        key = f"services.{service.name}"
        _unique((each.replica for each in service.endpoints), f"{key}.endpoints")
        for endpoint in service.endpoints:
            split_address(endpoint.address, f"{key}.{endpoint.replica}.address")


def split_address(address: str, key: str = "address") -> tuple[str, int]:
    """Host and port of an address.

    Raises:
        FieldError: it is none.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise FieldError(f"{address!r} is no address", key=key, hint="as 127.0.0.1:8000")
    return host.strip("[]"), int(port)


def _unique(names: Iterable[str], key: str) -> None:
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise FieldError(f"{double[0]!r} is there twice", key=key)


def _name(name: str) -> None:
    plain = name.isascii() and name.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if not plain or len(name) > NAME_MOST:
        message = f"{name[:NAME_MOST]!r} cannot be part of a URL"
        raise FieldError(message, key="services", hint="use letters, digits, -, _ and .")
