"""Requests to an API server, many of them: a tenth of the CPU time of a client that can do more."""

import select
import ssl
from collections.abc import Mapping
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx2
import msgspec

PATIENCE_S = 30.0


class Line:
    """Connections to one server, which threads share.

    Args:
        url: of the server.
        ca: the certificates to trust.
        token: of the user.
    """

    def __init__(self, url: str, ca: Path, token: str) -> None:
        self._host = urlsplit(url).netloc
        self._context = ssl.create_default_context(cafile=ca)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._idle: list[HTTPSConnection] = []

    def close(self) -> None:
        """Close all connections."""
        while self._idle:
            self._idle.pop().close()

    def ask(
        self,
        method: str,
        path: str,
        body: object,
        params: Mapping[str, str],
        headers: Mapping[str, str],
    ) -> tuple[int, bytes]:
        """One request; status and text of the answer.

        Raises:
            httpx2.TransportError: there is no answer.
        """
        target = f"{path}?{urlencode(params)}" if params else path
        content = None if body is None else msgspec.json.encode(body)
        connection = self._free()
        try:
            connection.request(method, target, content, {**self._headers, **headers})
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, HTTPException) as error:
            connection.close()
            raise httpx2.TransportError(f"{method} {path}: {error!r}") from error
        if answer.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return answer.status, text

    def _free(self) -> HTTPSConnection:
        """A connection that waits, and that the server has not closed, or a new one."""
        while self._idle:
            try:
                found = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if found.sock and not select.select([found.sock], [], [], 0)[0]:
                return found
            found.close()
        return HTTPSConnection(self._host, timeout=PATIENCE_S, context=self._context)
