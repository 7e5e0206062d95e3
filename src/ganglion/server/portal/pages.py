"""Serves the files of the portal: to every caller, since there are no data in them."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ganglion import __version__
from ganglion.server.portal.files import INDEX, PortalFile, PortalFiles
from ganglion.server.rest.problems import problem

ABOUT = "/portal.json"
"""Path that says which build is served, so that a page of another one can say so."""
ASSETS = "/assets/"
"""Files below it have a digest in their names."""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self';"
        " frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Of every answer: nothing inline, nothing from elsewhere, in no frame."""
KINDS: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
FOR_EVER = "public, max-age=31536000, immutable"
"""Cache-Control of files whose names have a digest; all others are asked for again."""
NOT_PAGES = ("/api/", "/login/", "/account/")
"""Beginnings of paths that are no pages of the portal."""


class PortalPages:
    """Answers requests for files, and for pages that the portal itself tells apart.

    Args:
        files: of the portal.
        sign_in: `link` where the owner opens it by a link, `pages` where users sign in.
    """

    def __init__(self, files: PortalFiles, sign_in: str) -> None:
        self._files, self._sign_in = files, sign_in

    def answers(self, scope: Scope) -> bool:
        """Whether a request is for the portal; programs do not ask for HTML."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            return False
        path = str(scope["path"])
        if path in self._files.files or path == ABOUT or path.startswith(ASSETS):
            return True
        headers = Headers(scope=scope)
        asked = "text/html" in headers.get("accept", "") and "authorization" not in headers
        return asked and not path.startswith(NOT_PAGES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one."""
        await self._answer(str(scope["path"]), Headers(scope=scope))(scope, receive, send)

    def _answer(self, path: str, headers: Headers) -> Response:
        if path == ABOUT:
            body = {"build": self._files.build, "version": __version__, "sign_in": self._sign_in}
            return JSONResponse(body, headers={**HEADERS, "Cache-Control": "no-store"})
        found = self._files.files.get(path)
        if found is None and path.startswith(ASSETS):
            return problem(404, "http.not_found", f"there is no {path}", "reload the page")
        return _sent(found or self._files.files[f"/{INDEX}"], headers, path)


def _sent(file: PortalFile, asked: Headers, path: str) -> Response:
    tag = f'"{file.digest[:32]}"'
    kept = FOR_EVER if path.startswith(ASSETS) else "no-cache"
    said = {**HEADERS, "Cache-Control": kept, "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in asked.get("if-none-match", ""):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=said)
    packed = file.packed if "gzip" in asked.get("accept-encoding", "") else b""
    if packed:
        said["Content-Encoding"] = "gzip"
    kind = KINDS.get(file.suffix, "application/octet-stream")
    return Response(packed or file.content, media_type=kind, headers=said)
