"""Secrets that are kept by name. Times are milliseconds since 1970."""

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ganglion.api.server import SecretPage, SecretView

if TYPE_CHECKING:
    from ganglion.client.http import Http


class Secrets:
    """Part of `Client`; every method raises what its methods raise.

    Args:
        http: the connection.
    """

    def __init__(self, http: "Http") -> None:
        self._http = http

    def list(self) -> tuple[SecretView, ...]:
        """List names; no values."""
        return self._http.call("GET", "/secrets", SecretPage).items

    def set(self, name: str, value: str) -> None:
        """Keep a value; attempts that start from now on get it as a variable of that name."""
        self._http.call("PUT", f"/secrets/{quote(name, safe='')}", Any, body={"value": value})

    def remove(self, name: str) -> None:
        """Forget a value."""
        self._http.call("DELETE", f"/secrets/{quote(name, safe='')}", Any)
