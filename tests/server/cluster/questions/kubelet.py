"""What API server and kubelet answer about pods and their logs, in memory."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import msgspec

from ganglion.seams.effects import SYSTEM
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import error_of
from ganglion.worlds.kubernetes.http.session import Params
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint

BEGIN = 1_790_000_000


def stamped(at_ms: int, text: str, nano: int = 0) -> bytes:
    """A line as a kubelet sends it, behind its time."""
    at = datetime.fromtimestamp(BEGIN + at_ms // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}{nano:06}Z {text}".encode()


class PlayedKubelet:
    """Answers for every pod: an `Exchange`.

    Attributes:
        logs: pod -> its lines with their times.
        pods: that are listed.
        refuses: status and message with which logs are refused; None = they are not.
        hangs: whether logs are never sent.
        asked: pod and query of each log.
        chunk: bytes of one piece.
    """

    def __init__(self) -> None:
        self.logs: dict[str, list[bytes]] = {}
        self.ends: dict[str, bytes] = {}
        self.pods: list[dict[str, Any]] = []
        self.refuses: tuple[int, str] | None = None
        self.hangs = False
        self.asked: list[tuple[str, Params]] = []
        self.chunk = 64

    def open(self, endpoint: ApiEndpoint) -> Api:
        return Api(endpoint, exchange=self, effects=SYSTEM)

    async def call(
        self, method: str, path: str, body: bytes, content: str, params: Params | None
    ) -> bytes:
        assert (method, path.rpartition("/")[2]) == ("GET", "pods")
        wanted = str((params or {})["labelSelector"])
        key, _, value = wanted.partition("=")
        found = [each for each in self.pods if each["metadata"]["labels"].get(key) == value]
        return msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": found})

    async def pieces(
        self, path: str, params: Params | None, silence_s: float
    ) -> AsyncGenerator[bytes, None]:
        pod, query = path.split("/")[-2], params or {}
        self.asked.append((pod, query))
        if self.refuses:
            status, said = self.refuses
            raise error_of(f"GET {path}", status, msgspec.json.encode({"message": said}))
        yield b""
        if self.hangs:
            await asyncio.Event().wait()
        text = self.text(pod, query)
        for at in range(0, len(text), self.chunk):
            yield text[at : at + self.chunk]

    def text(self, pod: str, query: Params) -> bytes:
        """As kubelets do: lines of a second and later, then the last of them."""
        lines = self.logs[pod]
        if since := str(query.get("sinceTime", "")):
            lines = [each for each in lines if each[:19] >= since[:19].encode()]
        if "tailLines" in query:
            last = int(query["tailLines"])
            lines = lines[-last:] if last else []
        text = b"".join(each + b"\n" for each in lines) + self.ends.get(pod, b"")
        return text[: int(query["limitBytes"])]

    async def close(self) -> None:
        pass
