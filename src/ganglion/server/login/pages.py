"""The few pages of signing in, without scripts."""

from collections.abc import Mapping
from html import escape

from starlette.responses import HTMLResponse

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem;"
    "color-scheme:light dark}code{font-size:1.1em}button{font:inherit;padding:.4rem 1rem;"
    "min-height:2.5rem}"
)
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self';"
        " frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Of every page: nothing is kept, loaded from elsewhere, framed, or sent on in a referrer."""


def page(
    title: str, body: str, status: int = 200, *, follow: str = "", wait_s: int = 0
) -> HTMLResponse:
    """A page.

    Args:
        title: as text.
        body: as HTML; whatever is not ours in it is escaped already.
        status: of HTTP.
        follow: path that browsers go on to; empty = they stay.
        wait_s: when to try again; 0 = it is not said.
    """
    refresh = f'<meta http-equiv="refresh" content="0;url={escape(follow)}">' if follow else ""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{refresh}'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)} - Ganglion</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    more = {"Retry-After": str(wait_s)} if wait_s else {}
    return HTMLResponse(text, status, headers={**HEADERS, **more})


def refusal(status: int, message: str, hint: str = "", wait_s: int = 0) -> HTMLResponse:
    """A page that says why something was refused, and what to do."""
    said = f"<p>{escape(_sentence(message))}</p>"
    said += f"<p>{escape(_sentence(hint))}</p>" if hint else ""
    return page(
        "Not signed in", said + '<p><a href="/login">Sign in</a></p>', status, wait_s=wait_s
    )


def account(user: str, groups: tuple[str, ...], token: str, follow: str = "") -> HTMLResponse:
    """The page of a user who is signed in.

    Args:
        user: name.
        groups: names.
        token: shows that a form was on a page of ours.
        follow: path that the browser goes on to; empty = it stays.
    """
    of = f" Groups: {escape(', '.join(groups))}." if groups else ""
    link = f'<p><a href="{escape(follow)}">Go on</a></p>' if follow else ""
    form = (
        '<form method="post" action="/logout">'
        f'<input type="hidden" name="csrf" value="{escape(token)}">'
        "<button>Sign out</button></form>"
    )
    said = f"<p>You are signed in as <strong>{escape(user)}</strong>.{of}</p>{link}{form}"
    return page("Signed in", said, follow=follow)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
