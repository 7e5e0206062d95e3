"""A replica of a service, or a workspace: answers HTTP until it is asked to stop.

`GET /` says who answers; `GET /predict?seed=N` classifies four examples of that seed, after
`&pause=S` seconds if that is asked for. The first line it prints is its address; the port is
`GANGLION_PORT`, or any free one.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ganglion.demo.model import Classifier, examples
from ganglion.demo.trial import fit

LONGEST_S = 5.0
IDENTITY = ("GANGLION_JOB_ID", "GANGLION_GANG", "GANGLION_NODE", "CUDA_VISIBLE_DEVICES")


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    model: Classifier

    def do_GET(self) -> None:
        """Answer `/` and `/predict`; anything else is not found."""
        url = urlsplit(self.path)
        if url.path == "/":
            self._answer(200, identity())
        elif url.path == "/predict":
            self._predict(parse_qs(url.query))
        else:
            self._answer(404, {"error": f"no {url.path} here"})

    def log_message(self, format: str, *args: object) -> None:
        """Print the request on stdout, where the job's log collects it."""
        print(f"{self.client_address[0]} {format % args}", flush=True)

    def _predict(self, query: dict[str, list[str]]) -> None:
        try:
            seed = int(query.get("seed", ["0"])[0])
            pause_s = float(query.get("pause", ["0"])[0])
        except ValueError:
            self._answer(400, {"error": "seed is a whole number, pause a number"})
            return
        time.sleep(min(max(pause_s, 0.0), LONGEST_S))  # in place of a model that takes its time
        inputs, labels = examples(4, abs(seed))
        classes = self.model.probabilities(inputs).argmax(axis=1)
        self._answer(200, {**identity(), "classes": classes.tolist(), "labels": labels.tolist()})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def identity(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the identity and place of this process, from Ganglion's environment variables."""
    return {name.lower(): env[name] for name in IDENTITY if name in env} | {"pid": str(os.getpid())}


def main(env: Mapping[str, str] = os.environ) -> int:
    """Serve until SIGTERM; return 0."""
    Handler.model = fit(rate=0.2, hidden=16)
    server = ThreadingHTTPServer(("127.0.0.1", int(env.get("GANGLION_PORT") or 0)), Handler)
    # `shutdown` waits for the serving thread, so the handler must not call it from there.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    begun = time.monotonic()
    server.serve_forever(poll_interval=0.2)
    server.server_close()
    print(f"stopped after {time.monotonic() - begun:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
