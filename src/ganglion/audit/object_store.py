"""Puts checkpoints into a bucket that speaks the protocol of S3: one object each, written once.

Requests are signed; nothing but the standard library is needed.
"""

import base64
import errno
import hashlib
import http.client
import re
import ssl
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from msgspec import Struct

from ganglion.seams.files import Files
from ganglion.transport.aws_signature import SigningKey, signed

TIMEOUT_S = 10.0
"""How long a bucket may take to answer."""
LONGEST_ANSWER = 64 << 10
"""Bytes of an answer that are looked at."""
OWN = ("localhost", "127.0.0.1", "::1")
"""Hosts that may be reached without TLS."""
OTHERS = 0o077

_CODE = re.compile(rb"<Code>([A-Za-z0-9.]{1,100})</Code>")


class CheckpointBucket(Struct, frozen=True):
    """A bucket, and a prefix in it.

    Attributes:
        url: `https://HOST/BUCKET/PREFIX`.
        region: that requests are signed for.
        credentials: file with the id of a key and, in the second line, its secret.
    """

    url: str
    region: str
    credentials: str

    def put(self, note: str, at: int, files: Files) -> None:
        """Write a checkpoint as an object of its own, unless it is there.

        Args:
            note: the checkpoint as a signed note.
            at: the time in ms.
            files: the file system.

        Raises:
            OSError: it cannot be written, or the bucket has another object in its place.
        """
        key, body = self._key(files), note.encode()
        parts = urlsplit(self.url)
        path = f"{parts.path.rstrip('/')}/{name_of(note)}"
        checked = {
            "content-md5": base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()),
            "if-none-match": b"*",
        }
        more = {name: value.decode() for name, value in checked.items()}
        status, found = self._send("PUT", path, more, body, key, at)
        if status == http.client.PRECONDITION_FAILED:  # an object of that name is there
            status, found = self._send("GET", path, {}, b"", key, at)
            if status == http.client.OK and found != body:
                raise OSError(errno.EEXIST, f"object {path} is another checkpoint")
        if status >= http.client.MULTIPLE_CHOICES:
            code = _CODE.search(found)
            said = f": {code[1].decode()}" if code else ""
            raise OSError(errno.EIO, f"HTTP {status}{said} for object {path}")

    def _key(self, files: Files) -> SigningKey:
        try:
            if files.stat(self.credentials).st_mode & OTHERS:
                raise OSError(errno.EACCES, f"{self.credentials} may be read by others: chmod 600")
            lines = files.read(self.credentials).decode("ascii").split()
        except UnicodeDecodeError:
            lines = []
        if len(lines) != 2:
            raise OSError(errno.EINVAL, f"{self.credentials} is not the id of a key and its secret")
        name, secret = lines
        return SigningKey(name, secret, self.region)

    def _send(
        self, method: str, path: str, more: Mapping[str, str], body: bytes, key: SigningKey, at: int
    ) -> tuple[int, bytes]:
        """Send one request; returns status and body. Raises OSError: there is no answer."""
        parts = urlsplit(self.url)
        target = quote(path)
        url = f"{parts.scheme}://{parts.netloc}{target}"
        headers = signed(method, url, more, key, at, body)
        line = (
            http.client.HTTPSConnection(
                parts.hostname or "",
                parts.port,
                timeout=TIMEOUT_S,
                context=ssl.create_default_context(),
            )
            if parts.scheme == "https"
            else http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
        )
        try:
            line.request(method, target, body, headers)
            answer = line.getresponse()
            return answer.status, answer.read(LONGEST_ANSWER)
        except http.client.HTTPException as error:
            raise OSError(errno.EIO, f"{type(error).__name__} of {parts.netloc}") from error
        finally:
            line.close()


def name_of(note: str) -> str:
    """Name of the object of a checkpoint: its log and its size, which no other one has."""
    origin, size, *_ = note.split("\n")
    return f"{re.sub(r'[^A-Za-z0-9_.]+', '-', origin)}.{int(size):012}"


def trouble_of(url: str) -> str:
    """What is wrong with the URL of a bucket; empty = nothing."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        return f"{url}: {error}"
    if parts.scheme not in ("https", "http") or not host or not parts.path.strip("/"):
        return f"{url} is not as https://HOST/BUCKET/PREFIX"
    if parts.username or parts.query or parts.fragment:
        return f"{url} has more than host and path"
    if parts.scheme == "http" and host not in OWN:
        return f"{url}: https is needed, unless it is on this machine"
    return ""
