"""Access rules of services as the router gets them, and the tickets that admit browsers."""

import hmac
import os
import pwd
import secrets
import time
from pathlib import Path

from msgspec.structs import replace

from ganglion.model.errors import EnvironmentFault
from ganglion.model.workload import Workload
from ganglion.router.balancing.table import Access, Service
from ganglion.router.proxy.tickets import TICKET, ticket

FILE = "router.key"
KEY_BYTES = 32


def access_of(workload: Workload, id: str) -> Access:
    """Who may reach a workload; its key is made where the secret is (`Keys.sealed`).

    Args:
        workload: a service or workspace.
        id: of the workload.
    """
    if workload.access.anyone:
        return Access()
    users = (os.geteuid(), *(uid for name in workload.access.users if (uid := _uid(name)) >= 0))
    return Access(id, tuple(dict.fromkeys(users)), workload.access.groups)


def _uid(name: str) -> int:
    """Number of a user; -1 = there is none of that name."""
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return -1


class Keys:
    """The keys of services, made from one secret in the home: they outlive every process.

    Args:
        home: Ganglion's home directory; None = the secret is forgotten at the end.

    Raises:
        EnvironmentFault: the secret can neither be read nor written.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._secret = _secret(home / FILE) if home else secrets.token_bytes(KEY_BYTES)

    def key(self, id: str) -> str:
        """The key of a workload, which is its token too."""
        return hmac.new(self._secret, id.encode(), "sha256").hexdigest()

    def sealed(self, service: Service) -> Service:
        """A service with its key in place of the id that `access_of` has put there."""
        given = service.access
        if not given.key:
            return service
        return replace(service, access=replace(given, key=self.key(given.key)))

    def opened(self, id: str, url: str) -> str:
        """An address that lets one browser in, once."""
        return f"{url}?{TICKET}={ticket(self.key(id), time.time())}"


def _secret(path: Path) -> bytes:
    try:
        if not path.exists():
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(KEY_BYTES))
        found = bytes.fromhex(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise EnvironmentFault(
            f"cannot use {path}: {error}", "remove the file; a new one is made"
        ) from error
    if len(found) != KEY_BYTES:
        raise EnvironmentFault(f"{path} is cut off", "remove the file; a new one is made")
    return found
