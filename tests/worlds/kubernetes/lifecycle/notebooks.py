"""A server that answers as Jupyter and as a DCGM exporter do, about one workspace."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

STARTED = "2026-01-01T00:00:00.000000Z"
METRICS = """\
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{labels}}} {engine}
DCGM_FI_PROF_PCIE_TX_BYTES{{{labels}}} 0
DCGM_FI_PROF_PCIE_RX_BYTES{{{labels}}} 0
DCGM_FI_DEV_FB_USED{{{labels}}} 1024
"""


class Notebooks:
    """One kernel and one GPU.

    Attributes:
        state: of the kernel; empty = the notebook server does not answer.
        engine: part of the time that the GPU was busy; negative = the exporter does not answer.
        token: of the last request.
    """

    def __init__(self, namespace: str, pod: str) -> None:
        self.state, self.engine, self.token = "idle", 0.0, ""
        self._labels = f'gpu="0",UUID="GPU-1",namespace="{namespace}",pod="{pod}"'
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.token = self.headers.get("Authorization", outer.token)
                body = outer.answer(self.path.partition("?")[0])
                self.send_response(200 if body else 503)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def answer(self, path: str) -> str:
        if path == "/metrics":
            return METRICS.format(labels=self._labels, engine=self.engine) * (self.engine >= 0)
        if not self.state:
            return ""
        kernel = {"execution_state": self.state, "last_activity": STARTED, "connections": 1}
        answers = {"/api/status": {"started": STARTED}, "/api/kernels": [kernel]}
        return json.dumps(answers.get(path, []))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
