"""Asks a Jupyter server what its kernels and terminals do.

https://jupyter-server.readthedocs.io/en/latest/developers/rest-api.html. Every request is marked
as no user's activity, so that asking does not keep a workspace awake.
"""

from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx2

from ganglion.lifecycle.workspaces.kernels import Kernel, Notebooks

MOST_NOTEBOOKS = 20
"""Open notebooks whose last save is looked up."""
Answer = Any
"""A decoded JSON answer; None = there was none."""


class JupyterProbe:
    """One Jupyter server.

    Args:
        url: where it is, as `http://127.0.0.1:8888`, with its base path.
        token: what it wants to see; empty = nothing.
        timeout_s: longest silence.
        transport: replaces the network, for tests.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        timeout_s: float = 3.0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"token {token}"} if token else {}
        self._http = httpx2.Client(
            base_url=f"{url.rstrip('/')}/api/",
            headers=headers,
            timeout=timeout_s,
            transport=transport,
            params={"no_track_activity": "1"},
            trust_env=False,
        )

    def ask(self, now: int) -> Notebooks | None:
        """What it reports; None = it does not answer, or not as a Jupyter server does.

        Args:
            now: the time in ms.
        """
        try:
            return self._asked(now)
        except (httpx2.HTTPError, ValueError, TypeError, KeyError, AttributeError):
            # Whatever listens there may answer anything at all.
            return None

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def _asked(self, now: int) -> Notebooks:
        status = self._get("status")
        kernels = tuple(_kernel(each) for each in self._get("kernels"))
        return Notebooks(
            now,
            _ms(status["started"]),
            kernels,
            tuple(_ms(each["last_activity"]) for each in self._terminals()),
            tuple(self._saved()),
        )

    def _get(self, path: str) -> Answer:
        response = self._http.get(path)
        response.raise_for_status()
        return response.json()

    def _terminals(self) -> list[dict[str, Any]]:
        """Terminals; none where the server has no such thing."""
        response = self._http.get("terminals")
        if response.status_code == httpx2.codes.NOT_FOUND:
            return []
        response.raise_for_status()
        found = response.json()
        return list(found)

    def _saved(self) -> list[int]:
        """When the open notebooks were last saved; those that cannot be looked up are left out."""
        saved = []
        for session in self._get("sessions")[:MOST_NOTEBOOKS]:
            path = quote(session.get("path") or "")
            response = self._http.get(f"contents/{path}", params={"content": "0"})
            if path and response.is_success:
                saved.append(_ms(response.json()["last_modified"]))
        return saved


def _kernel(each: dict[str, Any]) -> Kernel:
    last = each.get("last_activity")
    state = each.get("execution_state") or ""
    return Kernel(str(state), _ms(last) if last else 0, int(each.get("connections") or 0))


def _ms(text: str) -> int:
    """An ISO 8601 time in ms.

    Raises:
        ValueError: it is none.
    """
    return int(datetime.fromisoformat(text).timestamp() * 1000)
