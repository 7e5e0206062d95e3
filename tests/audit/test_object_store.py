"""Checkpoints in a bucket: signed as AWS documents it, written once, read back as an anchor."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import msgspec
import pytest
from msgspec.structs import replace
from tests.audit.trail import write

from ganglion.audit.anchored import read_anchor
from ganglion.audit.anchors import Anchor
from ganglion.audit.folder import AuditFolder
from ganglion.ledger.ledger import Ledger
from ganglion.seams.effects import SYSTEM
from ganglion.server.audit.signing import Signing
from ganglion.transport.aws_signature import SigningKey, signed

KEY = SigningKey("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")
"""Of the examples in the documentation of AWS."""
AT = 1_369_353_600_000


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "signature"),
    [
        (
            "GET",
            "/test.txt",
            {"range": "bytes=0-9"},
            b"",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT",
            "/test$file.text",
            {
                "date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
            },
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
    ],
)
def test_requests_are_signed_as_the_documented_examples(
    method: str, path: str, headers: dict[str, str], body: bytes, signature: str
) -> None:
    url = f"https://examplebucket.s3.amazonaws.com{quote(path)}"
    found = signed(method, url, headers, KEY, AT, body)
    assert found["authorization"].endswith(f"Signature={signature}")


class Store(HTTPServer):
    """Takes objects once, from requests that are signed with the key."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects, self.refuses = dict[str, bytes](), 0
        self.url = f"http://127.0.0.1:{self.server_port}/audit/gpu-box"


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        """Print nothing."""

    def _is_signed(self, body: bytes) -> bool:
        said = self.headers["Authorization"].partition("SignedHeaders=")[2].partition(",")[0]
        names = [each for each in said.split(";") if not each.startswith("x-amz")]
        headers = {each: self.headers[each] for each in names}
        at = self.headers["x-amz-date"] == "20130524T000000Z" and AT
        url, key = f"http://{self.headers['host']}{self.path}", replace(KEY, region="eu-1")
        made = signed(self.command, url, headers, key, at, body)
        return bool(made["authorization"] == self.headers["Authorization"])

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refused(self, body: bytes) -> bool:
        store = self.server
        assert isinstance(store, Store)
        if not store.refuses and self._is_signed(body):
            return False
        self._answer(store.refuses or 403, b"<Error><Code>AccessDenied</Code></Error>")
        return True

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        assert self.headers["Content-MD5"] == b64encode(digest).decode()
        assert self.headers["If-None-Match"] == "*"
        store = self.server
        assert isinstance(store, Store)
        if self._refused(body):
            return
        if self.path in store.objects:
            self._answer(412)
            return
        store.objects[self.path] = body
        self._answer(200)

    def do_GET(self) -> None:
        store = self.server
        assert isinstance(store, Store)
        if not self._refused(b""):
            self._answer(200, store.objects[self.path])


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store()
    thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


class Signed:
    """A home whose checkpoints go to a bucket.

    Args:
        home: of the ledger.
        url: of the bucket.
    """

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.key = home, home / "bucket-key"
        self.key.write_text(f"{KEY.id}\n{KEY.secret}\n")
        self.key.chmod(0o600)
        (home / "audit.yaml").write_text(
            f"anchors:\n- bucket: {url}\n  region: eu-1\n  credentials: {self.key}\n"
        )
        self.ledger = Ledger.open(home / "ledger.db")
        self.signing = self.begun()

    def begun(self) -> Signing:
        return Signing(self.home, self.ledger, lambda: AT, SYSTEM)

    def step(self) -> str:
        """Sign two events more; returns which anchor lacks them, and why."""
        write(self.ledger, 1)
        assert self.signing.step(ending=True)
        return self.anchor(self.signing)

    def anchor(self, signing: Signing) -> str:
        signing._anchoring.step()
        return signing.unanchored


@pytest.fixture
def home(tmp_path: Path, store: Store) -> Iterator[Signed]:
    made = Signed(tmp_path, store.url)
    yield made
    made.ledger.close()


def test_every_checkpoint_is_an_object_that_serves_as_an_anchor(
    home: Signed, store: Store, tmp_path: Path
) -> None:
    assert [home.step(), home.step()] == ["", ""]
    again = home.begun()  # after a restart the newest one is there already
    assert again.step() is None
    assert home.anchor(again) == ""
    copies = tmp_path / "copies"
    copies.mkdir()
    for path, body in store.objects.items():
        (copies / path.rpartition("/")[2]).write_bytes(body)
    found = read_anchor(copies, AuditFolder(home.home).signer().public)
    assert ([*found.roots], found.flaws) == ([2, 4], [])
    assert len(store.objects) == 2
    assert all(path.startswith("/audit/gpu-box/") for path in store.objects)


def test_a_bucket_that_has_something_else_there_is_named(home: Signed, store: Store) -> None:
    assert home.step() == ""
    [path] = store.objects
    store.objects[path] = b"another one"
    again = home.begun()
    again.step()
    assert f"anchor bucket {store.url}: object {path} is another checkpoint" in home.anchor(again)


def test_a_bucket_that_refuses_is_named_and_tried_again(home: Signed, store: Store) -> None:
    store.refuses = 403
    assert "HTTP 403: AccessDenied for object /audit/gpu-box/" in home.step()
    store.refuses = 0
    assert home.anchor(home.signing) == ""
    assert len(store.objects) == 1


def test_credentials_are_for_the_server_alone_and_in_no_message(home: Signed) -> None:
    home.key.chmod(0o640)
    assert "may be read by others: chmod 600" in home.step()
    home.key.chmod(0o600)
    for text in ("", KEY.secret, "a b c", "\xff"):
        home.key.write_text(text)
        said = home.step()
        assert "is not the id of a key and its secret" in said
        assert KEY.secret not in said
    home.key.unlink()
    assert "No such file" in home.step()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bucket": "https://objects.example.org/a"}, "needs region and credentials"),
        ({"region": "eu-1", "file": "/a"}, "go with bucket"),
        ({"bucket": "http://objects.example.org/a"}, "https is needed"),
        ({"bucket": "https://objects.example.org/"}, "is not as https://HOST/BUCKET/PREFIX"),
        ({"bucket": "s3://a/b"}, "is not as https://HOST/BUCKET/PREFIX"),
        ({"bucket": "https://a:b@objects.example.org/a"}, "more than host and path"),
        ({"bucket": "https://objects.example.org:x/a"}, "objects.example.org:x"),
        ({"bucket": "https://objects.example.org/a", "file": "/a"}, "one of file"),
    ],
)
def test_what_is_wrong_with_the_settings_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        msgspec.convert(given, Anchor)
