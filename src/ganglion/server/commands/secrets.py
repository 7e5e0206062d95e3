"""Secrets of workloads: what is kept of a submission, what it needs, and when that goes."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from ganglion.engine.gangs.record import HOLDING
from ganglion.model.errors import FieldError
from ganglion.model.events import Event, GangEnded, ScheduleRemoved
from ganglion.server.state.transaction import Transaction
from ganglion.specs.workload.workload import WorkloadFile, document, references
from ganglion.worlds.local.run_files.secret_store import (
    ATTEMPTS,
    SCHEDULES,
    WORKLOADS,
    SecretStore,
    attempt_key,
)


def kept_document(file: WorkloadFile) -> dict[str, object]:
    """A workload file as the ledger keeps it: with the names of secrets, without their values."""
    kept = document(file)
    names = dict.fromkeys(references(file))
    if names:
        kept.pop("env", None)
        env = {name: value for name, value in file.env.items() if name not in names}
        kept |= {"secrets": names} | ({"env": env} if env else {})
    return kept


def digest_of(file: WorkloadFile, raw: bytes) -> str:
    """By which a repeated submission is recognised; no value of a secret can be guessed from it."""
    if references(file):
        raw = msgspec.json.encode(kept_document(file), order="deterministic")
    return sha256(raw).hexdigest()


def needed(
    store: SecretStore, file: WorkloadFile, user: str, others: Mapping[str, str] = {}
) -> dict[str, str]:
    """Values to keep for a workload: those of its secrets that are not kept by name.

    Args:
        store: of the server's home.
        file: what was submitted.
        user: whose it is.
        others: values from elsewhere, for names without one.

    Raises:
        FieldError: a value is known nowhere.
    """
    wanted = references(file)
    if not wanted:
        return {}
    stored = {each.name for each in store.stored(user)}
    for name, value in wanted.items():
        if value is None and name not in others and name not in stored:
            raise FieldError(
                f"the variable {name} is not set in your shell, and no secret of that name is kept",
                key="secrets",
                hint=f"`export {name}=...` first, or `ganglion secret set {name}`",
            )
    given = {name: others.get(name) if value is None else value for name, value in wanted.items()}
    return {name: value for name, value in given.items() if value is not None}


class SecretsKeeper:
    """Forgets the secrets of what is over; see `keepers.Keeper`.

    Args:
        store: of the server's home.
    """

    name = "secrets"

    def __init__(self, store: SecretStore) -> None:
        self._store = store
        self.forget()

    def note(self, event: Event) -> None:
        """Remember what may have to go."""
        if self._all:
            return  # the first look finds all of it
        match event:
            case GangEnded():
                self._due.add((ATTEMPTS, attempt_key(event.gang, event.attempt)))
                if not event.requeue:
                    self._due.add((WORKLOADS, event.gang.rpartition("/")[0]))
            case ScheduleRemoved():
                self._due.add((SCHEDULES, event.name))

    def forget(self) -> None:
        """Every event comes again; look at everything that is kept."""
        self._all, self._due = True, set[tuple[str, str]]()

    def memory(self) -> None:
        """After `forget` it looks at everything that is kept."""

    def recall(self, memory: None) -> None:
        """As above."""

    def tend(self, draft: Transaction) -> int | None:
        """Remove what nothing needs any more, once the turn is written."""
        if self._all:
            folders = (WORKLOADS, SCHEDULES, ATTEMPTS)
            self._due = {(each, key) for each in folders for key in self._store.keys(each)}
            self._all = False
        gone = [each for each in sorted(self._due) if not _is_needed(draft, *each)]
        self._due.clear()
        if gone:
            draft.orders.append(lambda _world: self._drop(gone))
        return None

    def _drop(self, gone: list[tuple[str, str]]) -> None:
        for folder, key in gone:
            self._store.drop(folder, key)


def _is_needed(draft: Transaction, folder: str, key: str) -> bool:
    if folder == SCHEDULES:
        return key in draft.book.schedules.live
    if folder == WORKLOADS:
        return key in draft.book.entries and draft.book.ended_at(key) is None
    gang, _, attempt = key.rpartition(".")
    record = draft.state.gangs.records.get(gang)
    return record is not None and record.phase in HOLDING and str(record.attempt) == attempt
