"""Access rules of services as the router gets them, and the tickets that admit browsers."""

import hmac
import os
import pwd
from pathlib import Path

from msgspec.structs import replace

from ganglion.model.behaviour import Access
from ganglion.model.errors import EnvironmentFault
from ganglion.model.workload import Workload
from ganglion.router.balancing.table import CallerAccess, RoutedService
from ganglion.router.proxy.tickets import TICKET, ticket
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import exists, replace_whole

FILE = "router.key"
KEY_BYTES = 32


def access_of(workload: Workload, id: str) -> CallerAccess:
    """Who may reach a workload; its key is made where the secret is (`Keys.sealed`).

    Args:
        workload: a service or workspace.
        id: of the workload.
    """
    if workload.access.anyone:
        return CallerAccess()
    users = (os.geteuid(), *(uid for name in workload.access.users if (uid := _uid(name)) >= 0))
    return CallerAccess(
        id, tuple(dict.fromkeys(users)), workload.access.groups, workload.access.keys, id
    )


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
        by_key: whether keys let anyone in; False = only roles and users of this machine count.
        effects: files, chance, the clock.

    Raises:
        EnvironmentFault: the secret can neither be read nor written.
    """

    def __init__(
        self, home: Path | None = None, effects: Effects = SYSTEM, *, by_key: bool = True
    ) -> None:
        self._clock, self._by_key = effects.clock, by_key
        made = effects.randomness.token_bytes(KEY_BYTES)
        self._secret = _secret(home / FILE, made, effects) if home else made

    def key(self, id: str) -> str:
        """The key of a workload, which is its token too."""
        return hmac.new(self._secret, id.encode(), "sha256").hexdigest()

    def sealed(self, service: RoutedService) -> RoutedService:
        """A service with its key in place of the id that `access_of` has put there."""
        given = service.access
        if not given.key:
            return service
        by_key = given.by_key and self._by_key
        return replace(service, access=replace(given, key=self.key(given.key), by_key=by_key))

    def opened(self, id: str, url: str, access: Access) -> tuple[str, str]:
        """An address that lets one browser in, once, and the token of a workload.

        Where keys let no caller in, the plain address, and an empty token.
        """
        if not (self._by_key and access.keys):
            return url, ""
        made = ticket(self.key(id), self._clock.now_ns() / 1e9)
        return f"{url}?{TICKET}={made}", self.key(id)


def _secret(path: Path, made: bytes, effects: Effects) -> bytes:
    """What the file holds; a new one, which holds `made`, where there is none."""
    try:
        if not exists(effects.files, path):
            replace_whole(effects.files, path, made.hex().encode(), effects.processes.own())
        found = bytes.fromhex(effects.files.read(path).decode("ascii"))
    except (OSError, ValueError) as error:
        raise EnvironmentFault(
            f"cannot use {path}: {error}", "remove the file; a new one is made"
        ) from error
    if len(found) != KEY_BYTES:
        raise EnvironmentFault(f"{path} is cut off", "remove the file; a new one is made")
    return found
