"""Makes connections to an API server, through a proxy where one is set."""

import asyncio
import socket
import ssl
from base64 import b64encode
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.transport.hosts import is_loopback
from ganglion.worlds.kubernetes.http.http1 import READ_BYTES, Garbled, Wire, head_of
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint

_ALIVE = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
"""A peer that vanished is noticed within half a minute, though nothing is being sent."""


class Address(Struct, frozen=True):
    """Where to connect.

    Attributes:
        host: name or address of the server.
        port: its port.
        authority: what the `Host` header says.
        prefix: path before every path; without a slash at the end.
        proxy: URL of an HTTP proxy; empty = none.
        server_name: the name the certificate has to carry.
    """

    host: str
    port: int
    authority: str
    prefix: str
    proxy: str
    server_name: str


def address_of(endpoint: ApiEndpoint) -> Address:
    """Return where an endpoint is.

    Raises:
        FieldError: its URL or its proxy's cannot be used.
    """
    url = _split(endpoint.url, "cluster.server", endpoint.file)
    host = url.hostname or ""
    proxy = endpoint.server.proxy or _proxy(url, host)
    if proxy and _split(proxy, "cluster.proxy-url", endpoint.file).scheme != "http":
        hint = "as http://host:port"
        raise FieldError(
            f"cannot be used: {proxy!r}", key="cluster.proxy-url", file=endpoint.file, hint=hint
        )
    return Address(
        host=host,
        port=url.port or (443 if url.scheme == "https" else 80),
        authority=url.netloc.rpartition("@")[2],
        prefix=url.path.rstrip("/"),
        proxy=proxy,
        server_name=endpoint.server.server_name or host,
    )


def _split(url: str, key: str, file: str) -> SplitResult:
    try:
        split = urlsplit(url)
        usable = bool(split.hostname and split.port != 0)
    except ValueError:
        usable = False
    if not usable:
        raise FieldError(f"is no URL: {url!r}", key=key, file=file)
    return split


def _proxy(url: SplitResult, host: str) -> str:
    """The environment's proxy, as `$HTTPS_PROXY` and `$NO_PROXY` say; never to this machine."""
    if is_loopback(host) or proxy_bypass(host):
        return ""
    return getproxies().get(url.scheme, "")


async def dial(address: Address, tls: ssl.SSLContext | None) -> Wire:
    """Connect.

    Raises:
        OSError: no process listens, or the server is not the one it claims to be.
        Garbled: the proxy speaks another language.
    """
    if address.proxy:
        return await _through_proxy(address, tls)
    reader, writer = await asyncio.open_connection(
        address.host,
        address.port,
        ssl=tls,
        server_hostname=address.server_name if tls else None,
        limit=READ_BYTES,
    )
    _keep_alive(writer)
    return Wire(reader, writer)


async def _through_proxy(address: Address, tls: ssl.SSLContext | None) -> Wire:
    proxy = urlsplit(address.proxy)
    reader, writer = await asyncio.open_connection(
        proxy.hostname, proxy.port or 80, limit=READ_BYTES
    )
    try:
        _keep_alive(writer)
        writer.write(_tunnel(address, proxy))
        head = head_of(await reader.readuntil(b"\r\n\r\n"))
        if head.status != 200:
            raise Garbled(f"the proxy {proxy.hostname} answered {head.status}")
        if tls:
            await writer.start_tls(tls, server_hostname=address.server_name)
    except BaseException:
        writer.transport.abort()
        raise
    return Wire(reader, writer)


def _tunnel(address: Address, proxy: SplitResult) -> bytes:
    target = f"[{address.host}]" if ":" in address.host else address.host
    lines = [f"CONNECT {target}:{address.port} HTTP/1.1", f"Host: {target}:{address.port}"]
    if proxy.username:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}")
    return "\r\n".join([*lines, "", ""]).encode()


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE:
        if hasattr(socket, name):  # not every system has them
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
