"""Values of secrets, in files that only their owner may read; neither ledger nor specs hold them.

`secrets/stored/<user>.json` what users keep by name, `secrets/workloads/<id>.json` and
`secrets/schedules/<name>.json` what came with a submission, `secrets/attempts/<gang>.<n>.json`
what the processes of an attempt get.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec import Struct

from ganglion.model.credentials import is_credential
from ganglion.model.errors import EnvironmentFault, NotFound
from ganglion.model.workload import Workload
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.run_files.withheld import WITHHELD

WORKLOADS, SCHEDULES, ATTEMPTS, STORED = "workloads", "schedules", "attempts", "stored"


class StoredSecret(Struct, frozen=True):
    """A secret that is kept by name; its value is never returned.

    Attributes:
        name: as workloads refer to it.
        at: when it was set, in ms.
    """

    name: str
    at: int


class SecretStore:
    """The secrets of one home. Safe from any thread.

    Args:
        home: Ganglion's home directory.
    """

    def __init__(self, home: Path) -> None:
        self._root, self._lock = home.absolute() / "secrets", threading.Lock()

    # --- kept by name -----------------------------------------------------------------------

    def set(self, user: str, name: str, value: str, now: int) -> None:
        """Keep a value until it is removed. Raises EnvironmentFault when the disk refuses."""
        with self._lock:
            kept = self._read(STORED, user) | {name: {"value": value, "at": now}}
            self._write(STORED, user, kept)

    def remove(self, user: str, name: str) -> None:
        """Forget a value. Raises NotFound when there is none."""
        with self._lock:
            kept = self._read(STORED, user)
            if kept.pop(name, None) is None:
                raise NotFound(f"there is no secret {name}", "see: ganglion secret list")
            self._write(STORED, user, kept)

    def stored(self, user: str) -> list[StoredSecret]:
        """Secrets of a user by name; no values."""
        kept = self._read(STORED, user)
        return [StoredSecret(name, each["at"]) for name, each in sorted(kept.items())]

    def value(self, user: str, name: str) -> str | None:
        """A value that a user keeps by name; None = there is none."""
        found: str | None = self._read(STORED, user).get(name, {}).get("value")
        return found

    # --- of submissions ---------------------------------------------------------------------

    def keep(self, folder: str, key: str, values: Mapping[str, str]) -> None:
        """Keep what came with a workload, a schedule or an attempt, in place of what was kept.

        Raises:
            EnvironmentFault: the disk refuses.
        """
        if values:
            self._write(folder, key, dict(values))
        else:
            self.drop(folder, key)

    def given(self, folder: str, key: str) -> dict[str, str]:
        """What came with a workload or schedule."""
        return self._read(folder, key)

    def drop(self, folder: str, key: str) -> None:
        """Forget what came with it; nothing happens when nothing did."""
        host.remove(self._path(folder, key))

    def keys(self, folder: str) -> Iterator[str]:
        """Everything in a folder for which values are kept."""
        for name in host.names(self._root / folder):
            if name.endswith(".json"):
                yield unquote(name.removesuffix(".json"))

    # --- of attempts ------------------------------------------------------------------------

    def values_of(self, workload_id: str, workload: Workload) -> dict[str, str]:
        """Values of a workload's secrets: those that came with it, else those kept by name.

        Raises:
            NotFound: one of them was removed.
        """
        names = workload.run.secrets
        if not names:
            return {}
        kept = self._read(STORED, workload.user)
        found = {name: each["value"] for name, each in kept.items()}
        found |= self.given(WORKLOADS, workload_id)
        missing = [name for name in names if name not in found]
        if missing:
            hint = f"set it again: ganglion secret set {missing[0]}"
            raise NotFound(f"the secret {missing[0]} was removed", hint)
        return {name: found[name] for name in names}

    def withhold(self, gang: str, spec: Record, values: Mapping[str, str]) -> None:
        """Move what looks like a credential from the spec of an attempt into a file of its own.

        Args:
            gang: its gang.
            spec: of the attempt; changed.
            values: of the workload's secrets.

        Raises:
            EnvironmentFault: the disk refuses.
        """
        taken = _taken([spec["env"]]) | without_credentials(spec["pods"]) | dict(values)
        if taken:
            key = attempt_key(gang, spec["attempt"])
            self.keep(ATTEMPTS, key, taken)
            spec[WITHHELD] = str(self._path(ATTEMPTS, key))

    # --- files ------------------------------------------------------------------------------

    def _path(self, folder: str, key: str) -> Path:
        return self._root / folder / f"{quote(key, safe='')}.json"

    def _read(self, folder: str, key: str) -> Record:
        return records.read(self._path(folder, key)) or {}

    def _write(self, folder: str, key: str, record: Record) -> None:
        path = self._path(folder, key)
        try:
            for each in (self._root, path.parent):
                host.make_folder(each)
                host.files.chmod(each, 0o700)
            records.write(path, record, durable=True)
        except OSError as error:
            raise EnvironmentFault(
                f"cannot keep secrets in {path.parent}: {error.strerror}",
                "check space and permissions",
            ) from error


def attempt_key(gang: str, attempt: int) -> str:
    """By which the credentials of an attempt are kept."""
    return f"{gang}.{attempt}"


def without_credentials(pods: Iterable[Record]) -> dict[str, str]:
    """Remove what looks like a credential from the environments of pods, and return it."""
    return _taken(rank["env"] for pod in pods for rank in pod["ranks"])


def _taken(environments: Iterable[dict[str, str]]) -> dict[str, str]:
    taken: dict[str, str] = {}
    for env in environments:
        names = [name for name, value in env.items() if is_credential(name, value)]
        taken |= {name: env.pop(name) for name in names}
    return taken
