"""Asks a DCGM exporter about GPUs."""

from collections.abc import Iterable, Sequence

import httpx2

from ganglion.lifecycle.workspaces.dcgm import figures, readings
from ganglion.lifecycle.workspaces.gpus import GpuFigures, GpuReading

SPAN_MS = 30_000
"""Default interval at which exporters sample; their values cover that time."""


class DcgmGpus:
    """The GPUs that one exporter reports.

    Args:
        url: where it is, as `http://127.0.0.1:9400/metrics`.
        timeout_s: longest silence.
        transport: replaces the network, for tests.
    """

    def __init__(
        self, url: str, timeout_s: float = 3.0, transport: httpx2.BaseTransport | None = None
    ) -> None:
        self._url = url
        self._http = httpx2.Client(timeout=timeout_s, transport=transport, trust_env=False)

    def read(self, uuids: Sequence[str], now: int) -> list[GpuReading | None]:
        """One reading per device; None where the exporter reports nothing for it.

        Args:
            uuids: the vendor's identifiers.
            now: the time in ms.
        """
        found = readings(_answer(self._http, self._url), now, SPAN_MS)
        return [found.get((uuid, "")) for uuid in uuids]

    def close(self) -> None:
        """Close its connections."""
        self._http.close()


class DcgmCounters:
    """What the exporter of this machine says that can be counted; arguments as of `DcgmGpus`."""

    by_dcgm = True

    def __init__(
        self, url: str, timeout_s: float = 3.0, transport: httpx2.BaseTransport | None = None
    ) -> None:
        self._url = url
        self._http = httpx2.Client(timeout=timeout_s, transport=transport, trust_env=False)

    def read(self, uuids: Iterable[str]) -> list[GpuFigures]:
        """GPUs by the vendor's identifiers; of one that the exporter does not name, nothing."""
        wanted = [*uuids]
        found = figures(_answer(self._http, self._url)) if any(wanted) else {}
        return [found.get((uuid, ""), GpuFigures()) for uuid in wanted]


def _answer(http: httpx2.Client, url: str) -> str:
    """What an exporter says; empty = nothing."""
    try:
        response = http.get(url)
        response.raise_for_status()
    except httpx2.HTTPError:
        return ""
    return response.text
