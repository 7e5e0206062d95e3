"""A small registry of models that may be down, slow, wrong, or move an alias; and a watch."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ganglion.server.models.mlflow.artifacts import PROXY
from ganglion.server.models.resolver import ModelResolver
from ganglion.server.models.watch import ModelWatch

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = f"sha256:{'a' * 64}"


class FakeRegistry:
    """What the registry says; tests change it between requests.

    Attributes:
        aliases: of the MLflow model `chat`.
        status: what every request is answered with; 200 = what it asks for.
        body: in place of what it asks for; empty = nothing is.
        silent: whether requests get no answer until `leave`.
        asked: paths that were asked for, each with its header Authorization.
        challenge: WWW-Authenticate of the OCI part; empty = it wants no credentials.
        opens: the header Authorization that answers the challenge.
        said: what the server of tokens answers.
        scopes: that it was asked for.
        objects: lines `KEY SIZE ETAG [VERSION [old|gone]]` of folders of the bucket.
        lists_versions: status of questions for versions.
        version: what MLflow says beside the usual about version N of `chat`.
        place: where MLflow says that the files of `chat` lie.
        listings: folder that MLflow hands out -> what is in it.
        files: path -> headers and content of files, and of what lists them.
        moved: path -> URL that requests are redirected to.
        breaks: after how many bytes of content the next answers break off, one after the other.
        resumes: whether a part of a file can be asked for.
        ranges: parts of files that were asked for.
        begun: set once half of the content of a file has gone out, where `silent_after` is.
        silent_after: whether the rest of a file does not come until `leave`.
    """

    def __init__(self) -> None:
        self.aliases = {"champion": 3}
        self.status, self.body, self.silent = 200, b"", False
        self.asked: list[tuple[str, str]] = []
        self.leave = threading.Event()
        self.url = ""
        self.challenge, self.opens = "", ""
        self.said: dict[str, Any] = {"token": "t"}
        self.scopes: list[list[str]] = []
        self.objects: list[str] = []
        self.lists_versions = 200
        self.version: dict[str, Any] = {}
        self.place = ""
        self.listings: dict[str, list[dict[str, Any]]] = {}
        self.files: dict[str, tuple[dict[str, str], bytes]] = {}
        self.moved: dict[str, str] = {}
        self.breaks: list[int] = []
        self.resumes, self.ranges = True, list[str]()
        self.begun, self.silent_after = threading.Event(), False

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        if path in self.moved:
            return 302, {"Location": self.moved[path]}, b""
        if path in self.files:
            headers, content = self.files[path]
            return 200, {"Content-Length": str(len(content)), **headers}, content
        if "/mlflow" in path:
            return self._mlflow(path, query)
        if path == "/api/models/org/repo/revision/main":
            return 200, {}, json.dumps({"sha": COMMIT}).encode()
        return self._listed(query) if path == "/bucket" else self._artifact(path)

    def _mlflow(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if path == "/api/2.0/mlflow/registered-models/alias":
            return self._version(self.aliases.get(query["alias"]), query)
        if path == "/api/2.0/mlflow/model-versions/get":
            return self._version(int(query["version"]), query)
        if path == "/api/2.0/mlflow/model-versions/get-download-uri":
            return 200, {}, json.dumps({"artifact_uri": self.place}).encode()
        if path == PROXY:
            return 200, {}, json.dumps({"files": self.listings.get(query["path"], [])}).encode()
        return 404, {}, b"{}"

    def _artifact(self, path: str) -> tuple[int, dict[str, str], bytes]:
        if path == "/bucket/chat.tar":
            return 200, {"ETag": '"e1"', "x-amz-version-id": "v7"}, b""
        if path == "/token":
            return 200, {}, json.dumps(self.said).encode()
        if self.challenge and self.asked[-1][1] != self.opens:
            return 401, {"WWW-Authenticate": self.challenge}, b""
        known = path == "/v2/team/chat/manifests/v3"
        return (200, {"Docker-Content-Digest": DIGEST}, b"") if known else (404, {}, b"")

    def _listed(self, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Two objects a page, in any order of attributes; tokens are positions."""
        versions = "versions" in query
        if versions and self.lists_versions != 200:
            return self.lists_versions, {}, b"<Error/>"
        at = int(query.get("key-marker") or query.get("continuation-token") or 0)
        lines = [each.split() for each in self.objects if each.startswith(query["prefix"])]
        if not versions:
            lines = [each for each in lines if each[-1] not in ("old", "gone")]
        more = at + 2 < len(lines)
        text = "".join(_object(each, versions) for each in lines[at : at + 2])
        mark = "NextKeyMarker" if versions else "NextContinuationToken"
        end = f"<{mark}>{at + 2}</{mark}>" if more else ""
        root = "ListVersionsResult" if versions else "ListBucketResult"
        space = "http://s3.amazonaws.com/doc/2006-03-01/"
        body = f"<{root} xmlns='{space}'><IsTruncated>{str(more).lower()}</IsTruncated>{end}{text}"
        return 200, {}, f"{body}</{root}>".encode()

    def _version(
        self, number: int | None, query: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        if query["name"] != "chat" or number is None or number > 9:
            said: dict[str, Any] = {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "not found"}
            return 404, {}, json.dumps(said).encode()
        version = {"name": "chat", "version": str(number), "source": f"s3://b/{number}"}
        return 200, {}, json.dumps({"model_version": version | self.version}).encode()


def _object(parts: list[str], versions: bool) -> str:
    key, size, etag, *more = parts
    text = f"<Key>{key}</Key><Size>{size}</Size><ETag>&quot;{etag}&quot;</ETag>"
    if not versions:
        return f"<Contents>{text}</Contents>"
    latest = str("old" not in more).lower()
    name = "DeleteMarker" if "gone" in more else "Version"
    version = more[0] if more else "null"
    return f"<{name}>{text}<VersionId>{version}</VersionId><IsLatest>{latest}</IsLatest></{name}>"


@contextmanager
def watching(home: Path, settings: str) -> Iterator[ModelWatch]:
    """What watches models by these settings, which become `models.yaml` of the home."""
    (home / "models.yaml").write_text(settings)
    made = ModelWatch(ModelResolver(home))
    made.start()
    yield made
    made.close()


@contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    """A registry on a port of its own."""
    fake = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            fake.asked.append((url.path, self.headers.get("Authorization", "")))
            if fake.silent:
                fake.leave.wait(30)
            found = parse_qs(url.query, keep_blank_values=True)
            query = {key: each[0] for key, each in found.items()}
            if "scope" in found:
                fake.scopes.append(found["scope"])
            status, headers, body = fake.answer(url.path, query)
            part = self.headers.get("Range", "")
            fits = self.headers.get("If-Range") in (None, headers.get("ETag"))
            if part and fits and fake.resumes and url.path in fake.files:
                fake.ranges.append(part)
                status, at = 206, int(part.removeprefix("bytes=").partition("-")[0])
                place = f"bytes {at}-{len(body) - 1}/{len(body)}"
                body = body[at:]
                headers = headers | {"Content-Range": place, "Content-Length": str(len(body))}
            if fake.status != 200:
                status, headers, body = fake.status, {}, b""
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "GET":
                return
            if url.path in fake.files and "/api/models/" not in url.path:
                body = self._cut(body)
            with suppress(ConnectionError):  # clients leave what they do not want any more
                self.wfile.write(fake.body or body)

        def _cut(self, body: bytes) -> bytes:
            if fake.silent_after:
                half = len(body) // 2
                self.wfile.write(body[:half])
                fake.begun.set()
                fake.leave.wait(30)
                return body[half:]
            return body[: fake.breaks.pop(0)] if fake.breaks else body

        do_HEAD = do_GET  # noqa: N815 - the name that the library looks for

        def log_message(self, format: str, *args: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        fake.leave.set()
        server.shutdown()
        server.server_close()
