"""Headers that are forwarded, in both directions."""

from collections.abc import Mapping

from aiohttp import hdrs
from aiohttp.web import BaseRequest
from multidict import CIMultiDict, CIMultiDictProxy

from ganglion.router.proxy.access import without_secrets

MODEL = "X-Ganglion-Model"
"""Header that names the model of a request."""
REPLICA = "X-Ganglion-Replica"
"""Header of a response that names its source."""

HOP = frozenset(
    {"connection", "expect", "keep-alive", "proxy-authorization", "proxy-connection"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers between neighbours only (RFC 9110, 7.6.1); `Expect` is answered by the router."""
HANDSHAKE = "sec-websocket-"


def opens_page(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a user opens a page; browsers say so (W3C Fetch Metadata), others ask for HTML."""
    mode = headers.get("Sec-Fetch-Mode")
    if method != hdrs.METH_GET or mode not in (None, "navigate"):
        return False
    return mode is not None or "text/html" in headers.get(hdrs.ACCEPT, "")


def onward(
    request: BaseRequest, prefix: str, key: str = "", *, websocket: bool = False
) -> CIMultiDict[str]:
    """Headers of the request to a replica.

    Args:
        request: as it came.
        prefix: what was taken off the path; empty = nothing.
        key: of the service; credentials made from it are left out.
        websocket: without those that the two handshakes do not share.
    """
    headers = _without_hops(request.headers)
    without_secrets(headers, key)
    if websocket:
        for name in [name for name in headers if name.lower().startswith(HANDSHAKE)]:
            headers.popall(name, None)
    client = request.remote or "unknown"
    passed = headers.getall(hdrs.X_FORWARDED_FOR, [])
    headers[hdrs.X_FORWARDED_FOR] = ", ".join([*passed, client])
    headers.setdefault(hdrs.X_FORWARDED_PROTO, request.scheme)
    headers.setdefault(hdrs.X_FORWARDED_HOST, request.host)
    if prefix:
        headers["X-Forwarded-Prefix"] = headers.get("X-Forwarded-Prefix", "") + prefix
    return headers


def back(found: CIMultiDictProxy[str], replica: str) -> CIMultiDict[str]:
    """Headers of the answer to the caller.

    Args:
        found: those of the replica.
        replica: its name.
    """
    headers = _without_hops(found)
    # aiohttp would put its own name where a replica says none.
    headers.setdefault(hdrs.SERVER, "ganglion")
    headers[REPLICA] = replica
    return headers


def _without_hops(found: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    named = found.getall(hdrs.CONNECTION, [])
    drop = HOP | {token.strip().lower() for line in named for token in line.split(",")}
    return CIMultiDict((name, value) for name, value in found.items() if name.lower() not in drop)
