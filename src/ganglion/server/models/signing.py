"""Signatures of requests to object stores: AWS Signature Version 4, without a body."""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"
EMPTY = sha256(b"").hexdigest()

Key = tuple[str, str, str]
"""Id of the key, the key, and the region."""


def signed(
    method: str, url: str, headers: Mapping[str, str], key: Key, now_ms: int
) -> dict[str, str]:
    """The headers of a request, with those that sign it.

    Source: "Create a signed AWS API request", Amazon IAM User Guide.

    Args:
        method: of HTTP.
        url: encoded, with at most one parameter.
        headers: with names in lower case.
        key: to sign with.
        now_ms: the time.
    """
    access, secret, region = key
    parts, at = urlsplit(url), datetime.fromtimestamp(now_ms / 1000, UTC)
    stamp, day = f"{at:%Y%m%dT%H%M%SZ}", f"{at:%Y%m%d}"
    own = {"host": parts.netloc, "x-amz-content-sha256": EMPTY, "x-amz-date": stamp}
    all_of = dict(sorted({**headers, **own}.items()))
    names = ";".join(all_of)
    lines = "".join(f"{name}:{value.strip()}\n" for name, value in all_of.items())
    canonical = "\n".join((method, parts.path or "/", parts.query, lines, names, EMPTY))
    scope = f"{day}/{region}/s3/aws4_request"
    digest = sha256(canonical.encode()).hexdigest()
    words = "\n".join((ALGORITHM, stamp, scope, digest))
    step = f"AWS4{secret}".encode()
    for each in (day, region, "s3", "aws4_request"):
        step = hmac.digest(step, each.encode(), sha256)
    code = hmac.new(step, words.encode(), sha256).hexdigest()
    said = f"{ALGORITHM} Credential={access}/{scope}, SignedHeaders={names}, Signature={code}"
    return {**all_of, "authorization": said}
