"""What is submitted anew: by the clock, or because it failed."""

from typing import Any
from urllib.parse import quote
from uuid import uuid4

from ganglion.api.schedules import SchedulePage, ScheduleView
from ganglion.api.workloads import Accepted
from ganglion.client.http import Http


class Again:
    """The part of a `Client` that is about submitting anew.

    Args:
        http: the client's connection.
    """

    def __init__(self, http: Http) -> None:
        self._http = http

    def schedules(self) -> tuple[ScheduleView, ...]:
        """List what is submitted again and again, the next to come first."""
        return self._http.call("GET", "/schedules", SchedulePage).items

    def remove_schedule(self, name: str) -> None:
        """Take a schedule back; what it has begun goes on."""
        self._http.call("DELETE", f"/schedules/{quote(name, safe='')}", Any)

    def retry(self, ref: str, *, key: str = "") -> Accepted:
        """Submit what failed of a workload once more, as a workload of its own.

        Args:
            ref: id, unique prefix, or name of the workload.
            key: idempotency key; the same key never submits twice. Made up when empty.
        """
        path = f"/workloads/{quote(ref, safe='')}/retry"
        return self._http.call("POST", path, Accepted, key=key or uuid4().hex)
