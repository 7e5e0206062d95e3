"""A double of what answers behind the API server: the logs of kubelets."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from benchmarks.controlplane.control_plane import ControlPlane


class Logs:
    """What pods have written, and when no more will come.

    Attributes:
        text: pod -> its log.
        ended: pods whose followers are let go.
        asked: queries by pod.
    """

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self.ended: dict[str, threading.Event] = {}
        self.asked: list[tuple[str, dict[str, list[str]]]] = []

    def end(self, pod: str) -> None:
        self.ended.setdefault(pod, threading.Event()).set()


@contextmanager
def kubelet(plane: ControlPlane, logs: Logs) -> Iterator[int]:
    """Serve logs as kubelets do, on a port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that the library calls
            url = urlsplit(self.path)
            pod, query = url.path.split("/")[3], parse_qs(url.query)
            logs.asked.append((pod, query))
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(logs.text[pod].encode())
            self.wfile.flush()
            if "follow" in query:
                assert logs.ended.setdefault(pod, threading.Event()).wait(30)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(plane.ca, plane.key)
    with _serving(Handler, "127.0.0.1", context) as port:
        yield port


@contextmanager
def _serving(
    handler: type[BaseHTTPRequestHandler], address: str, tls: ssl.SSLContext | None = None
) -> Iterator[int]:
    server = ThreadingHTTPServer((address, 0), handler)
    server.daemon_threads = True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
