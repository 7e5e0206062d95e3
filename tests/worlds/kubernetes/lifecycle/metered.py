"""Replicas of services that tell how much they have to do: one page for all of them."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

ADDRESS = "127.0.0.1"


class Metered:
    """Answers for every replica of a service with its part of the load.

    Args:
        replicas: how many share the load at present.

    Attributes:
        load: requests that run, over all replicas; negative = none answers.
    """

    def __init__(self, replicas: Callable[[], int]) -> None:
        self.load = 0.0
        self._replicas = replicas
        page = self._page

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = page().encode()
                self.send_response(200 if body else 500)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer((ADDRESS, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def _page(self) -> str:
        if self.load < 0:
            return ""
        share = self.load / max(1, self._replicas())
        return f"vllm:num_requests_running {share}\nvllm:num_requests_waiting 0\n"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
