"""Many workloads at once: one request, one commit on the server, and what was refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack
from uuid import uuid4

import msgspec

from ganglion.api.bulk import BatchAnswer, BulkAnswer
from ganglion.client.calls.placed import placed
from ganglion.client.filters import Filters, body_of
from ganglion.client.http import Http

Document = Mapping[str, Any]

MOST_DOCUMENTS = 1_000
MOST_BYTES = 900_000
"""Most of one request; the server takes 1,000 documents and 1 MiB."""


class Bulk:
    """The part of a `Client` that is about many workloads at once.

    Verbs take ids, names or unique prefixes (`refs`), and filters; with neither they are refused,
    with `everything` they mean every live workload. With `dry_run` they only say which.

    Args:
        http: the client's connection.
    """

    def __init__(self, http: Http) -> None:
        self._http = http

    def submit(
        self, documents: Iterable[Document], *, key: str = "", force: bool = False
    ) -> BatchAnswer:
        """Submit many workloads; what is refused of one leaves the others alone.

        Args:
            documents: keys as in a workload file.
            key: idempotency key; the same key never submits twice. Made up when empty.
            force: submit also what could never start as things are.
        """
        key = key or uuid4().hex
        found = BatchAnswer()
        for number, part in enumerate(_parts(documents)):
            answer = self._http.call(
                "POST",
                "/workloads:submit",
                BatchAnswer,
                body={"workloads": part, "force": force},
                key=f"{key}.{number}",
            )
            found.accepted += answer.accepted
            found.refused += answer.refused
            found.items += answer.items
        return found

    def cancel(
        self,
        refs: Sequence[str] = (),
        *,
        everything: bool = False,
        dry_run: bool = False,
        force: bool = False,
        **filters: Unpack[Filters],
    ) -> BulkAnswer:
        """Stop workloads: gently, or at once with `force`."""
        body = _selection(refs, filters, everything=everything, dry_run=dry_run)
        return self._call("cancel", body | {"force": force})

    def update(
        self,
        refs: Sequence[str] = (),
        *,
        changes: Mapping[str, Any],
        everything: bool = False,
        dry_run: bool = False,
        **filters: Unpack[Filters],
    ) -> BulkAnswer:
        """Change live workloads; `changes` has the keys of `Client.update`."""
        body = _selection(refs, filters, everything=everything, dry_run=dry_run)
        return self._call("update", body | {"changes": dict(changes)})

    def suspend(
        self,
        refs: Sequence[str] = (),
        *,
        everything: bool = False,
        dry_run: bool = False,
        **filters: Unpack[Filters],
    ) -> BulkAnswer:
        """Stop workspaces until they are resumed."""
        body = _selection(refs, filters, everything=everything, dry_run=dry_run)
        return self._call("suspend", body)

    def resume(
        self,
        refs: Sequence[str] = (),
        *,
        everything: bool = False,
        dry_run: bool = False,
        **filters: Unpack[Filters],
    ) -> BulkAnswer:
        """Let suspended workspaces start again."""
        body = _selection(refs, filters, everything=everything, dry_run=dry_run)
        return self._call("resume", body)

    def _call(self, verb: str, body: dict[str, Any]) -> BulkAnswer:
        return self._http.call("POST", f"/workloads:{verb}", BulkAnswer, body=body)


def _selection(
    refs: Sequence[str], filters: Filters, *, everything: bool, dry_run: bool
) -> dict[str, Any]:
    body: dict[str, Any] = {"workloads": list(refs), "dry_run": dry_run}
    given = body_of(filters)
    if given or everything:
        body["filter"] = given
    return body


def _parts(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Cut a batch into requests that the server takes."""
    part, size = list[Document](), 0
    for document in map(placed, documents):
        more = len(msgspec.json.encode(document)) + 1
        if part and (len(part) == MOST_DOCUMENTS or size + more > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(document)
        size += more
    if part:
        yield part
