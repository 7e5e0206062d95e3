"""Where the router of a server listens, and the door that leads to it."""

from functools import partial
from pathlib import Path

from msgspec import Struct

from ganglion.router.link import RouterLink
from ganglion.seams.processes import Processes
from ganglion.server.signals.access import Keys
from ganglion.server.signals.router_link import Door
from ganglion.transport.tls.files import TlsFiles

LAST_PORT = 65_535


class RouterPlace(Struct, frozen=True):
    """Where a server has its services reached.

    Attributes:
        home: Ganglion's home directory.
        host: address to listen on.
        server_port: port of the server; 0 = any free one.
        port: of services; None = the one after that of the server.
        host_names: names that requests may address it by, beside those of loopback.
    """

    home: Path
    host: str
    server_port: int
    port: int | None = None
    host_names: tuple[str, ...] = ()


def door_of(place: RouterPlace, keys: Keys, tls: TlsFiles | None, session_cookie: str) -> Door:
    """Make the door to a router, which is started once a service needs it.

    Args:
        place: where the router listens.
        keys: of services.
        tls: certificate and key that callers are shown; None = they speak plain HTTP.
        session_cookie: name of the cookie of browsers that are signed in; empty = there are none.
    """
    link = partial(
        RouterLink,
        place.home,
        place.host,
        _beside(place.server_port, place.port),
        hosts=place.host_names,
        tls=tls,
        session_cookie=session_cookie,
    )
    return Door(link, keys.sealed)


def unreached(place: RouterPlace, door: Door, processes: Processes) -> str:
    """What a person should know who starts a server whose services cannot be reached.

    Args:
        place: where the router is to listen.
        door: leads to the router.
        processes: name the one that has the port.

    Returns:
        the line; empty = nothing is wrong.
    """
    trouble = door.blocked()
    if not trouble:
        return ""
    port = _beside(place.server_port, place.port)
    holder = processes.listener(port)
    by = f" ({holder})" if holder else ""
    which = "" if place.port is not None else "; it is the one after --port"
    return (
        f"services and workspaces start, but have no address: {trouble}{by}{which}."
        " They get one once it is free; another port: ganglion up --services-port PORT"
    )


def _beside(port: int, wanted: int | None) -> int:
    """The port that is wanted, else the one after another; any free one beside any free one."""
    return wanted if wanted is not None else port + 1 if 0 < port < LAST_PORT else 0
