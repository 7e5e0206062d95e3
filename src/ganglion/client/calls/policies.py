"""The part of a client that is about policies and bookings."""

from collections.abc import Mapping
from typing import Any

from ganglion.api.policies import (
    BookingPage,
    BookingView,
    PolicyHistory,
    PolicyOutcome,
    PolicyVersion,
    PolicyView,
)
from ganglion.client.http import Http, path_of

Document = Mapping[str, Any]


class Policies:
    """What decides, what did before, and bookings of nodes.

    Args:
        http: the client's connection.
    """

    def __init__(self, http: Http) -> None:
        self._http = http

    def policy(self, version: int | None = None) -> PolicyView:
        """Return the policy in force, or a former one."""
        path = "/policy" if version is None else f"/policy/versions/{version}"
        return self._http.call("GET", path, PolicyView)

    def policy_versions(self) -> tuple[PolicyVersion, ...]:
        """List every policy that was set, oldest first."""
        return self._http.call("GET", "/policy/versions", PolicyHistory).items

    def check_policy(self, text: str, *, file: str = "") -> PolicyOutcome:
        """Say what is wrong with a policy file and what it would change.

        Args:
            text: the file.
            file: what errors call it.
        """
        body = {"text": text, "file": file}
        return self._http.call("POST", "/policy/check", PolicyOutcome, body=body)

    def check_queue(self, name: str, document: Document) -> PolicyOutcome:
        """Say what is wrong with the rules of a queue and what they would change.

        Args:
            name: of the queue, which need not exist.
            document: has the keys of the cluster file's queues.
        """
        path = path_of("/queues", name, "check")
        return self._http.call("POST", path, PolicyOutcome, body=dict(document))

    def set_policy(
        self, text: str, *, file: str = "", allow_unknown_flavors: bool = False, etag: str = ""
    ) -> PolicyOutcome:
        """Let a policy decide from now on.

        Args:
            text: the file.
            file: what errors call it.
            allow_unknown_flavors: take flavors that no node has.
            etag: of the policy that it replaces, else Stale is raised; empty = any.
        """
        body = {"text": text, "file": file, "allow_unknown_flavors": allow_unknown_flavors}
        return self._http.call("PUT", "/policy", PolicyOutcome, body=body, etag=etag or None)

    def roll_back_policy(self, version: int, *, etag: str = "") -> PolicyOutcome:
        """Put a former policy in force again; `etag` as for `set_policy`."""
        path, body = "/policy/rollback", {"version": version}
        return self._http.call("POST", path, PolicyOutcome, body=body, etag=etag or None)

    def bookings(self) -> tuple[BookingView, ...]:
        """List maintenance windows and advance reservations."""
        return self._http.call("GET", "/bookings", BookingPage).items

    def set_booking(self, name: str, document: Document) -> BookingView:
        """Make or change a booking.

        Args:
            name: unique.
            document: keys as in a policy file's bookings.
        """
        return self._http.call("PUT", path_of("/bookings", name), BookingView, body=dict(document))

    def remove_booking(self, name: str) -> None:
        """Take a booking back."""
        self._http.call("DELETE", path_of("/bookings", name), Any)
