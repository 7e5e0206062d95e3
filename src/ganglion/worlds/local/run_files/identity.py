"""Which home on which machine this is."""

import socket
from pathlib import Path

from ganglion.model.errors import EnvironmentFault
from ganglion.model.executor import Executor
from ganglion.seams.randomness import SYSTEM_RANDOMNESS, unique_id
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records

FILE = "home-id"


def identify(home: Path) -> Executor:
    """Identify a home; its id is made at the first call and kept in it.

    A copy of a home that is still there is another home, and has an id of its own from now on.

    Raises:
        EnvironmentFault: the home cannot be written.
    """
    path = home.resolve()
    try:
        known = records.read(path / FILE) or {}
        if known.get("path") != str(path):
            if not known or _has(Path(str(known["path"])), known["id"]):
                known = {"id": unique_id(SYSTEM_RANDOMNESS)}
            known = {"id": known["id"], "path": str(path)}
            records.write(path / FILE, known, durable=True)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {path / FILE}: {error.strerror}", "check space and permissions"
        ) from error
    return Executor(
        str(known["id"]), str(path), host.machine_id(), host.boot_id(), socket.gethostname()
    )


def _has(folder: Path, home: str) -> bool:
    """Whether a folder is the home of this id. One that cannot be read is taken for it."""
    try:
        return (records.read(folder / FILE) or {}).get("id") == home
    except OSError:
        return True
