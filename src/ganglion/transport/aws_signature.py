"""Signatures of requests to object stores: AWS Signature Version 4.

Source: "Authenticating Requests", Amazon S3 API Reference.
"""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import urlsplit

from msgspec import Struct

ALGORITHM = "AWS4-HMAC-SHA256"


class SigningKey(Struct, frozen=True):
    """What requests are signed with, and the region that they are signed for."""

    id: str
    secret: str
    region: str


def signed(
    method: str,
    url: str,
    headers: Mapping[str, str],
    key: SigningKey,
    now_ms: int,
    body: bytes = b"",
) -> dict[str, str]:
    """The headers of a request, with those that sign it.

    Args:
        method: of HTTP.
        url: encoded; its parameters are sorted, each with `=`.
        headers: with names in lower case; all of them are signed.
        key: to sign with.
        now_ms: the time.
        body: of the request.
    """
    parts, at = urlsplit(url), datetime.fromtimestamp(now_ms / 1000, UTC)
    stamp, content = f"{at:%Y%m%dT%H%M%SZ}", sha256(body).hexdigest()
    own = {"host": parts.netloc, "x-amz-content-sha256": content, "x-amz-date": stamp}
    all_of = dict(sorted({**headers, **own}.items()))
    names = ";".join(all_of)
    lines = "".join(f"{name}:{value.strip()}\n" for name, value in all_of.items())
    canonical = "\n".join((method, parts.path or "/", parts.query, lines, names, content))
    scope = f"{stamp[:8]}/{key.region}/s3/aws4_request"
    digest = sha256(canonical.encode()).hexdigest()
    step = f"AWS4{key.secret}".encode()
    for each in scope.split("/"):
        step = hmac.digest(step, each.encode(), "sha256")
    code = hmac.digest(step, "\n".join((ALGORITHM, stamp, scope, digest)).encode(), "sha256").hex()
    said = f"{ALGORITHM} Credential={key.id}/{scope}, SignedHeaders={names}, Signature={code}"
    return {**all_of, "authorization": said}
