"""Callers of a service: a number at once, each with the next request as soon as one is answered."""

import threading
import time
from collections import Counter
from types import TracebackType
from typing import Self

import httpx2

PATIENCE_S = 60.0


class LoadCallers:
    """Calls a service for as long as the block lasts; every call is counted.

    Args:
        url: what to ask for.
        count: callers at once, each over a connection of its own.
        pause_s: how long each waits between an answer and its next request.

    Attributes:
        answers: text of an answer -> how often it came, with status 200.
        failures: what went wrong, each once per request.
    """

    def __init__(self, url: str, count: int, pause_s: float = 0.0) -> None:
        self._url, self._pause_s = url, pause_s
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []
        self._leaving, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._call, daemon=True) for _ in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leaving.set()
        for thread in self._threads:
            thread.join()

    def _call(self) -> None:
        with httpx2.Client(timeout=PATIENCE_S, trust_env=False) as client:
            while not self._leaving.is_set():
                self._one(client)
                time.sleep(self._pause_s)

    def _one(self, client: httpx2.Client) -> None:
        try:
            answer = client.get(self._url)
            failure = "" if answer.status_code == httpx2.codes.OK else f"HTTP {answer.status_code}"
            said = answer.text
        except httpx2.HTTPError as error:
            failure, said = repr(error), ""
        with self._lock:
            if failure:
                self.failures.append(f"{failure} {said}".strip())
            else:
                self.answers[said] += 1
